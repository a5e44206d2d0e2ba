import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Ip } from '../../../../src/model/ip.ts'
import type { Service } from '../../../../src/model/service.ts'
import { ServiceClaims } from '../../../../src/node/proxy/service-claims.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'

interface Drawn {
  readonly clusterIp?: string
  readonly external?: readonly string[]
  readonly balanced?: readonly string[]
  readonly port?: number
  readonly nodePort?: number
  readonly createdAtMs?: number
  readonly uid?: string
}

let count = 0
function service(key: string, drawn: Drawn): Service {
  count += 1
  const [namespace = '', name = ''] = key.split('/')
  return {
    key,
    namespace,
    name,
    ...(drawn.createdAtMs !== undefined && { createdAtMs: drawn.createdAtMs }),
    ...(drawn.uid !== undefined && { uid: drawn.uid }),
    type: 'LoadBalancer',
    clusterIps: [ipOf(drawn.clusterIp ?? `10.96.${count >> 8}.${count % 256}`)],
    headless: false,
    ports: [
      {
        name: '',
        protocol: 'TCP',
        port: drawn.port ?? 80,
        ...(drawn.nodePort !== undefined && { nodePort: drawn.nodePort }),
      },
    ],
    externalIps: (drawn.external ?? []).map(ipOf),
    loadBalancerVips: (drawn.balanced ?? []).map(ipOf),
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    publishNotReadyAddresses: false,
  }
}

function claimsOf(services: Readonly<Record<string, Drawn>>): ServiceClaims {
  const claims = new ServiceClaims()
  for (const [key, drawn] of Object.entries(services)) claims.update(key, service(key, drawn))
  return claims
}

function refusals(claims: ServiceClaims, key: string): string[] {
  return claims
    .refusalsOf(key)
    .map(({ address, port, reason, holder }) => [address ?? 'node port', port, reason, holder].join(' '))
}

describe('what two Services claim', () => {
  test('the older one has, whatever the names; the uid decides between equal ages', () => {
    const claims = claimsOf({
      'aaa/young': { external: ['192.0.2.1'], createdAtMs: 2000 },
      'zzz/old': { external: ['192.0.2.1'], createdAtMs: 1000 },
      'aaa/ageless': { external: ['192.0.2.1'] },
      'b/one': { nodePort: 30080, createdAtMs: 3000, uid: 'b' },
      'a/two': { nodePort: 30080, createdAtMs: 3000, uid: 'c' },
    })
    assert.deepEqual(refusals(claims, 'zzz/old'), [])
    assert.deepEqual(refusals(claims, 'aaa/young'), ['192.0.2.1 80 older-service Service zzz/old'])
    assert.deepEqual(refusals(claims, 'aaa/ageless'), ['192.0.2.1 80 older-service Service zzz/old'])
    assert.deepEqual(refusals(claims, 'b/one'), [])
    assert.deepEqual(refusals(claims, 'a/two'), ['node port 30080 older-service Service b/one'])
  })

  test('is an address with its port: other ports of it are free, and an address of a load balancer counts alike', () => {
    const claims = claimsOf({
      'a/web': { balanced: ['192.0.2.1'], port: 80, createdAtMs: 1 },
      'a/tls': { external: ['192.0.2.1'], port: 443, createdAtMs: 2 },
      'a/late': { external: ['192.0.2.1'], port: 80, createdAtMs: 3 },
    })
    assert.deepEqual([refusals(claims, 'a/web'), refusals(claims, 'a/tls')], [[], []])
    assert.deepEqual(refusals(claims, 'a/late'), ['192.0.2.1 80 older-service Service a/web'])
  })

  test('a ClusterIP comes before every external address, also of an older Service and on another port', () => {
    const claims = claimsOf({
      'a/old': { external: ['10.96.0.1'], balanced: ['10.96.0.10'], port: 53, createdAtMs: 1 },
      'default/kubernetes': { clusterIp: '10.96.0.1', port: 443, createdAtMs: 5 },
      'kube-system/kube-dns': { clusterIp: '10.96.0.10', port: 53, createdAtMs: 6 },
    })
    assert.deepEqual(refusals(claims, 'a/old'), [
      '10.96.0.1 53 cluster-ip Service default/kubernetes',
      '10.96.0.10 53 cluster-ip Service kube-system/kube-dns',
    ])
    assert.deepEqual(refusals(claims, 'default/kubernetes'), [])
  })

  test('passes to the next when the holder goes, and only those whose claims it decides are named', () => {
    const claims = claimsOf({
      'a/one': { external: ['192.0.2.1'], createdAtMs: 1 },
      'a/two': { external: ['192.0.2.1'], createdAtMs: 2 },
      'a/three': { external: ['192.0.2.1'], createdAtMs: 3 },
      'a/other': { external: ['192.0.2.2'], createdAtMs: 4 },
    })
    assert.deepEqual(claims.update('a/one', undefined), new Set(['a/two']))
    assert.deepEqual(refusals(claims, 'a/three'), ['192.0.2.1 80 older-service Service a/two'])
    assert.deepEqual(claims.update('a/three', undefined), new Set())
    assert.deepEqual(
      claims.update('a/new', service('a/new', { external: ['192.0.2.1'], createdAtMs: 0 })),
      new Set(['a/two']),
    )
    assert.equal(claims.hasExternalIps, true)
    for (const key of ['a/new', 'a/two', 'a/other']) claims.update(key, undefined)
    assert.equal(claims.hasExternalIps, false)
  })
})

