import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DialectName } from '../../../src/model/dialect.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

/** One spelling of each kind that a client may try, and what the answer names. */
const special: readonly (readonly [string, RegExp])[] = [
  ['127.0.0.1', /loopback/],
  ['::ffff:127.0.0.1', /loopback/],
  ['::FFFF:7f00:0001', /loopback/],
  ['0:0:0:0:0:ffff:7f00:1', /loopback/],
  ['::127.0.0.1', /loopback/],
  ['::0001', /loopback/],
  ['0000:0000:0000:0000:0000:0000:0000:0001', /loopback/],
  ['64:ff9b::127.0.0.1', /loopback/],
  ['169.254.169.254', /link-local/],
  ['::ffff:169.254.169.254', /link-local/],
  ['64:ff9b::a9fe:a9fe', /link-local/],
  ['FE80::1', /link-local/],
  ['fe80:0::1', /link-local/],
  ['224.0.0.1', /multicast/],
  ['::ffff:224.0.0.1', /multicast/],
  ['ff02::1', /multicast/],
  ['0.0.0.0', /unspecified/],
  ['::ffff:0.0.0.0', /unspecified/],
  ['0::0', /unspecified/],
  ['255.255.255.255', /broadcast/],
  ['fd00:ec2:0::254', /metadata/],
  ['127.0.0.01', /must be a valid IP/],
  ['127.1', /must be a valid IP/],
  ['fe80::1%eth0', /must be a valid IP/],
  ['::ffff:127.0.0.01', /must be a valid IP/],
]

for (const dialect of ['platform', 'kubernetes'] satisfies DialectName[]) {
  describe(`an address that no object may claim (${dialect})`, () => {
    let server: TestServer
    let discovery: string
    before(async () => {
      server = await startTestServer({ dialect })
      discovery = dialect === 'platform' ? 'discovery.platform.internal' : 'discovery.k8s.io'
      const status = {
        addresses: [
          { type: 'InternalIP', address: '192.0.2.10' },
          { type: 'Hostname', address: 'n1' },
        ],
      }
      await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' }, status } })
    })
    after(() => server[Symbol.asyncDispose]())

    const post = (path: string, body: object) => server.call('POST', `${path}?dryRun=All`, { body })
    const service = (spec: object, name = 'web') => ({
      metadata: { name },
      spec: { ports: [{ port: 80 }], ...spec },
    })

    for (const [address, why] of special) {
      test(`${address} is refused in externalIPs, Endpoints and slices`, async () => {
        const answers = [
          await post('/api/v1/namespaces/default/services', service({ externalIPs: ['192.0.2.1', address] })),
          await post('/api/v1/namespaces/default/endpoints', {
            metadata: { name: 'web' },
            subsets: [{ addresses: [{ ip: address }], ports: [{ port: 80 }] }],
          }),
          await post('/api/v1/namespaces/default/endpoints', {
            metadata: { name: 'web' },
            subsets: [{ notReadyAddresses: [{ ip: address }], ports: [{ port: 80 }] }],
          }),
          await post(`/apis/${discovery}/v1/namespaces/default/endpointslices`, {
            metadata: { name: 'web' },
            addressType: address.includes(':') && !/^(::ffff|0:0:0:0:0:ffff)/i.test(address) ? 'IPv6' : 'IPv4',
            endpoints: [{ addresses: [address] }],
            ports: [{ name: '', port: 80 }],
          }),
        ]
        for (const { code, body } of answers) {
          assert.equal(code, 422, JSON.stringify(body))
          assert.match(body.message, /must be a valid IP/.test(why.source) ? /must be a valid IP/ : why)
        }
      })
    }

    for (const [address, why] of [
      ['10.96.0.1', /may not be in a network of Services \(10\.96\.0\.0\/12\)/],
      ['10.111.255.254', /may not be in a network of Services/],
      ['::ffff:10.96.0.1', /may not be in a network of Services/],
      ['192.0.2.10', /may not be an address of a node \(n1\)/],
      ['::ffff:192.0.2.10', /may not be an address of a node \(n1\)/],
    ] as const) {
      test(`${address} of the cluster itself is refused in externalIPs, at creation and as a change`, async () => {
        const path = '/api/v1/namespaces/default/services'
        const created = await post(path, service({ externalIPs: [address] }))
        assert.equal(created.code, 422)
        assert.match(created.body.message, why)
        await server.call('POST', path, { body: service({ externalIPs: ['192.0.2.1'] }, 'changing') })
        const body = { spec: { externalIPs: ['192.0.2.1', address] } }
        const changed = await server.call('PATCH', `${path}/changing`, { body, headers: merge })
        assert.equal(changed.code, 422)
        assert.match(changed.body.message, why)
      })
    }

    test('ordinary addresses are taken as ever', async () => {
      const externalIPs = ['192.0.2.1', '2001:db8::1', '240.0.0.1', '64:ff9b::8.8.8.8']
      assert.equal((await post('/api/v1/namespaces/default/services', service({ externalIPs }))).code, 201)
    })

    test('a load balancer may not say that a Service is at a special address, and may say a name', async () => {
      const path = '/api/v1/namespaces/default/services'
      await server.call('POST', path, { body: service({ type: 'LoadBalancer' }, 'balanced') })
      const write = (ingress: object) =>
        server.call('PATCH', `${path}/balanced/status`, {
          body: { status: { loadBalancer: { ingress: [ingress] } } },
          headers: merge,
        })
      assert.match((await write({ ip: '::ffff:127.0.0.1' })).body.message, /ingress\[0\]\.ip: .*loopback/)
      assert.match((await write({ ip: 'x' })).body.message, /ingress\[0\]\.ip: .*must be a valid IP/)
      assert.equal((await write({ hostname: 'lb.example.org' })).code, 200)
      assert.equal((await write({ ip: '192.0.2.10' })).code, 200, 'a load balancer of the cluster answers on its nodes')
      const wish = await post(path, service({ type: 'LoadBalancer', loadBalancerIP: '::ffff:127.0.0.1' }))
      assert.match(wish.body.message, /spec\.loadBalancerIP: .*loopback/)
    })

    test('what was stored before these checks stays, and the rest of its Service can be changed', async () => {
      const path = '/api/v1/namespaces/default/services'
      await server.call('POST', path, { body: service({ externalIPs: ['192.0.2.1'] }, 'old') })
      const entry = await server.store.get('/registry/services/default/old')
      assert.ok(entry)
      const stored = JSON.parse(entry.value)
      stored.spec.externalIPs = ['10.96.0.1', '127.0.0.1']
      stored.status = { loadBalancer: { ingress: [{ ip: '127.0.0.2' }] } }
      const { key, revision: expectedRevision } = entry
      await server.store.commit([{ kind: 'put', key, value: JSON.stringify(stored), expectedRevision }])
      const patch = (body: object) => server.call('PATCH', `${path}/old`, { body, headers: merge })
      const kept = await patch({ metadata: { labels: { a: 'b' } } })
      assert.equal(kept.code, 200, JSON.stringify(kept.body))
      assert.equal((await patch({ spec: { externalIPs: ['127.0.0.1'] } })).code, 200)
      assert.equal((await patch({ spec: { externalIPs: ['127.0.0.3'] } })).code, 422)
    })
  })
}

