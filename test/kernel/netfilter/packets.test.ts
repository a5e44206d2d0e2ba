import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { orderCommits } from '../../../src/netfilter/commit-order.ts'
import type { Ruleset, TableChange } from '../../../src/netfilter/ruleset.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { type NetnsLab, skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { diffRulesets } from '../../helpers/rulesets.ts'
import { makeService, makeSlice } from '../../helpers/services.ts'
import { bucketForms, checkBuckets, endpointOf, everyWay, settingsOf } from './bucket-packets.ts'
import { manyClients, PacketLab, places } from './packet-lab.ts'

type Flavour = 'nft' | 'legacy'

const patienceMs = 30_000

function onEachFlavour(title: string, body: (netns: NetnsLab, flavour: Flavour) => Promise<void>): void {
  // Side by side: most of the time is waiting.
  describe(title, { concurrency: 2 }, () => {
    for (const flavour of ['nft', 'legacy'] as const) {
      const skip = skipReason(`iptables-${flavour}`, 'ipset', 'conntrack')
      test(`with iptables-${flavour}`, { skip, timeout: 240_000 }, () => withNetns((netns) => body(netns, flavour)))
    }
  })
}

// 17,000 of them: test/long/proxy/buckets.test.ts.
onEachFlavour(
  'with 300 Services in buckets every address leads to its endpoint, in both forms and families',
  (netns, flavour) => checkBuckets(netns, flavour, 300, bucketForms),
)

onEachFlavour(
  'whatever is written in order is refused or translated after each commit; in the other order it passes',
  async (netns, flavour) => {
    const lab = await PacketLab.build(netns, flavour, { nodePorts: [], onLoopback: [] })
    const place = places.IPv4
    const served = everyWay(1, 'IPv4')
    const [none, one] = [[{ ...served, slices: [] }], [served]].map((states) =>
      copyOf(buildRuleset(states, settingsOf('IPv4')).ruleset()),
    )
    const ask = async () => {
      await lab.forgetConnections()
      const probe = {
        source: place.pod,
        destination: place.clusterIp(1),
        port: 80,
        protocol: 'TCP' as const,
        patienceMs,
      }
      return (await lab.probe('pod', [probe]))[0]?.split(' ')[0]
    }
    const walk = async (before: Ruleset, commits: readonly TableChange[]) => {
      await lab.install('IPv4', before)
      const seen: (string | undefined)[] = []
      for (const commit of commits) {
        await lab.commit('IPv4', commit)
        seen.push(await ask())
      }
      return seen
    }
    assert.ok(none && one)
    for (const [before, after, last] of [
      [none, one, 'local'],
      [one, none, 'refused'],
    ] as const) {
      const changes = diffRulesets(before, after)
      const inOrder = await walk(before, orderCommits(before, changes))
      assert.ok(!inOrder.includes('sink'), `after each commit: ${inOrder}`)
      assert.equal(inOrder.at(-1), last)
      const wrong = last === 'local' ? ['filter', 'nat'] : ['nat', 'filter']
      const reversed = changes.toSorted((a, b) => wrong.indexOf(a.table) - wrong.indexOf(b.table))
      assert.deepEqual(await walk(before, reversed), ['sink', last], 'the other order lets a packet pass untranslated')
    }
  },
)