describe('an external address of the cluster itself', () => {
  const claims = claimsOf({
    'a/node': { external: ['192.0.2.10'], createdAtMs: 1 },
    'a/range': { external: ['10.96.200.1'], createdAtMs: 1 },
    'a/api': { external: ['203.0.113.5'], port: 6443, createdAtMs: 1 },
    'a/beside': { external: ['203.0.113.5'], port: 443, createdAtMs: 1 },
    'a/balanced': { balanced: ['192.0.2.10'], createdAtMs: 2 },
  })
  const affected = claims.reserve({
    nodes: new Map<Ip, string>([[ipOf('192.0.2.10'), 'n1']]),
    serviceCidrs: [cidrOf('10.96.0.0/12')],
    apiServers: new Set(['203.0.113.5 TCP 6443']),
  })

  test('is refused, with whose it is; that of a load balancer may be a node', () => {
    assert.deepEqual(refusals(claims, 'a/node'), ['192.0.2.10 80 node-address node n1'])
    assert.deepEqual(refusals(claims, 'a/range'), ['10.96.200.1 80 service-range 10.96.0.0/12'])
    assert.deepEqual(refusals(claims, 'a/api'), ['203.0.113.5 6443 api-server the API server'])
    assert.deepEqual(refusals(claims, 'a/beside'), [])
    assert.deepEqual(refusals(claims, 'a/balanced'), ['192.0.2.10 80 older-service Service a/node'])
    assert.equal(affected.size, 5)
  })
})

test('whatever the order in which Services come and go, the same ones have the same', () => {
  const drawn = fc.record({
    key: fc.constantFrom('a/1', 'a/2', 'b/1', 'b/2', 'c/1'),
    isThere: fc.boolean(),
    createdAtMs: fc.nat({ max: 2 }),
    clusterIp: fc.constantFrom('10.96.0.1', '10.96.0.2', '192.0.2.1'),
    external: fc.subarray(['192.0.2.1', '10.96.0.1', '192.0.2.3']),
    port: fc.constantFrom(80, 81),
  })
  const ways = (claims: ServiceClaims, key: string) =>
    claims
      .refusalsOf(key)
      .map(({ address, port }) => `${address} ${port}`)
      .join()
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 20 }), (steps) => {
      const claims = new ServiceClaims()
      const known = new Map<string, Service>()
      for (const { key, isThere, ...rest } of steps) {
        const shown = new Map([...known.keys()].map((each) => [each, ways(claims, each)]))
        if (isThere) known.set(key, service(key, { ...rest, uid: key }))
        else known.delete(key)
        const affected = claims.update(key, known.get(key)).union(new Set([key]))
        const silent = [...known.keys()].filter((each) => !affected.has(each))
        assert.deepEqual(
          silent.map((each) => ways(claims, each)),
          silent.map((each) => shown.get(each)),
        )
      }
      const fresh = new ServiceClaims()
      for (const [key, each] of [...known].toReversed()) fresh.update(key, each)
      for (const key of known.keys()) assert.deepEqual(refusals(fresh, key), refusals(claims, key))
    }),
  )
})

test('10,000 Services with one external address between them cost little, and so does a change of one', () => {
  const claims = new ServiceClaims()
  const startedMs = performance.now()
  for (let index = 0; index < 10_000; index++) {
    const key = `a/${index}`
    claims.update(key, service(key, { external: ['192.0.2.1'], port: 1 + index, createdAtMs: index }))
  }
  const changed = claims.update('a/5000', service('a/5000', { external: ['192.0.2.2'], port: 80, createdAtMs: 1 }))
  const tookMs = performance.now() - startedMs
  assert.equal(changed.size, 0)
  // 0.12 s on a busy machine.
  assert.ok(tookMs < 5000, `${tookMs} ms`)
})
