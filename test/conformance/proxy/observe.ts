import { type PacketLab, places, type Sender } from '../../kernel/netfilter/packet-lab.ts'
import type { Probe } from '../../kernel/netfilter/probe.program.ts'
import { boundService, type Case, type EndpointWish, families, nodePortOf, type PortWish, portsOf } from './cluster.ts'
import { probeSctp } from './probe-sctp.ts'

/** A connection that is tried again and again, and what it is called in reports. */
interface Flow {
  readonly name: string
  readonly sender: Sender
  readonly probe: Omit<Probe, 'patienceMs' | 'protocol'> & { readonly protocol: PortWish['protocol'] }
  /** So many endpoints may answer. */
  readonly endpoints: number
}

/** By the flow's name: what was seen of it, sorted: who answered and for whom it took the sender, `refused` or `silence`. */
export type Observed = Readonly<Record<string, readonly string[]>>

/** Of two endpoints one stays unseen in so many tries once in 130 million; of three in twice as many once in two billion. */
const triesFor = (endpoints: number): number => (endpoints > 2 ? 56 : 28)
const triesAtOnce = 7

/** Every Service by each of its ways from each place, and an endpoint that asks for itself. */
function flowsTo(cases: readonly Case[]): readonly Flow[] {
  return families.flatMap((family) => cases.flatMap((wish, index) => flowsToCase(family, wish, index + 1)))
}

type Target = readonly [way: string, destination: string, port: number, protocol?: PortWish['protocol']]

function flowsToCase(family: (typeof families)[number], wish: Case, n: number): readonly Flow[] {
  const place = places[family]
  const { title, sourceRanges, endpoints } = wish
  const [first] = portsOf(wish)
  const flow = (sender: Sender, source: string, [way, destination, port, protocol]: Target): Flow => ({
    name: `${family}, ${title}: ${sender} ${source} to ${way}`,
    sender,
    probe: { source, destination, port, protocol: protocol ?? first?.protocol ?? 'TCP' },
    endpoints: endpoints.length,
  })
  const sources = [
    ['pod', place.pod],
    ['client', place.client],
    ...(sourceRanges === undefined ? [] : [['client', place.otherClient] as const]),
    ['node', place.node],
  ] as const
  const targets: readonly Target[] = [
    ...portsOf(wish).flatMap((port, index) => waysOf(family, wish, n, port, index)),
    ...(n === 1 ? ([['node port of another address', place.nodeToClient, nodePortOf(n)]] as const) : []),
    ...(n === 1 ? ([['another port of the cluster IP', place.clusterIp(n + 100), 82]] as const) : []),
    ...(n === boundService ? ([['another port of the balancer', place.vip(n), 82]] as const) : []),
  ]
  const [toItself] = targets.map((target) => flow('endpoint', place.local(1), target))
  const asVip = flow('node', place.vip(n), ['balancer', place.vip(n), 80])
  const isAlone = endpoints.length === 1 && endpoints[0]?.at === 'L1'
  return [
    ...sources.flatMap(([sender, source]) => targets.map((target) => flow(sender, source, target))),
    ...(isAlone && toItself ? [toItself] : []),
    ...(n === boundService ? [asVip] : []),
  ]
}

/** The addresses of one port, each marked where it exists and has no endpoints. */
function waysOf(
  family: (typeof families)[number],
  wish: Case,
  n: number,
  { name, port, protocol, isServed }: PortWish,
  index: number,
): readonly Target[] {
  const place = places[family]
  const { type = 'LoadBalancer', ipMode = 'VIP' } = wish
  const isOurs = wish.labels === undefined && (wish.families ?? families).includes(family)
  const isRefused = isOurs && !(isServed && wish.endpoints.some(serves))
  const way = (kind: string, isThere: boolean) =>
    `${kind}${index === 0 ? '' : ` at ${name}`}${isRefused && isThere ? ' (not served)' : ''}`
  return [
    [way(`cluster IP${isOurs ? '' : ' (of no Service here)'}`, true), place.clusterIp(n + 100), port, protocol],
    [way('balancer', type === 'LoadBalancer' && ipMode === 'VIP'), place.vip(n), port, protocol],
    [way('external IP', true), place.external(n), port, protocol],
    [way('node port', type !== 'ClusterIP'), place.node, nodePortOf(n, index), protocol],
  ]
}

function serves({ conditions }: EndpointWish): boolean {
  return conditions === undefined || conditions.ready || (conditions.serving && conditions.terminating)
}

/** Waits for an answer so long where `expected` has one, or nothing is known. */
export async function observe(lab: PacketLab, cases: readonly Case[], expected?: Observed): Promise<Observed> {
  const flows = flowsTo(cases)
  const seen = new Map(flows.map((flow) => [flow, new Set<string>()]))
  for (let tried = 0; tried < triesFor(3); tried += triesAtOnce) {
    const open = flows.filter(
      (flow) => tried === 0 || (tried < triesFor(flow.endpoints) && isUndecided(flow, seen.get(flow))),
    )
    await askAll(lab, open, seen, tried === 0 ? 1 : triesAtOnce, (flow) => patienceFor(expected?.[flow.name]))
  }
  return Object.fromEntries([...seen].map(([flow, answers]) => [flow.name, [...answers].sort()]))
}

/** An endpoint has answered, and another may. */
function isUndecided({ endpoints }: Flow, answers: ReadonlySet<string> = new Set()): boolean {
  return answers.size < endpoints && [...answers].some((answer) => answer.includes('seen from'))
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
      const [associations, others] = [asked.filter(isSctp), asked.filter((flow) => !isSctp(flow))]
      const answers = await lab.probe(
        sender,
        others.map((flow) => ({ ...flow.probe, protocol: isUdp(flow) ? 'UDP' : 'TCP', patienceMs: patience(flow) })),
      )
      const begun = await probeSctp(
        lab,
        sender,
        associations.map(({ probe }) => probe),
      )
      for (const [index, flow] of others.entries()) seen.get(flow)?.add(answers[index] ?? 'nothing')
      for (const [index, flow] of associations.entries()) seen.get(flow)?.add(begun[index] ?? 'nothing')
    }),
  )
}

const isSctp = ({ probe }: Flow) => probe.protocol === 'SCTP'
const isUdp = ({ probe }: Flow) => probe.protocol === 'UDP'
