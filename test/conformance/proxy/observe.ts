import { type PacketLab, places, type Sender } from '../../kernel/netfilter/packet-lab.ts'
import type { Probe } from '../../kernel/netfilter/probe.program.ts'
import { boundService, cases, families, nodePortOf } from './cluster.ts'

/** A connection that is tried again and again, and what it is called in reports. */
interface Flow {
  readonly name: string
  readonly sender: Sender
  readonly probe: Omit<Probe, 'patienceMs'>
}

/** By the flow's name: what was seen of it, sorted: who answered and for whom it took the sender, `refused` or `silence`. */
export type Observed = Readonly<Record<string, readonly string[]>>

/** Of two endpoints one stays unseen in so many tries once in 130 million. */
const tries = 28
const triesAtOnce = 7

/** Every Service by each of its ways from each place, and an endpoint that asks for itself. */
export const flows: readonly Flow[] = families.flatMap((family) => {
  const place = places[family]
  const sources = [
    ['pod', place.pod],
    ['client', place.client],
    ['client', place.otherClient],
    ['node', place.node],
  ] as const
  return cases.flatMap(({ title, protocol = 'TCP', sourceRanges }, index) => {
    const n = index + 1
    const targets: readonly (readonly [way: string, destination: string, port: number])[] = [
      ['cluster IP', place.clusterIp(n + 100), 80],
      ['balancer', place.vip(n), 80],
      ['external IP', place.external(n), 80],
      ['node port', place.node, nodePortOf(n)],
      ...(n === 1 ? ([['node port of another address', place.nodeToClient, nodePortOf(n)]] as const) : []),
      ...(n === 1 ? ([['another port of the cluster IP', place.clusterIp(n + 100), 81]] as const) : []),
      ...(n === boundService ? ([['another port of the balancer', place.vip(n), 81]] as const) : []),
    ]
    const flow = (sender: Sender, source: string, [way, destination, port]: (typeof targets)[number]): Flow => ({
      name: `${family}, ${title}: ${sender} ${source} to ${way}`,
      sender,
      probe: { source, destination, port, protocol },
    })
    const ways = sources
      .filter(([, source]) => source !== place.otherClient || sourceRanges !== undefined)
      .flatMap(([sender, source]) => targets.map((target) => flow(sender, source, target)))
    const toItself = flow('endpoint', place.local(1), ['cluster IP', place.clusterIp(n + 100), 80])
    const asVip = flow('node', place.vip(n), ['balancer', place.vip(n), 80])
    return [...ways, ...(title === 'on the node itself' ? [toItself, asVip] : [])]
  })
})

/** Waits for an answer so long where `expected` has one, or nothing is known. */
export async function observe(lab: PacketLab, expected?: Observed): Promise<Observed> {
  const seen = new Map(flows.map((flow) => [flow, new Set<string>()]))
  for (let tried = 0; tried < tries; tried += triesAtOnce) {
    const open = flows.filter((flow) => tried === 0 || isUndecided(seen.get(flow)))
    await askAll(lab, open, seen, tried === 0 ? 1 : triesAtOnce, (flow) => patienceFor(expected?.[flow.name]))
  }
  return Object.fromEntries([...seen].map(([flow, answers]) => [flow.name, [...answers].sort()]))
}

/** One endpoint has answered, and another may. */
function isUndecided(answers: ReadonlySet<string> = new Set()): boolean {
  return answers.size === 1 && [...answers].some((answer) => answer.includes('seen from'))
}

/** Two connection attempts fit into it that the kernel repeats by itself. */
function patienceFor(expected: readonly string[] | undefined): number {
  if (expected === undefined) return 4000
  return expected.includes('silence') ? 250 : 30_000
}

async function askAll(
  lab: PacketLab,
  open: readonly Flow[],
  seen: ReadonlyMap<Flow, Set<string>>,
  times: number,
  patience: (flow: Flow) => number,
): Promise<void> {
  const senders: readonly Sender[] = ['pod', 'client', 'endpoint', 'node']
  await Promise.all(
    senders.map(async (sender) => {
      const asked = open
        .filter((flow) => flow.sender === sender)
        .flatMap((flow) => Array.from({ length: times }, () => flow))
      const answers = await lab.probe(
        sender,
        asked.map((flow) => ({ ...flow.probe, patienceMs: patience(flow) })),
      )
      for (const [index, flow] of asked.entries()) seen.get(flow)?.add(answers[index] ?? 'nothing')
    }),
  )
}
