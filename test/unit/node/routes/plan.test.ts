import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseNode } from '../../../../src/node/routes/nodes.ts'
import { macOf, masqueradeTable, type NetworkNode, planRoutes } from '../../../../src/node/routes/plan.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'

const age = { uid: '', createdAtMs: 0 }
const nodes: readonly NetworkNode[] = [
  {
    ...age,
    name: 'a',
    ips: [ipOf('192.0.2.1'), ipOf('2001:db8::1')],
    podCidrs: [cidrOf('10.244.0.0/24'), cidrOf('fd00:1::/64')],
  },
  {
    ...age,
    name: 'b',
    ips: [ipOf('192.0.2.2'), ipOf('2001:db8::2')],
    podCidrs: [cidrOf('10.244.1.0/24'), cidrOf('fd00:2::/64')],
  },
  { ...age, name: 'c', ips: [ipOf('192.0.2.3')], podCidrs: [cidrOf('10.244.2.0/24'), cidrOf('fd00:3::/64')] },
  { ...age, name: 'young', ips: [ipOf('192.0.2.4')], podCidrs: [] },
  { ...age, name: 'mute', ips: [], podCidrs: [cidrOf('10.244.9.0/24')] },
]

describe('the way to the pods of other nodes', () => {
  test('by host gateways: each network of the others to their address of its family', () => {
    const { routes, vxlan } = planRoutes(nodes, { mode: 'host-gw', nodeName: 'a' })
    assert.equal(vxlan, undefined)
    assert.deepEqual(routes, [
      { destination: '10.244.1.0/24', via: '192.0.2.2' },
      { destination: 'fd00:2::/64', via: '2001:db8::2' },
      { destination: '10.244.2.0/24', via: '192.0.2.3' },
    ])
  })

  test('by VXLAN: a device, a peer and a route for each network of the others', () => {
    const { routes, vxlan } = planRoutes(nodes, { mode: 'vxlan', nodeName: 'a' })
    assert.deepEqual(
      routes.map(({ destination, via, device }) => [destination, via, device]),
      [
        ['10.244.1.0/24', '10.244.1.0', 'plt-vxlan'],
        ['fd00:2::/64', 'fd00:2::', 'plt-vxlan'],
        ['10.244.2.0/24', '10.244.2.0', 'plt-vxlan'],
        ['fd00:3::/64', 'fd00:3::', 'plt-vxlan'],
      ],
    )
    assert.deepEqual(
      [vxlan?.local, vxlan?.mac, vxlan?.addresses],
      ['192.0.2.1', '0a:58:c0:00:02:01', ['10.244.0.0', 'fd00:1::']],
    )
    assert.deepEqual(vxlan?.peers[0], { mac: '0a:58:c0:00:02:02', inner: '10.244.1.0', outer: '192.0.2.2' })
  })

  test('what one node says of itself is what the others say of it', () => {
    const self = planRoutes(nodes, { mode: 'vxlan', nodeName: 'b' }).vxlan
    const seen = planRoutes(nodes, { mode: 'vxlan', nodeName: 'a' }).vxlan?.peers.filter(
      ({ outer }) => outer === self?.local,
    )
    assert.deepEqual(
      seen?.map(({ mac, inner }) => [mac, inner]),
      self?.addresses.map((inner) => [self.mac, inner]),
    )
    assert.equal(macOf(ipOf('192.0.2.2')), self?.mac)
  })

  test('the order of the nodes makes no difference', () => {
    const settings = fc.record({
      mode: fc.constantFrom('host-gw' as const, 'vxlan' as const),
      nodeName: fc.constantFrom('a', 'b', 'x'),
    })
    fc.assert(
      fc.property(fc.shuffledSubarray([...nodes], { minLength: nodes.length }), settings, (shuffled, chosen) => {
        assert.deepEqual(planRoutes(shuffled, chosen), planRoutes(nodes, chosen))
      }),
    )
  })

  test('masquerading is for what leaves the cluster, of each family', () => {
    const text = masqueradeTable([cidrOf('10.244.0.0/24'), cidrOf('fd00:1::/64')], [cidrOf('10.244.0.0/16')])
    assert.match(
      text,
      /ip saddr 10\.244\.0\.0\/24 ip daddr != 10\.244\.0\.0\/16 ip daddr != 224\.0\.0\.0\/4 masquerade/,
    )
    assert.match(text, /ip6 saddr fd00:1::\/64 ip6 daddr != ff00::\/8 masquerade/)
  })
})

describe('a Node of the API', () => {
  test('internal addresses and pod networks count; what is neither is left out', () => {
    const node = parseNode({
      metadata: { name: 'a', uid: 'u', creationTimestamp: '2026-01-02T03:04:05Z' },
      spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24', 'none'] },
      status: {
        addresses: [
          { type: 'ExternalIP', address: '203.0.113.1' },
          { type: 'InternalIP', address: '192.0.2.1' },
          { type: 'InternalIP', address: '; reboot' },
        ],
      },
    })
    assert.deepEqual(node, {
      name: 'a',
      uid: 'u',
      createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
      ips: ['192.0.2.1'],
      podCidrs: ['10.244.0.0/24'],
    })
    assert.equal(parseNode({ metadata: { name: 'a' } })?.createdAtMs, Number.POSITIVE_INFINITY)
    assert.equal(parseNode('x'), undefined)
  })
})
