import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Endpoint } from '../../../src/model/endpoint-slice.ts'
import type { Service } from '../../../src/model/service.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import type { TracedPacket } from '../../../src/netfilter/trace/types.ts'
import { buildRuleset, describeTrace, firstPacket, worldOf } from '../../helpers/proxy-lab.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = {
  family: 'IPv4',
  localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') },
  nodeIps: [ip('192.0.2.1')],
}
const [vip, otherVip, external] = [ip('198.51.100.1'), ip('198.51.100.2'), ip('198.51.100.3')]
const balancer: Partial<Service> = {
  type: 'LoadBalancer',
  ports: [makePort('http', 'TCP', 80, 30080)],
  loadBalancerVips: [vip, otherVip],
  externalIps: [external],
}
const local = makeEndpoint('10.244.0.1', { nodeName: 'node-a' })
const remote = makeEndpoint('10.244.1.1', { nodeName: 'node-b' })
const going = { ready: false, terminating: true } as const
const all = '10.244.0.1:8080 | 10.244.1.1:8080'
const allMasqueraded = '10.244.0.1:8080 masqueraded | 10.244.1.1:8080 masqueraded'

/** What a packet to a Service meets on a node whose addresses are 192.0.2.1 and those given. */
function meets(
  details: Partial<Service>,
  endpoints: readonly Endpoint[],
  packet: TracedPacket,
  more: Partial<ProxyRuleSettings> = {},
  bound: readonly string[] = [],
): string {
  const service = makeService('default/web', '10.96.0.1', details)
  const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)]
  return describeTrace(
    packet,
    worldOf(buildRuleset([{ service, slices }], { ...settings, ...more }), ['192.0.2.1', ...bound]),
  )
}

const fromClient = (to: string, port = 80) => firstPacket('203.0.113.2', to, port)
const fromPod = (to: string, port = 80) => firstPacket('10.244.0.5', to, port)
const fromNode = (to: string, port = 80, source = '192.0.2.1') => firstPacket(source, to, port, { origin: 'this-node' })
const everyWay = (send: (to: string, port?: number) => TracedPacket) => [
  send('10.96.0.1'),
  send(vip),
  send(otherVip),
  send(external),
  send('192.0.2.1', 30080),
]

describe('without endpoints', () => {
  test('every address refuses connections, from any source', () => {
    for (const packet of [fromClient, fromPod, fromNode].flatMap(everyWay))
      assert.equal(meets(balancer, [], packet), 'reject', JSON.stringify(packet))
  })

  test('endpoints that cannot answer are none', () => {
    const dead = [
      makeEndpoint('10.244.0.1', { ready: false }),
      makeEndpoint('10.244.0.2', { ...going, serving: false }),
    ]
    for (const packet of everyWay(fromClient)) assert.equal(meets(balancer, dead, packet), 'reject')
  })

  test('an address that stands on this node is refused too, another port of it is not', () => {
    assert.equal(meets(balancer, [], fromClient(vip), {}, [vip]), 'reject')
    assert.equal(meets(balancer, [], fromClient(vip, 81), {}, [vip]), 'untouched')
  })

  test('what listens on this node on a cluster IP is left alone', () => {
    assert.equal(meets(balancer, [], fromPod('10.96.0.1'), {}, ['10.96.0.1']), 'untouched')
  })
})

describe('a Local policy without local endpoints', () => {
  const externalLocal = { ...balancer, externalTrafficPolicy: 'Local' } as const
  const waysOut = [fromClient(vip), fromClient(external), fromClient('192.0.2.1', 30080)]

  test('of external traffic drops what comes from outside, by choice refuses it', () => {
    for (const packet of waysOut) {
      assert.equal(meets(externalLocal, [remote], packet), 'drop', JSON.stringify(packet))
      assert.equal(meets(externalLocal, [remote], packet, { noLocalEndpoints: 'reject' }), 'reject')
    }
  })

  test('still serves pods and this node by external ways, and all by the cluster IP', () => {
    for (const packet of [fromPod(vip), fromPod('192.0.2.1', 30080), fromPod('10.96.0.1')])
      assert.equal(meets(externalLocal, [remote], packet), '10.244.1.1:8080', JSON.stringify(packet))
    for (const packet of [fromNode(vip), fromNode('192.0.2.1', 30080), fromClient('10.96.0.1')])
      assert.equal(meets(externalLocal, [remote], packet), '10.244.1.1:8080 masqueraded', JSON.stringify(packet))
  })

  test('of internal traffic drops what goes to the cluster IP only', () => {
    const internalLocal = { ...balancer, internalTrafficPolicy: 'Local' } as const
    assert.equal(meets(internalLocal, [remote], fromPod('10.96.0.1')), 'drop')
    assert.equal(meets(internalLocal, [remote], fromPod('10.96.0.1'), { noLocalEndpoints: 'reject' }), 'reject')
    assert.equal(meets(internalLocal, [remote], fromPod(vip)), '10.244.1.1:8080 masqueraded')
    assert.equal(meets(internalLocal, [], fromPod('10.96.0.1')), 'reject')
  })

  test('uses the local endpoint that is going, while it serves', () => {
    const leaving = makeEndpoint('10.244.0.1', { ...going, nodeName: 'node-a' })
    assert.equal(meets(externalLocal, [leaving, remote], fromClient(vip)), '10.244.0.1:8080')
    assert.equal(meets(externalLocal, [leaving, remote], fromPod(vip)), '10.244.1.1:8080')
  })

  test('without an external way asks nothing of external traffic', () => {
    assert.equal(meets({ externalTrafficPolicy: 'Local' }, [remote], fromPod('10.96.0.1')), '10.244.1.1:8080')
  })
})

