import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEtcdStore } from '../../../src/api/store/etcd/open-etcd-store.ts'
import { parseIp } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/logger.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { startTestServer, type TestServer, take } from '../../helpers/api-server.ts'
import { EtcdCluster, etcdLack } from '../../helpers/etcd.ts'
import { FreezingProxy } from '../../helpers/freezing-proxy.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const services = '/api/v1/namespaces/default/services'

function service(name: string, spec: object = {}) {
  const ports = [{ port: 80 }]
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports, type: 'NodePort', ...spec } }
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'boats', singular: 'boat', kind: 'Boat' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

describe('two API servers over one etcd', { skip: etcdLack ?? false }, () => {
  let etcd: EtcdCluster
  let one: TestServer
  let other: TestServer
  before(async () => {
    etcd = await EtcdCluster.start()
    one = await startServer('192.0.2.1')
    other = await startServer('192.0.2.2')
  })
  after(async () => {
    await Promise.all([one.stop(), other.stop()])
    await etcd[Symbol.asyncDispose]()
  })

  async function startServer(address: string, servers = etcd.servers): Promise<TestServer> {
    const advertiseAddress = parseIp(address)
    assert.ok(advertiseAddress)
    const store = await openEtcdStore({
      connection: { servers },
      prefix: '/platnet',
      dialect: 'kubernetes',
      authority: 'one',
      log: silentLogger,
    })
    return startTestServer({ store, nodePortRange: { first: 30000, last: 30019 }, advertiseAddress, sharesStore: true })
  }

  async function makeNamespace(t: TestContext, name: string): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
    assert.equal((await one.call('POST', '/api/v1/namespaces', { body })).code, 201)
    t.after(() => one.call('DELETE', `/api/v1/namespaces/${name}`))
  }

  it('read at one what was just written at the other: get, list, update, delete', async () => {
    for (let round = 0; round < 20; round++) {
      const name = `fresh-${round}`
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { round: `${round}` } }
      const made = await one.call('POST', configMaps, { body })
      assert.equal(made.code, 201)
      assert.equal((await other.call('GET', `${configMaps}/${name}`)).body.data.round, `${round}`)
      const list = await other.call('GET', `${configMaps}?fieldSelector=metadata.name=${name}`)
      assert.equal(list.body.items.length, 1)
      const replaced = await other.call('PUT', `${configMaps}/${name}`, {
        body: { ...made.body, data: { round: 'x' } },
      })
      assert.equal(replaced.code, 200)
      assert.equal((await one.call('PUT', `${configMaps}/${name}`, { body: made.body })).code, 409)
      assert.equal((await one.call('DELETE', `${configMaps}/${name}`)).code, 200)
      assert.equal((await other.call('DELETE', `${configMaps}/${name}`)).code, 404)
    }
  })

  it('answer no stale read or write while they are behind, unless resourceVersion=0 allows it', async () => {
    await using proxy = await FreezingProxy.start(etcd.servers[0] ?? '')
    const behind = await startServer('192.0.2.4', [proxy.url])
    try {
      proxy.freeze()
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } }
      assert.equal((await one.call('POST', configMaps, { body })).code, 201)
      assert.equal((await behind.call('GET', `${configMaps}/late?resourceVersion=0`)).code, 404)
      const waiting = [
        behind.call('GET', `${configMaps}/late`),
        behind.call('GET', `${configMaps}?fieldSelector=metadata.name=late`),
        behind.call('PATCH', `${configMaps}/late`, {
          body: { data: { seen: 'yes' } },
          headers: { 'content-type': 'application/merge-patch+json' },
        }),
      ]
      assert.equal(await Promise.race([...waiting, sleep(100, 'none answered')]), 'none answered')
      proxy.thaw()
      const [got, list, patched] = await Promise.all(waiting)
      assert.deepEqual([got?.code, list?.body.items.length, patched?.code], [200, 1, 200])
    } finally {
      await behind.stop()
    }
  })

  it('are endpoints of the kubernetes Service at the address that each has now', async () => {
    const third = await startServer('192.0.2.5')
    const read = async () => {
      const { body } = await one.call('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
      return body.subsets[0].addresses.map(({ ip }: { ip: string }) => ip)
    }
    try {
      assert.ok((await read()).includes('192.0.2.5'))
      await third.advertise(ipOf('192.0.2.6'))
      const moved = await read()
      assert.ok(moved.includes('192.0.2.6') && !moved.includes('192.0.2.5'), moved.join())
      assert.ok(moved.includes('192.0.2.1') && moved.includes('192.0.2.2'), moved.join())
    } finally {
      await third.stop()
    }
  })

  it('are all endpoints of the kubernetes Service, until they stop', async () => {
    const third = await startServer('192.0.2.3')
    const read = async () => {
      const endpoints = await one.call('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
      const slice = await one.call('GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes')
      const addresses = endpoints.body.subsets[0].addresses.map(({ ip }: { ip: string }) => ip)
      assert.deepEqual(
        addresses,
        slice.body.endpoints.flatMap((each: { addresses: string[] }) => each.addresses),
      )
      return addresses
    }
    assert.deepEqual(await read(), ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
    await third.stop()
    assert.deepEqual(await read(), ['192.0.2.1', '192.0.2.2'])
  })

  it('go on with a watch of the other from its resourceVersion, at once', async () => {
    for (let round = 0; round < 5; round++) {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `watched-${round}` } }
      const { resourceVersion } = (await one.call('POST', configMaps, { body })).body.metadata
      const next = one.call('POST', configMaps, { body: { ...body, metadata: { name: `next-${round}` } } })
      const events = other.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`)
      const [first] = await take(events, 1)
      assert.deepEqual([first?.type, first?.object.metadata.name], ['ADDED', `next-${round}`])
      await next
      await events.return(undefined)
    }
  })

  it('give no ClusterIP and no node port to two Services', async (t) => {
    await makeNamespace(t, 'ports')
    const path = services.replace('default', 'ports')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? one : other).call('POST', path, { body: service(`s${index}`) }),
      ),
    )
    const refused = answers.filter(({ code }) => code !== 201)
    assert.deepEqual(
      refused.map(({ text }) => text),
      [],
    )
    const ports = answers.map(({ body }) => body.spec.ports[0].nodePort)
    assert.equal(new Set(ports).size, 20)
    assert.equal(new Set(answers.map(({ body }) => body.spec.clusterIP)).size, 20)
    const fixed = await Promise.all(
      [one, other].map((server, index) =>
        server.call('POST', path, { body: service(`fixed-${index}`, { type: 'ClusterIP', clusterIP: '10.96.0.77' }) }),
      ),
    )
    assert.deepEqual(fixed.map(({ code }) => code).sort(), [201, 422])
  })

  it('never let a quota be exceeded', async (t) => {
    await makeNamespace(t, 'small')
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec: { hard: { configmaps: '5' } },
    }
    const path = '/api/v1/namespaces/small/resourcequotas'
    const made = await one.call('POST', path, { body: quota })
    const status = { hard: { configmaps: '5' }, used: { configmaps: '0' } }
    assert.equal((await one.call('PUT', `${path}/q/status`, { body: { ...made.body, status } })).code, 200)
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? one : other).call('POST', '/api/v1/namespaces/small/configmaps', {
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${index}` } },
        }),
      ),
    )
    const codes = answers.map(({ code }) => code)
    assert.deepEqual(
      [codes.filter((code) => code === 201).length, codes.filter((code) => code === 403).length],
      [5, 11],
    )
  })

  it('serve a kind that was defined at the other, and refuse it once it is gone', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    assert.equal((await one.call('POST', path, { body: definition })).code, 201)
    const boat = { apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: 'ferry' } }
    const boats = '/apis/example.com/v1/namespaces/default/boats'
    assert.equal((await other.call('POST', boats, { body: boat })).code, 201)
    assert.equal((await one.call('GET', `${boats}/ferry`)).body.metadata.name, 'ferry')
    assert.equal((await other.call('DELETE', `${path}/boats.example.com`)).code, 200)
    while ((await one.call('GET', `${path}/boats.example.com`)).code !== 404);
    assert.equal((await other.call('GET', boats)).code, 404)
  })

  it('let a user do what a role allows that the other has just taken', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const as = { headers: { 'impersonate-user': 'ann' } }
    assert.equal((await other.call('GET', '/api/v1/nodes', as)).code, 403)
    const body = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ann' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
    }
    assert.equal((await one.call('POST', `${rbac}/clusterrolebindings`, { body })).code, 201)
    assert.equal((await other.call('GET', '/api/v1/nodes', as)).code, 200)
  })
})
