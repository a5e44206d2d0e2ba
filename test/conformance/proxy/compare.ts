import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { lackOfKubeProxy } from '../../helpers/kube-proxy.ts'
import { skipReason } from '../../helpers/netns.ts'
import { type ProxyMode, type Run, settingsOf } from './settings.ts'

const answers = z.record(z.string(), z.unknown())
const proxySchema = z.object({
  packets: z.record(z.string(), z.array(z.string())),
  health: answers,
  leaving: answers,
  metrics: z.array(z.string()),
})
const seenSchema = z.object({
  theirs: proxySchema.nullable(),
  ours: z.object({ iptables: proxySchema.nullable(), nftables: proxySchema }),
})
type Seen = z.infer<typeof proxySchema>

/** Where we answer otherwise on purpose; each says why in src/node/proxy/README.md. */
interface IntendedDifference {
  readonly why: string
  readonly applies: (flow: string) => boolean
  /** Each answer that kube-proxy's proxy lets come about, and each of ours. */
  readonly theirs: RegExp
  readonly ours: RegExp
}

const ofAnyMode: readonly IntendedDifference[] = [
  {
    why: 'what this node itself sends to an external address without endpoints is refused, too, instead of leaving untranslated',
    applies: (flow) => /: node \S+ to (balancer|external IP).* \(not served\)$/.test(flow),
    theirs: /./,
    ours: /^(refused|none)$/,
  },
]

/** Of one packet that arrives untranslated: there is no program that answers datagrams. */
const untranslated = /^sink |^untranslated |^refused$/

const intendedBeside: Readonly<Record<ProxyMode, readonly IntendedDifference[]>> = {
  iptables: ofAnyMode,
  nftables: [
    {
      why: 'a port that a cluster IP does not have is left alone, as in the mode iptables',
      applies: (flow) => / to another port of the cluster IP$/.test(flow),
      theirs: /^(refused|silence|none)$/,
      ours: untranslated,
    },
    {
      why: 'an address in the network of Services that no Service here has is left alone, as in the mode iptables',
      applies: (flow) => / to cluster IP \(of no Service here\)/.test(flow),
      theirs: /^(silence|none)$/,
      ours: untranslated,
    },
    {
      why: 'without endpoints a client outside the source ranges is refused, as in the mode iptables',
      applies: (flow) => /"sourceRanges".* to balancer.* \(not served\)$/.test(flow),
      theirs: /^silence$/,
      ours: /^refused$/,
    },
  ],
}

/** Whom a client sticks to is chance; that it does is not, nor whether its address is kept. */
const isSticky = (flow: string) => /, affinity: |"ClientIP"/.test(flow)
function howSeen(flow: string, answers: readonly string[] = []): readonly string[] {
  const source = / (\S+) to /.exec(flow)?.[1]
  return answers.map((answer) => {
    const seen = / seen from (\S+)$/.exec(answer)?.[1]
    return seen === undefined ? answer : `address ${seen === source ? 'kept' : 'replaced'}`
  })
}

/**
 * Tests that kube-proxy and our agent make the same of one cluster on one node, by settings of settings.ts: of the cluster with a Service for each case,
 * or of a random one. Without kube-proxy our modes are compared with each other.
 */
