import assert from 'node:assert/strict'
import { request } from 'node:https'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryStore, type Store } from '../../../src/api/store/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { startTestServer, testToken } from '../../helpers/api-server.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { paths } from '../../helpers/manifests.ts'

test('who comes the moment the port opens finds the first objects', async () => {
  const store = openMemoryStore({ log: silentLogger })
  slowDown(store, '/registry/namespaces/')
  const port = await findFreePort()
  const starting = startTestServer({ store, port })
  const code = await postWhenOpen(port, { metadata: { name: 'eager' }, spec: { ports: [{ port: 80 }] } })
  await using _server = await starting
  assert.equal(code, 201)
})

test('the ConfigMap of the cluster DNS is made where there is none, and what it was edited to outlives a start', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const path = '/api/v1/namespaces/kube-system/configmaps/coredns'
  const first = await startTestServer({ store, keepsStore: true, corefile: '.:53 {\n}\n' })
  assert.deepEqual((await first.call('GET', path)).body.data, { Corefile: '.:53 {\n}\n' })
  await first.call('PUT', path, { body: { metadata: { name: 'coredns' }, data: { Corefile: 'edited', other: 'x' } } })
  await first.stop()
  await using second = await startTestServer({ store, corefile: '.:53 {\n}\n' })
  assert.deepEqual((await second.call('GET', path)).body.data, { Corefile: 'edited', other: 'x' })
})

test('a server that gets another address names it in the endpoints of the kubernetes Service and in discovery', async () => {
  await using server = await startTestServer({ advertiseAddress: ipOf('192.0.2.1') })
  const read = async () => {
    const { body } = await server.call('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
    const slice = await server.call('GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes')
    const versions = await server.call('GET', '/api')
    return [
      body.subsets[0].addresses,
      slice.body.endpoints[0].addresses,
      versions.body.serverAddressByClientCIDRs[0].serverAddress,
    ]
  }
  const at = (ip: string) => [[{ ip }], [ip], `${ip}:${server.port}`]
  assert.deepEqual(await read(), at('192.0.2.1'))
  await server.advertise(ipOf('192.0.2.2'))
  assert.deepEqual(await read(), at('192.0.2.2'))
})

test('a server without a Corefile makes no ConfigMap', async () => {
  await using server = await startTestServer()
  assert.equal((await server.call('GET', '/api/v1/namespaces/kube-system/configmaps/coredns')).code, 404)
})

/** Each write under the prefix takes long enough for a client to come in between. */
function slowDown(store: Store, prefix: string): void {
  const commit: Store['commit'] = store.commit.bind(store)
  const slowCommit: Store['commit'] = async (writes) => {
    if (writes.some(({ key }) => key.startsWith(prefix))) await sleep(50)
    return commit(writes)
  }
  Object.assign(store, { commit: slowCommit })
}

async function postWhenOpen(port: number, service: unknown): Promise<number | undefined> {
  for (let attempt = 0; attempt < 2_000; attempt++) {
    try {
      return await post(port, JSON.stringify(service))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')) throw error
      await sleep(2)
    }
  }
  throw new Error('the port never opened')
}

function post(port: number, body: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${testToken}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: paths.services, method: 'POST', rejectUnauthorized: false, headers })
      .on('response', (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end(body)
  })
}
