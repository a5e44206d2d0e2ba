import { type IpFamily, ipFamily, ipToBigInt } from '../../model/ip.ts'
import type { PolicyPod } from '../../model/network-policy.ts'
import { type AddressSpan, blocksOf, cutAddresses } from './address-spans.ts'
import type { PolicyEvaluator } from './evaluate.ts'
import type { PodGroup } from './pod-groups.ts'
import { allowedPorts, type Reach, reachKey, reachOf } from './reach.ts'
import type { Direction, FlowEnd } from './verdict.ts'

/** The peers of a group of pods that have one reach. */
export interface Relation {
  /** One for each evaluator. */
  readonly reach: readonly (readonly Reach[])[]
  /** Places in the list of groups. */
  readonly groups: readonly number[]
  /** Addresses that belong to no pod, in order; neighbours are joined. */
  readonly addresses: readonly AddressSpan[]
}

/** The evaluators of one question: one for each state of the policies that is compared. */
export type Evaluators = readonly PolicyEvaluator[]

/**
 * Tells what every group and every other address reaches at a group (`ingress`), or is reached at by it (`egress`). The evaluators must
 * find no pod by address: pods are given to them.
 */
export function relate(
  evaluators: Evaluators,
  subject: PodGroup,
  direction: Direction,
  groups: readonly PodGroup[],
): readonly Relation[] {
  const byPods = groups.flatMap((group, place) => {
    const ends = pairOf(subject, group)
    if (ends === undefined) return []
    const [source, destination] = direction === 'ingress' ? [ends.peer, ends.own] : [ends.own, ends.peer]
    const reach = evaluators.map((evaluator) => reachOf(evaluator, source, destination))
    return [{ reach, groups: [place], addresses: [] }]
  })
  const [pod] = subject.pods
  const byAddress = pod === undefined ? [] : relateAddresses(evaluators, pod, direction)
  return mergeRelations([...byPods, ...byAddress])
}

/** A pod of each group; undefined for a pod and itself. */
function pairOf(subject: PodGroup, group: PodGroup) {
  const [own, second] = subject.pods
  const peer = subject === group ? second : group.pods[0]
  return own === undefined || peer === undefined ? undefined : { own, peer }
}

function relateAddresses(evaluators: Evaluators, pod: PolicyPod, direction: Direction): readonly Relation[] {
  const policies = evaluators.flatMap((evaluator) => evaluator.isolatingPolicies(pod, direction))
  const blocks = blocksOf(policies, direction)
  return familiesOf(pod)
    .flatMap((family) => cutAddresses(blocks, family))
    .map((span) => {
      const outside: FlowEnd = { address: span.first }
      const own: FlowEnd = { pod, address: pod.ips.find((ip) => ipFamily(ip) === span.family) }
      const [source, destination] = direction === 'ingress' ? [outside, own] : [own, outside]
      const reach = evaluators.map((evaluator) => [{ ports: allowedPorts(evaluator, source, destination) }])
      return { reach, groups: [], addresses: [span] }
    })
}

function familiesOf({ ips }: PolicyPod): readonly IpFamily[] {
  return ips.length === 0 ? ['IPv4', 'IPv6'] : [...new Set(ips.map(ipFamily))].sort()
}

function mergeRelations(relations: readonly Relation[]): readonly Relation[] {
  const byReach = Map.groupBy(relations, ({ reach }) => reach.map(reachKey).join('|'))
  return [...byReach.values()].map((equal) => ({
    reach: equal[0]?.reach ?? [],
    groups: equal.flatMap(({ groups }) => groups),
    addresses: joinAddresses(equal.flatMap(({ addresses }) => addresses)),
  }))
}

/** Joins spans that stand beside each other; the list is sorted and cut without gaps. */
function joinAddresses(spans: readonly AddressSpan[]): readonly AddressSpan[] {
  const joined: AddressSpan[] = []
  for (const span of spans) {
    const before = joined.at(-1)
    if (
      before !== undefined &&
      before.family === span.family &&
      ipToBigInt(before.last) + 1n === ipToBigInt(span.first)
    )
      joined[joined.length - 1] = { ...before, last: span.last }
    else joined.push(span)
  }
  return joined
}
