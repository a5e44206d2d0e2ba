import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createPodCidrController } from '../../../../src/controllers/nodes/pod-cidr-controller.ts'
import { assignPodCidrs } from '../../../../src/controllers/nodes/pod-cidrs.ts'
import { type Cidr, cidrRange, parseCidr } from '../../../../src/model/ip.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

function cidr(text: string): Cidr {
  const parsed = parseCidr(text)
  assert.ok(parsed)
  return parsed
}

const table: readonly {
  title: string
  cluster: readonly string[]
  taken?: readonly string[]
  nodes: readonly string[]
  assigned: Record<string, readonly string[]>
  refused?: Record<string, string>
}[] = [
  {
    title: 'a /24 a node, in the order of their names',
    cluster: ['10.244.0.0/16'],
    nodes: ['b', 'a'],
    assigned: { a: ['10.244.0.0/24'], b: ['10.244.1.0/24'] },
  },
  {
    title: 'one of each family, in the order of the cluster networks',
    cluster: ['fd00:10:244::/56', '10.244.0.0/16'],
    nodes: ['a'],
    assigned: { a: ['fd00:10:244::/64', '10.244.0.0/24'] },
  },
  {
    title: 'the lowest gap between those that are taken, also by networks of other sizes',
    cluster: ['10.244.0.0/16'],
    taken: ['10.244.0.0/24', '10.244.1.128/25', '10.244.4.0/22', '10.244.0.16/28', 'nonsense', '192.0.2.0/24'],
    nodes: ['a', 'b', 'c'],
    assigned: { a: ['10.244.2.0/24'], b: ['10.244.3.0/24'], c: ['10.244.8.0/24'] },
  },
  {
    title: 'a small network goes whole to the first',
    cluster: ['192.0.2.128/25'],
    nodes: ['a', 'b'],
    assigned: { a: ['192.0.2.128/25'] },
    refused: { b: '192.0.2.128/25' },
  },
  {
    title: 'theirs although another says it has everything, or what is no part of the cluster network',
    cluster: ['10.244.0.0/16'],
    taken: ['0.0.0.0/0', '10.0.0.0/8', '10.245.0.0/16', '10.244.0.0/24'],
    nodes: ['a'],
    assigned: { a: ['10.244.1.0/24'] },
  },
  {
    title: 'nothing while another has the whole cluster network: two would overlap',
    cluster: ['10.244.0.0/16'],
    taken: ['10.244.0.0/16'],
    nodes: ['a'],
    assigned: {},
    refused: { a: '10.244.0.0/16' },
  },
  {
    title: 'nothing of either family when one is full',
    cluster: ['10.244.0.0/24', 'fd00::/48'],
    taken: ['10.244.0.0/24'],
    nodes: ['a'],
    assigned: {},
    refused: { a: '10.244.0.0/24' },
  },
]

for (const { title, cluster, taken = [], nodes, assigned, refused = {} } of table) {
  test(`nodes get ${title}`, () => {
    const result = assignPodCidrs(cluster.map(cidr), [{ name: 'other', podCIDRs: taken }], nodes)
    assert.deepEqual(Object.fromEntries(result.assigned), assigned)
    assert.deepEqual(Object.fromEntries([...result.refused].map(([name, full]) => [name, full.cidr])), refused)
  })
}

test('whatever is taken, no two networks overlap and all lie in the cluster network', () => {
  const block = fc.tuple(fc.nat({ max: 15 }), fc.integer({ min: 20, max: 28 }))
  fc.assert(
    fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 1, max: 16 }), (blocks, count) => {
      const taken = blocks.map(([third, prefix]) => cidr(`10.0.${third}.0/${prefix}`))
      const nodes = Array.from({ length: count }, (_, index) => `n${index}`)
      const { assigned, refused } = assignPodCidrs([cidr('10.0.0.0/20')], [{ name: 'other', podCIDRs: taken }], nodes)
      const given = [...assigned.values()].flat()
      assert.equal(assigned.size + refused.size, count)
      for (const [index, one] of given.entries()) {
        assert.match(one, /^10\.0\.(\d|1[0-5])\.0\/24$/)
        for (const other of [...taken, ...given.slice(index + 1)]) assert.ok(!overlap(one, other), `${one} ${other}`)
      }
      if (refused.size > 0) {
        const covered = new Set(given.map((each) => Number(each.split('.')[2])))
        const gaps = Array.from({ length: 16 }, (_, third) => third).filter(
          (third) => !covered.has(third) && !taken.some((each) => overlap(cidr(`10.0.${third}.0/24`), each)),
        )
        assert.deepEqual(gaps, [], 'refused although there was room')
      }
    }),
  )
})