onEachFlavour(
  '500 clients each come back to their endpoint by ipsets, an endpoint reaches itself, and only a timeout that is not hard begins anew',
  async (netns, flavour) => {
    const lab = await PacketLab.build(netns, flavour, { nodePorts: [], onLoopback: [] })
    const place = places.IPv4
    const service = makeService('default/sticky', place.clusterIp(1), { affinity: { timeoutSeconds: 600 } })
    const slices = [
      makeSlice(
        service.key,
        [['http', 'TCP', 8080]],
        [1, 2, 3].map((n) => place.local(n)),
      ),
    ]
    const alone = everyWay(2, 'IPv4')
    const rules = buildRuleset([{ service, slices }, alone], {
      ...settingsOf('IPv4'),
      affinity: { form: 'ipset', isHard: false },
    })
    await lab.install('IPv4', rules.ruleset(), rules.sets())
    const probes = Array.from({ length: 500 }, (_, n) => ({
      source: manyClients(n + 1),
      destination: place.clusterIp(1),
      port: 80,
      protocol: 'TCP' as const,
      patienceMs,
    }))
    const first = await lab.probe('client', probes)
    assert.equal(new Set(first.map((answer) => answer.split(' ')[1])).size, 3, 'every endpoint has clients')
    assert.deepEqual(
      first.filter((answer) => !answer.startsWith('local ')),
      [],
    )
    await lab.forgetConnections()
    assert.deepEqual(await lab.probe('client', probes), first)

    const self = {
      source: endpointOf(2, 'IPv4'),
      destination: place.clusterIp(2),
      port: 80,
      protocol: 'TCP' as const,
      patienceMs,
    }
    assert.deepEqual(await lab.probe('endpoint', [self]), [
      `local ${endpointOf(2, 'IPv4')}:8080 seen from 10.244.0.254`,
    ])
    await checkTimeouts(lab, { service, slices })
  },
)

/** A connection made again begins the time anew in both forms, but not where the timeout is hard. */
async function checkTimeouts(lab: PacketLab, sticky: ServiceState): Promise<void> {
  const { client, clusterIp } = places.IPv4
  const probe = { source: client, destination: clusterIp(1), port: 80, protocol: 'TCP' as const, patienceMs }
  for (const form of ['recent', 'ipset'] as const) {
    for (const isHard of [false, true]) {
      const rules = buildRuleset([sticky], { ...settingsOf('IPv4'), affinity: { form, isHard } })
      await lab.install('IPv4', rules.ruleset(), rules.sets())
      const first = await lab.probe('client', [probe])
      const lists = [...rules.ruleset().nat.keys()].filter((name) => name.startsWith('PLAT-SEP-'))
      await age(lab.node, form, lists, client)
      const before = await readMemory(lab.node, form, lists)
      await lab.forgetConnections()
      assert.deepEqual(await lab.probe('client', [probe]), first, `${form}: the client comes back`)
      const after = await readMemory(lab.node, form, lists)
      if (isHard) assert.ok(isNotNewer(after, before), `${form}, hard: ${before} then ${after}`)
      else assert.ok(!isNotNewer(after, before), `${form}: ${before} then ${after}`)
    }
  }
}

/** A set lists the seconds left: this halves them, so that the test need not wait. */
async function age(node: TestNetns, form: 'recent' | 'ipset', lists: readonly string[], client: string): Promise<void> {
  if (form === 'recent') return
  for (const list of lists) {
    const isIn = await node.exec('ipset', 'test', list, client).then(
      () => true,
      () => false,
    )
    if (isIn) await node.exec('ipset', '-exist', 'add', list, client, 'timeout', '300')
  }
}

/** What the kernel knows of the one client: the times at which it came, or the seconds until it is forgotten. */
async function readMemory(node: TestNetns, form: 'recent' | 'ipset', lists: readonly string[]): Promise<string> {
  const files = lists.map((list) => `/proc/net/xt_recent/${list}`)
  const text = form === 'recent' ? await node.exec('cat', ...files) : await node.exec('ipset', 'save')
  return form === 'recent' ? (/oldest_pkt: .*/.exec(text)?.[0] ?? '') : (/^add .* timeout (\d+)/m.exec(text)?.[1] ?? '')
}

function isNotNewer(after: string, before: string): boolean {
  return after !== '' && (after === before || Number(after) < Number(before))
}

/** A ruleset is a live view. */
function copyOf({ nat, filter }: Ruleset): Ruleset {
  return { nat: new Map(nat), filter: new Map(filter) }
}
