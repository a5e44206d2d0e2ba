import { type Finding, interfaceTowards, type Run, runProgram } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import { type BaseChain, evaluateBaseChain, type ForeignVerdict } from '../../netfilter/foreign-path.ts'
import { chains } from '../../netfilter/names.ts'
import { describeNeighbour, type Neighbour, neighboursIn, ownerOf, remedyOf } from '../../netfilter/neighbours.ts'
import type { TracedWorld } from '../../netfilter/trace/types.ts'
import { readBaseChains } from './packet-path.ts'
import { outside, type PodNetworks, podJourneys } from './pod-journeys.ts'

interface Question {
  readonly networks: PodNetworks
  /** An agent on this node writes the rules that accept pods' traffic. */
  readonly willAccept: boolean
}

/**
 * Names the programs that keep rules on this node, and what their rules and policies refuse of pods' traffic, with the command that lets it pass.
 * Changes nothing.
 */
export async function probeForwarding(question: Question, run: Run = runProgram): Promise<readonly Finding[]> {
  const families: readonly IpFamily[] = ['IPv4', 'IPv6']
  const found = await Promise.all(families.map((family) => readBaseChains(run, family)))
  const uplinks = await Promise.all(families.map((family) => interfaceTowards(outside[family], run)))
  const findings = [
    ...describeNeighbours(found.flat()),
    ...(uplinks[0] === undefined ? [withoutRoute] : []),
    ...families.flatMap((family, index) => judgeFamily(family, found[index] ?? [], question, uplinks[index])),
  ]
  return findings.length > 0 ? findings : [{ level: 'ok', what: 'no rules of other programs refuse what pods send' }]
}

/** The kernel looks for a route before it shows a packet of a program here to any rule. */
const withoutRoute: Finding = {
  level: 'warn',
  what: 'this machine has no IPv4 route to outside: to its own programs cluster IPs are unreachable (pods are not affected), and it may take the address of a bridge of pods for its own',
  remedy:
    'ip route add default via ROUTER, or without one: ip route add SERVICE-NETWORK dev LINK (10.96.0.0/12 where nothing else is chosen), and --node-ip',
}

/** Judges the base chains that packets of a family meet. `uplink`: the link to other nodes and outside, where it is known. */
function judgeFamily(
  family: IpFamily,
  met: readonly BaseChain[],
  question: Question,
  uplink?: string,
): readonly Finding[] {
  const refusals = new Map<string, Refusal>()
  const journeys = podJourneys(family, question.networks, uplink)
  for (const { what, hook, packet } of journeys)
    for (const base of met.filter((each) => each.hook === hook)) {
      if (hook === 'FORWARD' && acceptsPods(base, met, question.willAccept)) continue
      const verdict = evaluateBaseChain(base, packet, contextOf(question.networks), false)
      if (verdict.verdict === 'accept') continue
      const known = refusals.get(`${verdict.where} ${verdict.by}`)?.what ?? []
      refusals.set(`${verdict.where} ${verdict.by}`, { base, verdict, what: [...known, what] })
    }
  const policies = journeys.length > 0 ? met.filter(({ hook, policy }) => hook === 'FORWARD' && policy === 'drop') : []
  const passing = policies.filter((base) => ![...refusals.values()].some((refusal) => refusal.base === base))
  return [
    ...passing.map((base) => describePassing(base)),
    ...[...refusals.values()].map((refusal) => describeRefusal(refusal, question)),
  ]
}

interface Refusal {
  readonly base: BaseChain
  readonly verdict: ForeignVerdict
  readonly what: readonly string[]
}

function describeNeighbours(found: readonly BaseChain[]): readonly Finding[] {
  const places = new Map<Neighbour, string>()
  for (const base of found)
    for (const neighbour of neighboursIn(base)) if (!places.has(neighbour)) places.set(neighbour, base.where)
  return [...places].map(([neighbour, where]) => {
    const what = `${neighbour} keeps rules on this node (${where}): it ${describeNeighbour(neighbour)}`
    return { level: 'ok', what }
  })
}

/** Our rules stand at the top of the chains of one program, so that they decide there before others do. */
function acceptsPods(base: BaseChain, met: readonly BaseChain[], willAccept: boolean): boolean {
  if ((base.chains.get(chains.podForward)?.length ?? 0) > 0) return true
  const isIptables = base.where.startsWith('ip')
  return willAccept && isIptables && (base.isOurs || !met.some(({ isOurs }) => isOurs))
}

function describePassing({ where, chains: others }: BaseChain): Finding {
  const isAccepted = (others.get(chains.podForward)?.length ?? 0) > 0
  const why = isAccepted
    ? `${chains.podForward} accepts pods' traffic`
    : where.startsWith('ip')
      ? "an agent accepts pods' traffic there"
      : "its rules accept pods' traffic"
  return { level: 'ok', what: `${where}: the policy is DROP, and ${why}` }
}

function describeRefusal({ base, verdict, what }: Refusal, { networks }: Question): Finding {
  const { where, hook } = base
  const owner = ownerOf(base, verdict.chain)
  const done = verdict.verdict === 'drop' ? 'dropped without an answer' : 'refused'
  const who = owner === undefined ? '' : ` It is a rule of ${owner}.`
  const remedy = owner === undefined ? remedyOfUnknown(where, hook) : remedyOf(owner, hook, networks.podCidrs)
  const doubt = verdict.unclear.length === 0 ? '' : ` A rule before it may decide otherwise: "${verdict.unclear[0]}".`
  return { level: 'warn', what: `${where}: ${what.join(', ')} are ${done} by ${verdict.by}.${who}${doubt}`, remedy }
}

function remedyOfUnknown(where: string, hook: BaseChain['hook']): string {
  if (hook !== 'FORWARD') return 'accept the networks of pods in that chain'
  return where.startsWith('ip')
    ? 'accept the networks of pods there, or start the agent with --accept-pod-traffic always where its rules stand in these tables'
    : 'accept the networks of pods in that chain: each base chain decides by itself, and what ours accept is dropped there all the same'
}

function contextOf({ dnsAddresses }: PodNetworks): TracedWorld {
  return {
    isLocalAddress: (address) => dnsAddresses.includes(address),
  }
}