export function testBesideKubeProxy(run: Run): void {
  const { settings, mode: theirMode, random } = run
  const cluster = random === undefined ? '' : `, random cluster ${random.seed}`
  const skip = settingsOf(settings).ofOthers === undefined ? lackOfKubeProxy() : 'kube-proxy answers them otherwise'
  describe(`on one node for one API server (${settings}${cluster}, kube-proxy in mode ${theirMode})`, {
    skip: skipReason('iptables', 'ip6tables', 'conntrack', 'ipset', 'nft') || (theirMode === 'nftables' && skip),
  }, () => {
    let seen: z.infer<typeof seenSchema>

    before(async () => {
      const program = path.join(import.meta.dirname, 'beside-kube-proxy.program.ts')
      const signal = AbortSignal.timeout(300_000)
      const { exitCode, stdout } = await runIsolated(program, [JSON.stringify(run)], { signal, stdout: 'pipe' })
      assert.equal(exitCode, 0, stdout)
      seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    })

    test('many packets are answered', () => {
      const answers = Object.values(seen.ours.nftables.packets).flat()
      assert.ok(answers.filter((answer) => answer.includes('seen from')).length > answers.length / 4)
    })

    if (random === undefined)
      test('associations of SCTP reach both endpoints, where no policy of others drops what pods send', () => {
        const found = Object.entries(seen.ours.nftables.packets).filter(([flow]) =>
          /, SCTP: pod \S+ to cluster IP$/.test(flow),
        )
        assert.equal(found.length, 2)
        // Without a pod network of its own to accept, the proxy leaves connections of pods to Docker's policy, which drops them.
        const isDropped = settings === 'beside Docker'
        const udp = (flow: string) => seen.ours.nftables.packets[flow.replace('SCTP', 'UDP')] ?? []
        for (const [flow, answers] of found)
          assert.ok(
            isDropped
              ? answers.join() === 'none' && udp(flow).join() === 'silence'
              : answers.length === 2 && answers.every((answer) => answer.startsWith('endpoint ')),
            `${flow}: ${answers.join()}, UDP ${udp(flow).join()}`,
          )
      })

    const inMode = (mode: ProxyMode) => seen.ours[mode] ?? assert.fail()
    if (theirMode === 'iptables')
      describe('the mode nftables beside the mode iptables', () =>
        testSame(() => ({ theirs: inMode('iptables'), ours: inMode('nftables') }), {
          intended: [],
          mustOccur: [],
          missing: (metric) => /iptables/.test(metric),
        }))
    for (const mode of theirMode === 'iptables' ? (['iptables', 'nftables'] as const) : (['nftables'] as const))
      describe(`the mode ${mode} beside kube-proxy`, { skip }, () =>
        testSame(() => ({ theirs: seen.theirs ?? assert.fail(), ours: inMode(mode) }), {
          intended: intendedBeside[theirMode],
          mustOccur: random === undefined && theirMode === 'iptables' ? ofAnyMode : [],
          missing: (metric) => missingMetrics[theirMode === 'nftables' ? 'both' : mode].test(metric),
        }),
      )
  })
}

/** There are no node ports on loopback, no rules of iptables in the mode nftables, and no clean-up that fails later than its sync. */
const missingMetrics = { iptables: /localhost_nodeports/, nftables: /iptables/, both: /_nftables_/ } as const

interface Pair {
  readonly theirs: Seen
  readonly ours: Seen
}

interface Differences {
  readonly intended: readonly IntendedDifference[]
  /** Those that this cluster shows. */
  readonly mustOccur: readonly IntendedDifference[]
  /** Metrics that we do not have: there are no node ports on loopback, and no rules of iptables in the mode nftables. */
  readonly missing: (metric: string) => boolean
}

function testSame(pair: () => Pair, differences: Differences): void {
  test('the same packets meet the same verdict, reach the same endpoints and show them the same source', () => {
    const { theirs, ours } = pair()
    assert.deepEqual(Object.keys(ours.packets), Object.keys(theirs.packets))
    const different = Object.entries(theirs.packets).filter(([flow, answer]) => {
      const own = ours.packets[flow]
      const rule = differences.intended.find(({ applies, theirs: answers }) => applies(flow) && areAll(answers, answer))
      if (rule !== undefined) return !areAll(rule.ours, own)
      if (isSticky(flow)) return !isEqual(howSeen(flow, own), howSeen(flow, answer)) || answer.length !== 1
      return !isEqual(own, answer)
    })
    assert.deepEqual(
      different.map(([flow, answer]) => ({ flow, theirs: answer, ours: ours.packets[flow] })),
      [],
    )
    for (const { why, applies } of differences.mustOccur)
      assert.ok(
        Object.entries(theirs.packets).some(([flow, found]) => applies(flow) && !isEqual(ours.packets[flow], found)),
        why,
      )
  })

  test('load balancers receive the same, also for a node that is about to leave', () => {
    const { theirs, ours } = pair()
    assert.deepEqual(ours.health, theirs.health)
    assert.deepEqual(ours.leaving, theirs.leaving)
  })

  test('each metric is there with its labels; where kube-proxy has none we tell the families apart', () => {
    const { theirs, ours } = pair()
    const withoutFamily = (metric: string) => metric.replace(/,?ip_family/, '')
    const own = new Set([...ours.metrics, ...ours.metrics.map(withoutFamily)])
    const missing = theirs.metrics.filter((metric) => !own.has(metric) && !differences.missing(metric))
    assert.deepEqual(missing, [])
  })
}

function isEqual(some: readonly string[] | undefined, others: readonly string[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}

function areAll(wanted: RegExp, answers: readonly string[] | undefined): boolean {
  return answers?.every((answer) => wanted.test(answer)) === true
}
