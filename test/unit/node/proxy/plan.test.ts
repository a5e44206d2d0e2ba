import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Endpoint, EndpointSlice } from '../../../../src/model/endpoint-slice.ts'
import type { Service } from '../../../../src/model/service.ts'
import { type PlanNode, planFrontends } from '../../../../src/node/proxy/plan.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../../helpers/services.ts'

const node = { nodeName: 'node-a', family: 'IPv4' } as const
const web = makeService('default/web', '10.96.0.10')
const going = { ready: false, terminating: true } as const

/** The same Service with a node port. */
function open(details: Partial<Service>): Service {
  return { ...web, type: 'NodePort', ports: [makePort('http', 'TCP', 80, 30080)], ...details }
}

function chosen(slices: readonly EndpointSlice[], service: Service = web): { cluster: string[]; local: string[] } {
  const [frontend] = planFrontends(service, slices, node)
  const addresses = (list: readonly { address: string; port: number }[] = []) =>
    list.map((e) => `${e.address}:${e.port}`)
  return { cluster: addresses(frontend?.clusterEndpoints), local: addresses(frontend?.localEndpoints) }
}

function httpSlice(...endpoints: Parameters<typeof makeSlice>[2][number][]): EndpointSlice {
  return makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)
}

test('ready endpoints are used, in lexical order of address and port', () => {
  const slice = httpSlice('10.244.0.9', '10.244.0.10', makeEndpoint('10.244.0.1', { ready: false }))
  assert.deepEqual(chosen([slice]).cluster, ['10.244.0.10:8080', '10.244.0.9:8080'])
})

test('endpoints that are going but still serve are used only while none is ready', () => {
  const old = makeEndpoint('10.244.0.1', going)
  const dead = makeEndpoint('10.244.0.2', { ...going, serving: false })
  assert.deepEqual(chosen([httpSlice(old, dead)]).cluster, ['10.244.0.1:8080'])
  assert.deepEqual(chosen([httpSlice(old, dead, '10.244.0.3')]).cluster, ['10.244.0.3:8080'])
})

test('cluster and local endpoints fall back each by themselves', () => {
  const slice = httpSlice(
    makeEndpoint('10.244.0.1', { nodeName: 'node-b' }),
    makeEndpoint('10.244.0.2', { ...going, nodeName: 'node-a' }),
  )
  assert.deepEqual(chosen([slice], open({ externalTrafficPolicy: 'Local' })), {
    cluster: ['10.244.0.1:8080'],
    local: ['10.244.0.2:8080'],
  })
})

const here = makeEndpoint('10.244.0.1', { nodeName: 'node-a' })
const there = makeEndpoint('10.244.0.2', { nodeName: 'node-b' })

test('each policy asks for the endpoints it uses: pods reach all through an external way, whatever its policy', () => {
  const cases: readonly [service: Service, cluster: number, local: number][] = [
    [web, 2, 0],
    [{ ...web, externalTrafficPolicy: 'Local' }, 2, 0],
    [{ ...web, internalTrafficPolicy: 'Local' }, 0, 1],
    [open({}), 2, 0],
    [open({ externalTrafficPolicy: 'Local' }), 2, 1],
    [open({ internalTrafficPolicy: 'Local' }), 2, 1],
    [{ ...web, internalTrafficPolicy: 'Local', externalIps: [ip('192.0.2.1')] }, 2, 1],
    [{ ...web, internalTrafficPolicy: 'Local', loadBalancerVips: [ip('fd00::1')] }, 0, 1],
  ]
  for (const [service, cluster, local] of cases) {
    const { cluster: inCluster, local: onNode } = chosen([httpSlice(here, there)], service)
    assert.deepEqual([inCluster.length, onNode.length], [cluster, local], JSON.stringify(service))
  }
})

test('a Service has endpoints while any anywhere could answer, also when its policy may not use them', () => {
  const has = (...endpoints: Parameters<typeof httpSlice>) =>
    planFrontends({ ...web, internalTrafficPolicy: 'Local' }, [httpSlice(...endpoints)], node)[0]?.hasEndpoints
  assert.equal(has(there), true)
  assert.equal(has(makeEndpoint('10.244.0.2', { ...going, nodeName: 'node-b' })), true)
  assert.equal(has(makeEndpoint('10.244.0.2', { ready: false })), false)
  assert.equal(has(makeEndpoint('10.244.0.2', { ...going, serving: false })), false)
})

test('endpoints that are not ready are used where the Service publishes them', () => {
  const slice = httpSlice(makeEndpoint('10.244.0.1', { ready: false, serving: false }))
  assert.deepEqual(chosen([slice]).cluster, [])
  assert.deepEqual(chosen([slice], { ...web, publishNotReadyAddresses: true }).cluster, ['10.244.0.1:8080'])
})