describe('--enable-admission-plugins DenyServiceExternalIPs', () => {
  test('lets no Service have a new external address, and lets those that have one keep or drop it', async () => {
    await using server = await startTestServer({ admissionPlugins: ['NodeRestriction', 'DenyServiceExternalIPs'] })
    const path = '/api/v1/namespaces/default/services'
    const spec = { ports: [{ port: 80 }] }
    const create = (name: string, more: object = {}) =>
      server.call('POST', path, { body: { metadata: { name }, spec: { ...spec, ...more } } })
    const denied = await create('web', { externalIPs: ['192.0.2.1'] })
    assert.equal(denied.code, 403)
    assert.equal(
      denied.body.message,
      'services "web" is forbidden: Use of external IPs is denied by admission control.',
    )
    assert.equal((await create('web')).code, 201)
    const entry = await server.store.get('/registry/services/default/web')
    assert.ok(entry)
    const stored = JSON.parse(entry.value)
    stored.spec.externalIPs = ['192.0.2.1', '192.0.2.2']
    const { key, revision: expectedRevision } = entry
    await server.store.commit([{ kind: 'put', key, value: JSON.stringify(stored), expectedRevision }])
    const patch = (externalIPs: readonly string[]) =>
      server.call('PATCH', `${path}/web`, { body: { spec: { externalIPs } }, headers: merge })
    assert.equal((await patch(['192.0.2.2', '192.0.2.3'])).code, 403)
    assert.equal((await patch(['192.0.2.2'])).code, 200)
    assert.equal((await patch([])).code, 200)
    assert.equal((await patch(['192.0.2.2'])).code, 403)
  })
})