describe('a load balancer with source ranges', () => {
  const ranged = { ...balancer, sourceRanges: [cidr('203.0.113.0/25')] }
  const endpoints = [local, remote]

  test('lets in who is in a range, at each of its addresses', () => {
    for (const to of [vip, otherVip]) {
      assert.equal(meets(ranged, endpoints, fromClient(to)), allMasqueraded)
      assert.equal(meets(ranged, endpoints, firstPacket('203.0.113.130', to, 80)), 'drop')
      assert.equal(meets(ranged, endpoints, fromPod(to)), 'drop')
      assert.equal(meets(ranged, endpoints, fromNode(to)), 'drop')
    }
  })

  test('restricts no client at its other addresses', () => {
    const stranger = (to: string, port = 80) => firstPacket('203.0.113.130', to, port)
    for (const packet of [stranger(external), stranger('192.0.2.1', 30080), stranger('10.96.0.1')])
      assert.equal(meets(ranged, endpoints, packet), allMasqueraded)
  })

  test('that hold the node let it in as itself and, where the address stands on it, as that address', () => {
    const withNode = { ...ranged, sourceRanges: [cidr('192.0.2.0/24')] }
    assert.equal(meets(withNode, endpoints, fromNode(vip)), allMasqueraded)
    assert.equal(meets(withNode, endpoints, fromNode(vip, 80, vip), {}, [vip]), allMasqueraded)
    assert.equal(meets(ranged, endpoints, fromNode(vip, 80, vip), {}, [vip]), 'drop')
  })

  test('that holds no client admits none, without endpoints refuses, and for other families has no effect', () => {
    assert.equal(meets({ ...ranged, sourceRanges: [] }, endpoints, fromClient(vip)), 'drop')
    assert.equal(meets({ ...ranged, sourceRanges: [] }, endpoints, fromClient(external)), allMasqueraded)
    assert.equal(meets(ranged, [], firstPacket('203.0.113.130', vip, 80)), 'reject')
    assert.equal(meets({ ...ranged, sourceRanges: [cidr('fd00::/8')] }, endpoints, fromClient(vip)), allMasqueraded)
  })
})

describe('a node port', () => {
  test('is open on every address of this node but loopback', () => {
    const endpoints = [local, remote]
    for (const to of ['192.0.2.1', '198.18.0.1'])
      assert.equal(meets(balancer, endpoints, fromClient(to, 30080), {}, ['198.18.0.1']), allMasqueraded)
    assert.equal(meets(balancer, endpoints, fromNode('127.0.0.1', 30080, '127.0.0.1')), 'untouched')
    assert.equal(meets(balancer, endpoints, fromClient('192.0.2.9', 30080)), 'untouched')
  })

  test('is open, or refused, on the addresses that were chosen and no others', () => {
    const chosen = { nodePortAddresses: [ip('192.0.2.1')] }
    for (const [endpoints, verdict] of [
      [[local, remote], allMasqueraded],
      [[], 'reject'],
    ] as const) {
      assert.equal(meets(balancer, endpoints, fromClient('192.0.2.1', 30080), chosen, ['198.18.0.1']), verdict)
      assert.equal(meets(balancer, endpoints, fromClient('198.18.0.1', 30080), chosen, ['198.18.0.1']), 'untouched')
    }
  })

  test('of a health check is let in, with or without local endpoints', () => {
    const checked = { ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 } as const
    for (const endpoints of [[local], [remote]]) {
      const service = makeService('default/web', '10.96.0.1', checked)
      const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)]
      const rules = buildRuleset([{ service, slices }], settings).ruleset().filter.get('PLAT-NODEPORTS')
      assert.deepEqual(rules?.[0]?.target, { kind: 'accept' })
    }
  })
})

test('ports of other names and protocols are ways of their own', () => {
  const several = {
    ports: [
      makePort('http', 'TCP', 80),
      makePort('dns', 'UDP', 53),
      makePort('signal', 'SCTP', 9),
      makePort('', 'TCP', 90),
    ],
  }
  assert.equal(meets(several, [local, remote], fromPod('10.96.0.1')), all)
  for (const [port, protocol] of [
    [53, 'UDP'],
    [9, 'SCTP'],
    [90, 'TCP'],
  ] as const)
    assert.equal(meets(several, [local], firstPacket('10.244.0.5', '10.96.0.1', port, { protocol })), 'reject')
})