function overlap(one: Cidr, other: Cidr): boolean {
  const [a, b] = [cidrRange(one), cidrRange(other)]
  return a.first <= b.last && b.first <= a.last
}

describe('the controller of pod networks', () => {
  const start = (server: TestServer, ...cidrs: string[]) =>
    runControllers(server, (kit) => [createPodCidrController(kit, cidrs.map(cidr))])
  const make = async (server: TestServer, name: string, spec: object = {}) =>
    assert.equal((await server.call('POST', '/api/v1/nodes', { body: { metadata: { name }, spec } })).code, 201)
  const cidrsOf = async (server: TestServer, name: string): Promise<string[]> => {
    const { spec } = (await server.call('GET', `/api/v1/nodes/${name}`)).body
    assert.equal(spec.podCIDR, spec.podCIDRs?.[0])
    return spec.podCIDRs ?? []
  }
  const untilGiven = (server: TestServer, name: string) =>
    untilAsync(`${name} has its network`, async () => (await cidrsOf(server, name)).length > 0, 30_000)

  test('every node keeps what it was given, also over restarts, and gets nothing that another has', async () => {
    await using server = await startTestServer()
    await make(server, 'own', { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] })
    const first = await start(server, '10.244.0.0/16', 'fd00:10:244::/56')
    await make(server, 'n1')
    await untilGiven(server, 'n1')
    assert.deepEqual(await cidrsOf(server, 'n1'), ['10.244.0.0/24', 'fd00:10:244::/64'])
    await first[Symbol.asyncDispose]()
    await make(server, 'n2')
    await using _second = await start(server, '10.244.0.0/16', 'fd00:10:244::/56')
    await untilGiven(server, 'n2')
    assert.deepEqual(await cidrsOf(server, 'n2'), ['10.244.2.0/24', 'fd00:10:244:1::/64'])
    assert.deepEqual(await cidrsOf(server, 'n1'), ['10.244.0.0/24', 'fd00:10:244::/64'])
    assert.deepEqual(await cidrsOf(server, 'own'), ['10.244.1.0/24'])
  })

  test('a node for which no network is left gets an Event, and later the network of a deleted node', async () => {
    await using server = await startTestServer()
    await using _running = await start(server, '192.0.2.0/24')
    await make(server, 'a')
    await untilGiven(server, 'a')
    await make(server, 'b')
    await untilAsync(
      'an event says it',
      async () => {
        const { body } = await server.call('GET', '/api/v1/namespaces/default/events')
        return body.items.some((event: { reason: string }) => event.reason === 'CIDRNotAvailable')
      },
      30_000,
    )
    await server.call('DELETE', '/api/v1/nodes/a')
    await untilGiven(server, 'b')
    assert.deepEqual(await cidrsOf(server, 'b'), ['192.0.2.0/24'])
  })

  test('a network outside the cluster networks is reported at its node and takes nothing from others', async () => {
    await using server = await startTestServer()
    await make(server, 'odd', { podCIDR: '10.0.0.0/8' })
    await make(server, 'old', { podCIDR: '10.244.0.0/24' })
    await using _running = await start(server, '10.244.0.0/16')
    await make(server, 'a')
    await untilGiven(server, 'a')
    assert.deepEqual(await cidrsOf(server, 'a'), ['10.244.1.0/24'])
    const invalid = async () => {
      const { body } = await server.call('GET', '/api/v1/namespaces/default/events')
      const events: { reason: string; message: string; involvedObject: { name: string } }[] = body.items
      return events.filter(({ reason }) => reason === 'InvalidPodCIDR')
    }
    await untilAsync('an event says it', async () => (await invalid()).length > 0, 30_000)
    const [event] = await invalid()
    assert.equal(event?.involvedObject.name, 'odd')
    assert.match(event?.message ?? '', /^10\.0\.0\.0\/8 is in no cluster network \(10\.244\.0\.0\/16\)/)
  })

  test('the server lets no client change the network of a node', async () => {
    await using server = await startTestServer()
    await make(server, 'a', { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] })
    const { code, body } = await server.call('PATCH', '/api/v1/nodes/a', {
      body: { spec: { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.equal(code, 422)
    assert.match(body.message, /spec\.podCIDRs: Forbidden: node updates may not change podCIDR/)
  })
})