test('the DNS that this node answers by itself falls back to other nodes, where any of them is ready', () => {
  const dns = makeService('kube-system/kube-dns', '10.96.0.10', {
    ports: [makePort('dns', 'UDP', 53), makePort('metrics', 'TCP', 9153)],
  })
  const slice = (otherIsReady: boolean) =>
    makeSlice(
      'kube-system/kube-dns',
      [
        ['dns', 'UDP', 53],
        ['metrics', 'TCP', 9153],
      ],
      [
        makeEndpoint('192.0.2.1', { nodeName: node.nodeName }),
        makeEndpoint('192.0.2.2', { nodeName: 'other', ready: otherIsReady }),
      ],
    )
  const used = (at: PlanNode, otherIsReady = true) =>
    planFrontends(dns, [slice(otherIsReady)], at).map(({ clusterEndpoints }) =>
      clusterEndpoints.map(({ address }) => address).join(),
    )
  const both = '192.0.2.1,192.0.2.2'
  assert.deepEqual(used(node), [both, both])
  assert.deepEqual(used({ ...node, answeredHere: dns.clusterIps }), ['192.0.2.2', both])
  assert.deepEqual(used({ ...node, answeredHere: dns.clusterIps }, false), ['192.0.2.1', '192.0.2.1'])
})

describe('topology hints', () => {
  const place = { ...node, zone: 'zone-a' }
  const hinted = (host: number, zones: readonly string[], nodes: readonly string[] = [], details: object = {}) =>
    makeEndpoint(`10.244.0.${host}`, { hints: { zones, nodes }, ...details })
  const used = (endpoints: readonly Endpoint[], at: PlanNode = place) =>
    planFrontends(web, [httpSlice(...endpoints)], at)[0]?.clusterEndpoints.map(({ address }) => address.slice(9))

  const cases: readonly [title: string, endpoints: readonly Endpoint[], used: readonly string[], at?: PlanNode][] = [
    ['for our zone leave the others out', [hinted(1, ['zone-a']), hinted(2, ['zone-b'])], ['1']],
    ['for several zones count for each', [hinted(1, ['zone-a', 'zone-b']), hinted(2, ['zone-b'])], ['1']],
    ['do not count where one ready endpoint has none', [hinted(1, ['zone-a']), makeEndpoint('10.244.0.2')], ['1', '2']],
    ['do not count where none is for our zone', [hinted(1, ['zone-b']), hinted(2, ['zone-c'])], ['1', '2']],
    ['do not count on a node without a zone', [hinted(1, ['zone-a']), hinted(2, ['zone-b'])], ['1', '2'], node],
    [
      'of endpoints that are not ready do not count',
      [hinted(1, ['zone-a']), hinted(2, ['zone-b']), makeEndpoint('10.244.0.3', { ready: false })],
      ['1'],
    ],
    [
      'of the only endpoint of our zone do not count when it is not ready',
      [hinted(1, ['zone-a'], [], { ready: false }), hinted(2, ['zone-b'])],
      ['2'],
    ],
    [
      'for nodes come before those for zones',
      [hinted(1, ['zone-a'], ['node-b']), hinted(2, ['zone-b'], ['node-a'])],
      ['2'],
    ],
    [
      'for other nodes only leave the zone to decide',
      [hinted(1, ['zone-a'], ['node-b']), hinted(2, ['zone-b'], ['node-c'])],
      ['1'],
    ],
    [
      'for nodes do not count where one ready endpoint has none',
      [hinted(1, ['zone-a'], ['node-a']), hinted(2, ['zone-a'])],
      ['1', '2'],
    ],
    [
      'are not followed by endpoints that are going',
      [hinted(1, ['zone-a'], [], going), hinted(2, ['zone-b'], [], going)],
      ['1', '2'],
    ],
  ]
  for (const [title, endpoints, expected, at] of cases)
    test(title, () => assert.deepEqual(used(endpoints, at), expected))

  test('never reach the local endpoints', () => {
    const slice = httpSlice(hinted(1, ['zone-b'], [], { nodeName: 'node-a' }), hinted(2, ['zone-a']))
    const [frontend] = planFrontends(open({ externalTrafficPolicy: 'Local' }), [slice], place)
    assert.deepEqual(
      frontend?.localEndpoints.map(({ address }) => address),
      ['10.244.0.1'],
    )
    assert.deepEqual(
      frontend?.clusterEndpoints.map(({ address }) => address),
      ['10.244.0.2'],
    )
  })
})

