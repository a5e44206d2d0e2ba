import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseProtobufBody } from '../../../../src/api/decode/protobuf.ts'
import { parseIp } from '../../../../src/model/ip.ts'
import { type Reply, startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { discoveryCases } from '../../../helpers/discovery-cases.ts'

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const protobuf = 'application/vnd.kubernetes.protobuf'

function definition(group: string, plural: string, kind: string) {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, shortNames: ['wi'], categories: ['all'] },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  }
}

describe('what is served', () => {
  let server: TestServer
  before(async () => {
    const advertiseAddress = parseIp('192.0.2.7')
    assert.ok(advertiseAddress)
    server = await startTestServer({ advertiseAddress })
  })
  after(() => server.stop())

  const read = (path: string, accept?: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    server.call('GET', path, { headers: { ...(accept === undefined ? {} : { accept }), ...headers } })
  const define = async (group: string, plural: string, kind: string) => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const made = await server.call('POST', path, { body: definition(group, plural, kind) })
    assert.equal(made.code, 201, made.text)
  }

  for (const { accept, code, type, isAggregated } of discoveryCases)
    test(`has a form for a client that accepts ${accept}`, async () => {
      const reply = await read('/apis', accept)
      assert.equal(reply.code, code, reply.text)
      const [mediaType, ...parameters] = (reply.headers['content-type'] ?? '').split(';')
      assert.deepEqual([mediaType, parameters.length > 0], [type, isAggregated])
      assert.equal(reply.headers.etag !== undefined, isAggregated)
    })

  test('comes in one document below /api and /apis only', async () => {
    for (const path of ['/api/v1', '/apis/apps', '/apis/apps/v1']) {
      assert.equal((await read(path, aggregated)).code, 406, path)
      assert.match((await read(path, `${aggregated},application/json`)).body.kind, /^API(Group|ResourceList)$/)
    }
  })

  test('is the same in JSON and in protobuf, in all its documents', async () => {
    const paths = ['/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1', '/apis/authentication.k8s.io/v1']
    for (const path of paths) {
      const { body } = await read(path)
      const binary = await read(path, protobuf)
      assert.equal(binary.headers['content-type'], protobuf)
      assert.deepEqual(parseProtobufBody(binary.bytes), { apiVersion: 'v1', ...body }, path)
    }
    for (const path of ['/api', '/apis']) {
      const { body } = await read(path, aggregated)
      const binary = await read(path, aggregated.replace('application/json', protobuf))
      assert.deepEqual(parseProtobufBody(binary.bytes), body, path)
    }
  })

  test('is not sent again to a client that has it, until something else is served', async () => {
    const first = await read('/apis', aggregated)
    assert.match(first.headers.etag ?? '', /^"[0-9A-F]{128}"$/)
    assert.match(first.headers.vary ?? '', /^accept\b/i)
    const known = { 'if-none-match': first.headers.etag ?? '' }
    const again = await read('/apis', aggregated, known)
    assert.deepEqual([again.code, again.text], [304, ''])
    await define('etags.example.com', 'widgets', 'Widget')
    const changed = await read('/apis', aggregated, known)
    assert.equal(changed.code, 200)
    assert.notEqual(changed.headers.etag, first.headers.etag)
  })

  test('says of each resource what Kubernetes says', async () => {
    const resourcesOf = async (path: string, group: string) => {
      const { items } = (await read(path, aggregated)).body
      const found = items.find(({ metadata }: { metadata: { name?: string } }) => (metadata.name ?? '') === group)
      assert.equal(found.versions[0].freshness, 'Current')
      return found.versions[0].resources
    }
    const apps = await resourcesOf('/apis', 'apps')
    assert.deepEqual(
      apps.map(({ resource }: { resource: string }) => resource),
      ['controllerrevisions', 'daemonsets', 'deployments', 'replicasets', 'statefulsets'],
    )
    assert.deepEqual(apps[2], {
      resource: 'deployments',
      responseKind: { group: '', version: '', kind: 'Deployment' },
      scope: 'Namespaced',
      singularResource: 'deployment',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [
        {
          subresource: 'scale',
          responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          verbs: ['get', 'patch', 'update'],
        },
        {
          subresource: 'status',
          responseKind: { group: '', version: '', kind: 'Deployment' },
          verbs: ['get', 'patch', 'update'],
        },
      ],
    })
    await define('kinds.example.com', 'gadgets', 'Gadget')
    const gadget = { group: 'kinds.example.com', version: 'v1', kind: 'Gadget' }
    assert.deepEqual(await resourcesOf('/apis', 'kinds.example.com'), [
      {
        resource: 'gadgets',
        responseKind: gadget,
        scope: 'Namespaced',
        singularResource: 'gadget',
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
        shortNames: ['wi'],
        categories: ['all'],
        subresources: [{ subresource: 'status', responseKind: gadget, verbs: ['get', 'patch', 'update'] }],
      },
    ])
  })

  test('has its groups in the order in which clients shall look through them, those of definitions last', async () => {
    await define('apps.example.com', 'widgets', 'Widget')
    await define('a.example.com', 'widgets', 'Widget')
    const ofDocument: string[] = (await read('/apis', aggregated)).body.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    )
    const ofList: string[] = (await read('/apis')).body.groups.map(({ name }: { name: string }) => name)
    assert.deepEqual(ofDocument, ofList)
    const builtIn = ofList.filter((name) => !name.endsWith('example.com'))
    assert.deepEqual(ofList.slice(0, builtIn.length), builtIn)
    assert.deepEqual(builtIn.slice(0, 3), ['apps', 'events.k8s.io', 'authentication.k8s.io'])
    assert.deepEqual(ofList.slice(builtIn.length).slice(0, 2), ['a.example.com', 'apps.example.com'])
  })

  test('is reached at the advertised address', async () => {
    const { serverAddressByClientCIDRs } = (await read('/api')).body
    const serverAddress = `192.0.2.7:${server.port}`
    assert.deepEqual(serverAddressByClientCIDRs, [{ clientCIDR: '0.0.0.0/0', serverAddress }])
  })

  test('has the hashes of Kubernetes for what is stored, and none for reviews', async () => {
    const { resources } = (await read('/api/v1')).body
    const hashOf = (name: string) => resources.find((each: { name: string }) => each.name === name).storageVersionHash
    assert.deepEqual([hashOf('pods'), hashOf('services')], ['xPOwRZ+Yhw8=', '0/CO1lhkEBI='])
    const reviews = (await read('/apis/authorization.k8s.io/v1')).body.resources
    assert.ok(reviews.every((each: object) => !('storageVersionHash' in each)))
  })

  test('namespaces are deleted one by one in the kubernetes dialect', async (t) => {
    assert.equal((await server.call('DELETE', '/api/v1/namespaces?dryRun=All')).code, 405)
    const { resources } = (await read('/api/v1')).body
    const found = resources.find(({ name }: { name: string }) => name === 'namespaces')
    assert.ok(!found.verbs.includes('deletecollection'))
    const platform = await startTestServer({ dialect: 'platform' })
    t.after(() => platform.stop())
    assert.equal((await platform.call('DELETE', '/api/v1/namespaces?labelSelector=a%3Db')).code, 200)
  })
})
