import assert from 'node:assert/strict'
import { Agent, request } from 'node:https'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { createLogging } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer, testToken } from '../../helpers/api-server.ts'
import { createAuthority } from '../../helpers/authority.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const unauthorized = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'Unauthorized',
  reason: 'Unauthorized',
  code: 401,
}

describe('access and answers to bad requests', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  test('without credentials only health and version answer', async () => {
    for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
      assert.equal((await server.call('GET', path, { token: null })).code, 200, path)
      const head = await server.call('HEAD', path, { token: null })
      assert.deepEqual([head.code, head.text], [200, ''], path)
    }
    for (const path of ['/api', '/apis', '/metrics', paths.configMaps, '/nothing', '/api/v1/nothing']) {
      assert.deepEqual((await server.call('GET', path, { token: null })).body, unauthorized, path)
    }
  })

  test('a wrong token is refused even where none is needed', async () => {
    assert.equal((await server.call('GET', '/healthz', { token: 'wrong' })).code, 401)
    const basic = await server.call('GET', '/api', { token: null, headers: { authorization: 'Basic eDp5' } })
    assert.equal(basic.code, 401)
  })

  test('a certificate of the cluster CA is an identity, one of another CA is none', async () => {
    const known = await server.authority.issue('admin', 'system:masters')
    const other = await (await createAuthority()).issue('admin', 'system:masters')
    const call = (pair: { certPem: string; keyPem: string }) =>
      server.call('GET', '/api', { token: null, tls: { cert: pair.certPem, key: pair.keyPem } })
    assert.equal((await call(known)).code, 200)
    assert.equal((await call(other)).code, 401)
  })

  test('a certificate is still known when its TLS session is resumed', async () => {
    const { certPem, keyPem } = await server.authority.issue('admin', 'system:masters')
    const agent = new Agent({ keepAlive: false, cert: certPem, key: keyPem, ca: server.authority.certPem })
    const call = () =>
      new Promise<readonly [code: number | undefined, isResumed: boolean]>((resolve, reject) => {
        const options = { host: '127.0.0.1', port: server.port, path: '/api', agent }
        const sender = request(options, (response) => {
          const isResumed = (response.socket as TLSSocket).isSessionReused()
          response.resume().on('end', () => resolve([response.statusCode, isResumed]))
        })
        sender.on('error', reject).end()
      })
    assert.deepEqual(await call(), [200, false])
    assert.deepEqual(await call(), [200, true])
  })

  test('health is plain text and tells more when asked', async () => {
    const plain = await server.call('GET', '/readyz')
    assert.deepEqual([plain.text, plain.headers['content-type']], ['ok', 'text/plain; charset=utf-8'])
    const verbose = await server.call('GET', '/readyz?verbose')
    assert.equal(verbose.text, '[+]store ok\nreadyz check passed\n')
    await server.call('POST', paths.configMaps, { body: configMap('counted') })
    await server.call('GET', '/no/such/path')
    const metrics = (await server.call('GET', '/metrics')).text
    assert.match(
      metrics,
      /apiserver_request_total\{verb="POST",group="",version="v1",resource="configmaps",subresource="",scope="namespace",code="201"\} 1/,
    )
    assert.match(metrics, /apiserver_request_duration_seconds_count\{verb="POST",.*resource="configmaps".*\} 1/)
    assert.match(metrics, /apiserver_current_inflight_requests\{request_kind="mutating"\} 0/)
    assert.doesNotMatch(metrics, /no\/such/)
    assert.match((await server.call('GET', '/version')).body.gitVersion, /^v1\.34\./)
  })

  test('an unknown path is a 404 Status', async () => {
    for (const path of ['/nothing', '/api/v1/nothing', '/api/v2', '/apis/no.such/v1/things', '/healthz/too/deep']) {
      const reply = await server.call('GET', path)
      assert.equal(reply.code, 404, path)
      assert.equal(reply.body.message, 'the server could not find the requested resource')
    }
  })

  test('a method that a path does not have is a 405', async () => {
    const table = [
      ['PUT', paths.configMaps],
      ['POST', `${paths.configMaps}/x`],
      ['DELETE', `${paths.pods}/x/status`],
      ['POST', '/api/v1/configmaps'],
      ['POST', '/version'],
    ] as const
    for (const [method, path] of table) {
      const reply = await server.call(method, path, { body: {} })
      assert.equal(reply.code, 405, `${method} ${path}`)
      assert.equal(reply.body.reason, 'MethodNotAllowed')
    }
  })

  test('bodies that cannot be read are refused with the reason, and the server goes on', async () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`
    const table: readonly (readonly [body: string | Buffer, type: string, code: number, message: RegExp])[] = [
      ['', 'application/json', 400, /is empty/],
      ['{"a":', 'application/json', 400, /not valid JSON/],
      ['[]', 'application/json', 400, /expected an object in the body, found array/],
      [deep, 'application/json', 400, /nested more than 1000 levels deep/],
      ['['.repeat(1_000_000), 'application/json', 400, /nested more than/],
      [`"${'\\"'.repeat(1_000_000)}`, 'application/json', 400, /not valid JSON/],
      [Buffer.from([0x7b, 0xff, 0x7d]), 'application/json', 400, /not valid UTF-8/],
      ['a: [', 'application/yaml', 400, /not valid YAML/],
      ['x', 'application/vnd.kubernetes.protobuf', 400, /not valid protobuf/],
      [
        'x',
        'application/cbor',
        415,
        /accepted media types include: application\/json, application\/yaml, application\/vnd\.kubernetes\.protobuf$/,
      ],
      [Buffer.alloc(3 * 1024 * 1024 + 1, 0x20), 'application/json', 413, /Request entity too large/],
    ]
    for (const [body, type, code, message] of table) {
      const reply = await server.call('POST', paths.configMaps, { body, headers: { 'content-type': type } })
      assert.equal(reply.code, code, `${type} ${body.toString().slice(0, 20)}: ${reply.text}`)
      assert.match(reply.body.message, message)
    }
    assert.equal((await server.call('POST', paths.configMaps, { body: configMap('after') })).code, 201)
  })

  test('a body without a length is cut off at the same limit', async () => {
    const code = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${testToken}`, 'content-type': 'application/json' }
      const options = { host: '127.0.0.1', port: server.port, method: 'POST', path: paths.configMaps, headers }
      const sender = request({ ...options, ca: server.authority.certPem }, (response) => resolve(response.statusCode))
      sender.on('error', reject)
      for (let index = 0; index < 40; index++) sender.write(Buffer.alloc(100_000, 0x20))
    })
    assert.equal(code, 413)
  })

  test('a form that the server does not support is a 406', async () => {
    const reply = await server.call('GET', '/api/v1/namespaces', { headers: { accept: 'image/png' } })
    assert.deepEqual([reply.code, reply.body.reason], [406, 'NotAcceptable'])
  })

  test('a path that is not percent-encoded UTF-8 is a 400', async () => {
    assert.equal((await server.call('GET', '/api/v1/%ff')).code, 400)
  })
})

describe('discovery', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ dialect: 'platform' })
  })
  after(() => server.stop())

  test('the documents of the plain form lead from one to the next', async () => {
    assert.deepEqual((await server.call('GET', '/api')).body.versions, ['v1'])
    const { groups } = (await server.call('GET', '/apis')).body
    assert.deepEqual(
      groups.map(({ name, preferredVersion }: { name: string; preferredVersion: { version: string } }) => [
        name,
        preferredVersion.version,
      ]),
      [
        ['apps', 'v1'],
        ['events.platform.internal', 'v1'],
        ['authentication.platform.internal', 'v1'],
        ['authorization.platform.internal', 'v1'],
        ['autoscaling', 'v2'],
        ['batch', 'v1'],
        ['networking.platform.internal', 'v1beta1'],
        ['policy', 'v1'],
        ['rbac.authorization.platform.internal', 'v1'],
        ['storage.platform.internal', 'v1'],
        ['apiextensions.platform.internal', 'v1'],
        ['scheduling.platform.internal', 'v1'],
        ['coordination.platform.internal', 'v1'],
        ['discovery.platform.internal', 'v1'],
      ],
    )
    assert.equal((await server.call('GET', '/apis/discovery.platform.internal')).body.kind, 'APIGroup')
    const list = (await server.call('GET', '/apis/discovery.platform.internal/v1')).body
    assert.deepEqual(list.resources[0].name, 'endpointslices')
    const core = (await server.call('GET', '/api/v1')).body.resources
    const found = core.map(({ name }: { name: string }) => name)
    assert.deepEqual(found.toSorted(), [
      'configmaps',
      'endpoints',
      'events',
      'limitranges',
      'namespaces',
      'namespaces/finalize',
      'namespaces/status',
      'nodes',
      'nodes/proxy',
      'nodes/status',
      'persistentvolumeclaims',
      'persistentvolumeclaims/status',
      'persistentvolumes',
      'persistentvolumes/status',
      'pods',
      'pods/attach',
      'pods/binding',
      'pods/ephemeralcontainers',
      'pods/eviction',
      'pods/exec',
      'pods/log',
      'pods/portforward',
      'pods/proxy',
      'pods/resize',
      'pods/status',
      'podtemplates',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'replicationcontrollers/status',
      'resourcequotas',
      'resourcequotas/status',
      'secrets',
      'serviceaccounts',
      'serviceaccounts/token',
      'services',
      'services/proxy',
      'services/status',
    ])
  })

  test('the aggregated form tells all of a root at once, and says so in its type', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
    const reply = await server.call('GET', '/apis', { headers: { accept } })
    assert.match(reply.headers['content-type'] ?? '', /as=APIGroupDiscoveryList/)
    const group = reply.body.items.find(
      ({ metadata }: { metadata: { name: string } }) => metadata.name === 'discovery.platform.internal',
    )
    assert.equal(group.versions[0].resources[0].responseKind.kind, 'EndpointSlice')
  })
})

test('at trace each request leaves one record of who asked for what, and none at debug', async () => {
  for (const level of ['debug', 'trace'] as const) {
    const lines: string[] = []
    const logging = createLogging({ filter: level, format: 'json', stream: { write: (line) => lines.push(line) } })
    await using server = await startTestServer({ log: logging.logger('platform_api_server') })
    lines.length = 0
    await server.call('GET', '/api/v1/namespaces/default', { headers: { 'user-agent': 'curl' } })
    await server.call('GET', '/api/v1/nothing', { token: null })
    const records = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'answered a request')
    const logged = records.map(({ fields: { durationMs: _, sizeBytes: __, ...rest } }) => rest)
    const expected = [
      { method: 'GET', url: '/api/v1/namespaces/default', user: 'tester', agent: 'curl', code: 200 },
      { method: 'GET', url: '/api/v1/nothing', code: 401 },
    ]
    assert.deepEqual(logged, level === 'trace' ? expected : [])
  }
})
