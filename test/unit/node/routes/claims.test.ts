import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Cidr } from '../../../../src/model/ip.ts'
import { cidrContains, cidrsOverlap } from '../../../../src/model/ip.ts'
import { type ClaimSettings, settleClaims } from '../../../../src/node/routes/claims.ts'
import type { NetworkNode } from '../../../../src/node/routes/plan.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'
import { assertLinear } from '../../../helpers/growth.ts'

const settings: ClaimSettings = {
  nodeName: 'own',
  clusterCidrs: [cidrOf('10.244.0.0/16'), cidrOf('fd00:10:244::/56')],
  serviceCidrs: [cidrOf('10.244.128.0/20')],
  localRoutes: [cidrOf('10.244.50.0/24'), cidrOf('10.244.60.8/32')],
}

function node(
  name: string,
  createdAtMs: number,
  podCidrs: readonly string[],
  ips: readonly string[] = [],
): NetworkNode {
  return { name, uid: `uid-${name}`, createdAtMs, podCidrs: podCidrs.map(cidrOf), ips: ips.map(ipOf) }
}

const own = node('own', 5, ['10.244.0.0/24'], ['192.0.2.1'])

describe('a network that a Node claims', () => {
  for (const [cidr, reason] of [
    ['0.0.0.0/0', 'special-address'],
    ['::/0', 'special-address'],
    ['192.168.1.0/24', 'outside-cluster-cidr'],
    ['10.244.0.0/15', 'outside-cluster-cidr'],
    ['fd00:10:245::/64', 'outside-cluster-cidr'],
    ['10.244.130.0/24', 'overlaps-service-range'],
    ['10.244.0.0/16', 'overlaps-service-range'],
    ['10.244.0.0/24', 'overlaps-own-network'],
    ['10.244.0.128/25', 'overlaps-own-network'],
    ['10.244.0.0/22', 'overlaps-own-network'],
    ['10.244.50.0/24', 'overlaps-local-route'],
    ['10.244.50.128/32', 'overlaps-local-route'],
    ['10.244.60.0/24', 'overlaps-local-route'],
    ['10.244.1.0/24', undefined],
    ['fd00:10:244:1::/64', undefined],
  ] as const) {
    test(`${cidr} is ${reason ?? 'used'}, though the Node is the oldest`, () => {
      const { nodes, refused } = settleClaims([own, node('other', 1, [cidr])], settings)
      assert.deepEqual(
        refused.map((each) => [each.node, each.claim, each.reason]),
        reason === undefined ? [] : [['other', cidr, reason]],
      )
      assert.deepEqual(nodes.find(({ name }) => name === 'other')?.podCidrs, reason === undefined ? [cidr] : [])
      assert.deepEqual(nodes.find(({ name }) => name === 'own')?.podCidrs, ['10.244.0.0/24'])
    })
  }

  test("this node's own one is refused as well where it is outside the cluster's, and then keeps no other out", () => {
    const bad = node('own', 1, ['10.245.0.0/24', '0.0.0.0/0'])
    const { nodes, refused } = settleClaims([bad, node('other', 2, ['10.244.1.0/24'])], settings)
    assert.deepEqual(
      nodes.map(({ name, podCidrs }) => [name, podCidrs]),
      [
        ['own', []],
        ['other', ['10.244.1.0/24']],
      ],
    )
    assert.equal(refused.length, 2)
  })

  test('belongs to the older of two Nodes; the uid decides between equal ages', () => {
    const [a, b] = [node('z', 1, ['10.244.1.0/24']), node('a', 2, ['10.244.1.0/25', '10.244.2.0/24'])]
    const { refused } = settleClaims([own, b, a], settings)
    assert.deepEqual(refused, [{ node: 'a', claim: '10.244.1.0/25', reason: 'overlaps-older-node', with: 'node z' }])
    const twins = [node('x', 1, ['10.244.1.0/24']), { ...node('y', 1, ['10.244.1.0/24']), uid: 'uid-0' }]
    assert.deepEqual(
      settleClaims(twins, settings).refused.map((each) => each.node),
      ['x'],
    )
  })

  const claims = fc.array(
    fc.record({
      name: fc.constantFrom('own', 'a', 'b', 'c', 'd', 'e', 'f'),
      createdAtMs: fc.nat({ max: 3 }),
      cidrs: fc.array(
        fc.tuple(fc.integer({ min: 240, max: 246 }), fc.nat({ max: 255 }), fc.integer({ min: 8, max: 32 })),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 7 },
  )

  test('whatever the claims: no two that are used overlap, all lie inside, and the order of the Nodes makes no difference', () => {
    fc.assert(
      fc.property(claims, (drawn) => {
        const unique = new Map(drawn.map((each) => [each.name, each]))
        const nodes = [...unique.values()].map(({ name, createdAtMs, cidrs }) =>
          node(
            name,
            createdAtMs,
            cidrs.map(([second, third, prefix]) => `10.${second}.${third}.0/${prefix}`),
          ),
        )
        const settled = settleClaims(nodes, settings)
        assert.deepEqual(settleClaims(nodes.toReversed(), settings), settled)
        const used = settled.nodes.flatMap(({ name, podCidrs }) => podCidrs.map((cidr) => ({ name, cidr })))
        const claimed = nodes.flatMap(({ podCidrs }) => podCidrs).length
        assert.equal(used.length + settled.refused.length, claimed)
        for (const [index, one] of used.entries()) {
          assert.ok(cidrContains(cidrOf('10.244.0.0/16'), one.cidr), one.cidr)
          for (const two of used.slice(index + 1))
            assert.ok(one.name === two.name || !cidrsOverlap(one.cidr, two.cidr), `${one.cidr} ${two.cidr}`)
        }
      }),
    )
  })

  test('5,000 Nodes, the youngest of which claims all of it, take no time that grows with their square', () => {
    const many = Array.from({ length: 5000 }, (_, index) =>
      node(`n${index}`, index, [`10.${Math.floor(index / 256)}.${index % 256}.0/24`]),
    )
    const wide = { ...settings, clusterCidrs: [cidrOf('10.0.0.0/8')], serviceCidrs: [] as Cidr[], localRoutes: [] }
    const before = process.cpuUsage()
    const { refused } = settleClaims([...many, node('last', 6000, ['10.0.0.0/8'])], wide)
    assert.deepEqual(
      refused.map((each) => [each.node, each.with]),
      [['last', 'node n0']],
    )
    // Under 0.6 s on a busy machine; comparing each with each would be 12,500,000 comparisons.
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 5_000_000, `${user + system} µs of processor time`)
  })
})

describe('an address that a Node claims', () => {
  for (const [ip, reason] of [
    ['127.0.0.1', 'special-address'],
    ['169.254.169.254', 'special-address'],
    ['fe80::1', 'special-address'],
    ['10.244.0.7', 'address-of-pods'],
    ['192.0.2.1', 'address-of-this-node'],
    ['192.0.2.2', undefined],
  ] as const) {
    test(`${ip} is ${reason ?? 'a gateway'}`, () => {
      const { refused } = settleClaims([own, node('other', 1, [], [ip])], settings)
      assert.deepEqual(
        refused.map((each) => each.reason),
        reason === undefined ? [] : [reason],
      )
    })
  }
})

test('thousands of nodes beside thousands of local routes are settled in time proportional to their number', () => {
  const each = (index: number) => `10.${index >> 8}.${index & 255}`
  const nodes = Array.from({ length: 4_000 }, (_, index) => node(`n${index}`, index, [`${each(index)}.0/24`]))
  const routes = Array.from({ length: 4_000 }, (_, index) => cidrOf(`10.200.${index >> 8}.${index & 255}/32`))
  assertLinear('nodes and routes', 1_000, (count) => {
    const localRoutes = routes.slice(0, count)
    const wide = { nodeName: 'own', clusterCidrs: [cidrOf('10.0.0.0/8')], serviceCidrs: [], localRoutes }
    assert.deepEqual(settleClaims(nodes.slice(0, count), wide).refused, [])
  })
})

test('a route inside another one is named by the outer one', () => {
  const localRoutes = [cidrOf('10.244.50.8/32'), cidrOf('10.244.50.0/24')]
  const { refused } = settleClaims([own, node('b', 9, ['10.244.50.0/25'])], { ...settings, localRoutes })
  assert.deepEqual(
    refused.map(({ reason, with: other }) => [reason, other]),
    [['overlaps-local-route', '10.244.50.0/24']],
  )
})
