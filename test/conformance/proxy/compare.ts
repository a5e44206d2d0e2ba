import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { lackOfKubeProxy } from '../../helpers/kube-proxy.ts'
import { skipReason } from '../../helpers/netns.ts'
import { settingsOf } from './settings.ts'

const answers = z.record(z.string(), z.unknown())
const proxySchema = z.object({
  packets: z.record(z.string(), z.array(z.string())),
  health: answers,
  leaving: answers,
  metrics: z.array(z.string()),
})
const seenSchema = z.object({
  theirs: proxySchema.nullable(),
  ours: z.object({ iptables: proxySchema, nftables: proxySchema }),
})
type Seen = z.infer<typeof proxySchema>

/** Where we answer otherwise on purpose; each says why in src/node/proxy/README.md and must occur. */
const intended: readonly {
  readonly why: string
  readonly applies: (flow: string) => boolean
  readonly ours: string
}[] = [
  {
    why: 'what this node itself sends to an external address without endpoints is refused, too, instead of leaving untranslated',
    applies: (flow) => /: node \S+ to (balancer|external IP).* \(not served\)$/.test(flow),
    ours: 'refused',
  },
]

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
 * Tests that kube-proxy in iptables mode and our agent in both its modes make the same of one cluster on one node, by settings of settings.ts: of the
 * one with a Service for each case, or of a random one. Without kube-proxy the modes are compared with each other.
 */
export function testBesideKubeProxy(settings: string, seed?: number): void {
  const which = seed === undefined ? settings : `${settings}, random cluster ${seed}`
  describe(`on one node for one API server (${which})`, {
    skip: skipReason('iptables', 'ip6tables', 'conntrack', 'ipset', 'nft'),
  }, () => {
    let seen: z.infer<typeof seenSchema>

    before(async () => {
      const program = path.join(import.meta.dirname, 'beside-kube-proxy.program.ts')
      const signal = AbortSignal.timeout(300_000)
      const { exitCode, stdout } = await runIsolated(
        program,
        [settings, ...(seed === undefined ? [] : [String(seed)])],
        { signal, stdout: 'pipe' },
      )
      assert.equal(exitCode, 0, stdout)
      seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    })

    describe('the mode nftables beside the mode iptables', () =>
      testSame(() => ({ theirs: seen.ours.iptables, ours: seen.ours.nftables }), {
        intended: [],
        missing: (metric) => /iptables/.test(metric),
      }))

    test('many packets are answered', () => {
      const answers = Object.values(seen.ours.nftables.packets).flat()
      assert.ok(answers.filter((answer) => answer.includes('seen from')).length > answers.length / 4)
    })

    const skip = settingsOf(settings).ofOthers === undefined ? lackOfKubeProxy() : 'kube-proxy answers them otherwise'
    for (const mode of ['iptables', 'nftables'] as const)
      describe(`the mode ${mode} beside kube-proxy in iptables mode`, { skip }, () =>
        testSame(() => ({ theirs: seen.theirs ?? assert.fail(), ours: seen.ours[mode] }), {
          intended: seed === undefined ? intended : [],
          missing: (metric) => (mode === 'nftables' ? /iptables/ : /localhost_nodeports/).test(metric),
        }),
      )
  })
}

interface Pair {
  readonly theirs: Seen
  readonly ours: Seen
}

interface Differences {
  /** Each must occur. */
  readonly intended: typeof intended
  /** Metrics that we do not have: there are no node ports on loopback, and no rules of iptables in the mode nftables. */
  readonly missing: (metric: string) => boolean
}

function testSame(pair: () => Pair, differences: Differences): void {
  test('the same packets meet the same verdict, reach the same endpoints and show them the same source', () => {
    const { theirs, ours } = pair()
    assert.deepEqual(Object.keys(ours.packets), Object.keys(theirs.packets))
    const different = Object.entries(theirs.packets).filter(([flow, answer]) => {
      const rule = differences.intended.find(({ applies }) => applies(flow))
      if (isSticky(flow) && rule === undefined)
        return !isEqual(howSeen(flow, ours.packets[flow]), howSeen(flow, answer)) || answer.length !== 1
      return !isEqual(ours.packets[flow], rule ? [rule.ours] : answer)
    })
    assert.deepEqual(
      different.map(([flow, answer]) => ({ flow, theirs: answer, ours: ours.packets[flow] })),
      [],
    )
    for (const { why, applies, ours: answer } of differences.intended)
      assert.ok(
        Object.entries(theirs.packets).some(([flow, found]) => applies(flow) && !isEqual(found, [answer])),
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