test('of an address in two slices the endpoint that is not terminating counts', () => {
  const [old, fresh] = [httpSlice(makeEndpoint('10.244.0.1', going)), httpSlice('10.244.0.1')]
  assert.deepEqual(chosen([old, fresh]).cluster, ['10.244.0.1:8080'])
  assert.deepEqual(chosen([fresh, old]).cluster, ['10.244.0.1:8080'])
})

test('a port of a slice is matched by name and protocol; one address may serve on several ports', () => {
  const ports = [
    ['http', 'TCP', 8080],
    ['http', 'UDP', 8081],
    ['other', 'TCP', 8082],
    ['http', 'TCP', 8083],
  ] as const
  assert.deepEqual(chosen([makeSlice('default/web', ports, ['10.244.0.1'])]).cluster, [
    '10.244.0.1:8080',
    '10.244.0.1:8083',
  ])
})

test('each family is planned with its own address and its own slices', () => {
  const dual = { ...web, clusterIps: [ip('10.96.0.10'), ip('fd00:10:96::10')] }
  const slices = [httpSlice('10.244.0.1'), httpSlice('fd00:10:244::1')]
  assert.deepEqual(chosen(slices, dual).cluster, ['10.244.0.1:8080'])
  const [ipv6] = planFrontends(dual, slices, { ...node, family: 'IPv6' })
  assert.equal(ipv6?.clusterIp, 'fd00:10:96::10')
  assert.deepEqual(ipv6?.clusterEndpoints, [{ address: 'fd00:10:244::1', port: 8080 }])
  assert.deepEqual(planFrontends(web, slices, { ...node, family: 'IPv6' }), [])
})

test('headless and ExternalName Services have no frontend', () => {
  const slices = [httpSlice('10.244.0.1')]
  assert.deepEqual(planFrontends({ ...web, headless: true, clusterIps: [] }, slices, node), [])
  assert.deepEqual(planFrontends({ ...web, type: 'ExternalName', externalName: 'example.org' }, slices, node), [])
})

test('a Service of another proxy has no frontend, a slice that is there for names only no endpoints', () => {
  const slice = httpSlice('10.244.0.1')
  assert.deepEqual(planFrontends({ ...web, foreignProxy: true }, [slice], node), [])
  const [frontend] = planFrontends(web, [{ ...slice, namesOnly: true }], node)
  assert.deepEqual(frontend?.clusterEndpoints, [])
})

test('a frontend carries its name, port, node port, affinity and policies', () => {
  const service = makeService('default/web', '10.96.0.10', {
    affinity: { timeoutSeconds: 60 },
    ports: [makePort('', 'UDP', 53, 30053), makePort('http', 'TCP', 80)],
  })
  const common = {
    clusterIp: '10.96.0.10',
    externalIps: [],
    loadBalancerVips: [],
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    affinity: { timeoutSeconds: 60 },
    hasEndpoints: false,
    clusterEndpoints: [],
    localEndpoints: [],
  }
  assert.deepEqual(planFrontends(service, [], node), [
    { ...common, servicePort: 'default/web', protocol: 'UDP', port: 53, nodePort: 30053 },
    { ...common, servicePort: 'default/web:http', protocol: 'TCP', port: 80 },
  ])
})

test('external addresses, ranges and the health port are those of the family', () => {
  const service = makeService('default/web', '10.96.0.10', {
    type: 'LoadBalancer',
    clusterIps: [ip('10.96.0.10'), ip('fd00:10:96::10')],
    externalIps: [ip('192.0.2.1'), ip('2001:db8::1')],
    loadBalancerVips: [ip('198.51.100.1'), ip('2001:db8::2')],
    sourceRanges: [cidr('203.0.113.0/24')],
    healthCheckNodePort: 32000,
    externalTrafficPolicy: 'Local',
  })
  const [ipv4] = planFrontends(service, [], node)
  const [ipv6] = planFrontends(service, [], { ...node, family: 'IPv6' })
  assert.deepEqual([ipv4?.externalIps, ipv6?.externalIps], [['192.0.2.1'], ['2001:db8::1']])
  assert.deepEqual([ipv4?.loadBalancerVips, ipv6?.loadBalancerVips], [['198.51.100.1'], ['2001:db8::2']])
  assert.deepEqual([ipv4?.sourceRanges, ipv6?.sourceRanges], [['203.0.113.0/24'], undefined])
  assert.deepEqual([ipv4?.healthCheckNodePort, ipv4?.externalPolicy], [32000, 'Local'])
  const [closed] = planFrontends({ ...service, sourceRanges: [] }, [], node)
  assert.deepEqual(closed?.sourceRanges, [])
})
