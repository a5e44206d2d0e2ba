import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { paths } from '../../helpers/manifests.ts'

describe('EndpointSlices', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const create = (name: string, fields: Record<string, unknown>) =>
    server.call('POST', paths.endpointSlices, {
      body: { metadata: { name }, addressType: 'IPv4', endpoints: [], ports: [], ...fields },
    })

  test('a port without a name gets the empty one, and TCP', async () => {
    const { code, body } = await create('unnamed', { ports: [{ port: 80 }] })
    assert.equal(code, 201)
    assert.deepEqual(body.ports, [{ port: 80, name: '', protocol: 'TCP' }])
  })

  test('conditions stay as they were given', async () => {
    const endpoints = [
      { addresses: ['10.244.0.1'], conditions: { ready: false, serving: true, terminating: true } },
      { addresses: ['10.244.0.2'], conditions: { ready: true } },
      { addresses: ['10.244.0.3'] },
    ]
    const { body } = await create('conditions', { endpoints })
    assert.deepEqual(
      body.endpoints.map(({ conditions }: { conditions: unknown }) => conditions),
      [{ ready: false, serving: true, terminating: true }, { ready: true }, {}],
    )
  })

  test('addresses must be of the family that the slice has', async () => {
    const table: readonly (readonly [addressType: string, address: string, code: number])[] = [
      ['IPv4', '10.244.0.1', 201],
      ['IPv4', 'fd00::1', 422],
      ['IPv4', '10.244.0.01', 422],
      ['IPv4', '127.0.0.1', 422],
      ['IPv4', '224.0.0.1', 422],
      ['IPv4', '169.254.1.1', 422],
      ['IPv6', 'fd00::1', 201],
      ['IPv6', '10.244.0.1', 422],
      ['IPv6', 'fe80::1', 422],
      ['IPv6', '::', 422],
      ['FQDN', 'db.example.com', 201],
      ['FQDN', 'not a name', 422],
    ]
    for (const [index, [addressType, address, code]] of table.entries()) {
      const reply = await create(`family-${index}`, { addressType, endpoints: [{ addresses: [address] }] })
      assert.equal(reply.code, code, `${addressType} ${address}: ${reply.body.message}`)
      if (code === 422) assert.match(reply.body.details.causes[0].field, /^endpoints\[0\]\.addresses(\[0\])?$/)
    }
  })

  test('the address type is required, known and final', async () => {
    const missing = await create('missing', { addressType: undefined })
    assert.match(missing.body.message, /addressType: Required value/)
    const odd = await create('odd', { addressType: 'MAC' })
    assert.match(odd.body.message, /addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"/)
    await create('final', {})
    const changed = await server.call('PATCH', `${paths.endpointSlices}/final`, {
      body: { addressType: 'IPv6' },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.match(changed.body.message, /addressType: Invalid value: "IPv6": field is immutable/)
  })

  test('port names and numbers are checked', async () => {
    const table: readonly (readonly [ports: unknown[], message: RegExp])[] = [
      [
        [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
        /ports\[1\]\.name: Duplicate value: "a"/,
      ],
      [[{ name: 'Bad', port: 1 }], /ports\[0\]\.name: Invalid value: "Bad"/],
      [[{ port: 70000 }], /ports\[0\]\.port: Invalid value: 70000: must be between 1 and 65535, inclusive/],
      [[{ port: 1, protocol: 'X' }], /ports\[0\]\.protocol: Unsupported value: "X"/],
    ]
    for (const [ports, message] of table) assert.match((await create('bad', { ports })).body.message, message)
  })

  test('the generation counts every change of content', async () => {
    await create('counted', {})
    const headers = { 'content-type': 'application/merge-patch+json' }
    const path = `${paths.endpointSlices}/counted`
    const content = await server.call('PATCH', path, { body: { ports: [{ port: 1 }] }, headers })
    assert.equal(content.body.metadata.generation, 2)
    const label = await server.call('PATCH', path, { body: { metadata: { labels: { a: 'b' } } }, headers })
    assert.equal(label.body.metadata.generation, 2)
  })
})

for (const [dialect, group, most] of [
  ['platform', 'discovery.platform.internal', 100],
  ['kubernetes', 'discovery.k8s.io', 1_000],
] as const)
  test(`the ${dialect} dialect: a slice holds at most ${most} endpoints, and a null name of a port`, async (t) => {
    const server = await startTestServer({ dialect })
    t.after(() => server.stop())
    const create = async (fields: object) => {
      const body = { metadata: { generateName: 's' }, addressType: 'IPv4', endpoints: [], ports: [], ...fields }
      return server.call('POST', `/apis/${group}/v1/namespaces/default/endpointslices`, { body })
    }
    const endpoints = (count: number) => Array.from({ length: count }, () => ({ addresses: ['10.244.0.1'] }))
    assert.equal((await create({ endpoints: endpoints(most) })).code, 201)
    const larger = await create({ endpoints: endpoints(most + 1) })
    assert.equal(larger.code, 422)
    assert.match(larger.body.message, new RegExp(`must have at most ${most} items`))
    const nameless = await create({ ports: [{ name: null, port: 80 }] })
    if (dialect === 'kubernetes') assert.deepEqual(nameless.body.ports, [{ name: '', port: 80, protocol: 'TCP' }])
    else
      assert.match(nameless.body.message, /ports\[0\]\.name: Invalid value: null: must not be null, the empty string/)
  })
