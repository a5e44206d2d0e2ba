import { type IpFamily, ipFamily } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyPod, PolicyPort } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import type { PolicyEvaluator } from './evaluate.ts'
import type { Direction, Flow, FlowEnd } from './verdict.ts'

/** Ports that a flow may have, both ends included; 0 for `other`, the protocols without ports. */
export interface PortSpan {
  readonly protocol: Flow['protocol']
  readonly first: number
  readonly last: number
}

/** The destination ports that one end may reach at the other: every protocol, nothing, or the spans, sorted and not adjacent. */
export type PortSet = 'all' | 'none' | readonly PortSpan[]

/** The ports that one end reaches at the other; `family` where the two families differ. */
export interface Reach {
  readonly family?: IpFamily
  readonly ports: PortSet
}

const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']
const lastPort = 65_535
const families: readonly IpFamily[] = ['IPv4', 'IPv6']

/** Judges every port: the evaluator is asked once between any two bounds that the policies of both ends set. */
export function allowedPorts(evaluator: PolicyEvaluator, source: FlowEnd, destination: FlowEnd): PortSet {
  const ask = (protocol: Flow['protocol'], port: number) => evaluator.allows({ source, destination, protocol, port })
  // Only rules without ports allow other protocols, and such rules allow every port.
  if (ask('other', 0)) return 'all'
  const ports = portsBetween(evaluator, source.pod, destination.pod)
  const spans = protocols.flatMap((protocol) => {
    const starts = startsOf(ports, protocol, destination.pod)
    const asked = starts.map((first, index) => ({ protocol, first, last: (starts[index + 1] ?? lastPort + 1) - 1 }))
    return joinSpans(asked.filter(({ first }) => ask(protocol, first)))
  })
  return spans.length === 0 ? 'none' : spans
}

/** Asks which ports one pod reaches at another, in each family that both have. */
export function reachOf(evaluator: PolicyEvaluator, source: PolicyPod, destination: PolicyPod): readonly Reach[] {
  const isPending = source.ips.length === 0 || destination.ips.length === 0
  if (isPending) return [{ ports: allowedPorts(evaluator, { pod: source }, { pod: destination }) }]
  const found = families.flatMap((family) => {
    const [from, to] = [addressOf(source, family), addressOf(destination, family)]
    if (from === undefined || to === undefined) return []
    return [
      { family, ports: allowedPorts(evaluator, { pod: source, address: from }, { pod: destination, address: to }) },
    ]
  })
  return found.length === 0 ? [{ ports: 'none' }] : mergeFamilies(found)
}

/** Leaves the family out where all are equal. */
function mergeFamilies(reach: readonly Required<Reach>[]): readonly Reach[] {
  const [first, ...others] = reach
  const isOne = first !== undefined && others.every(({ ports }) => portsKey(ports) === portsKey(first.ports))
  return isOne ? [{ ports: first.ports }] : reach
}

/** Equal texts for equal sets of ports. */
function portsKey(ports: PortSet): string {
  if (typeof ports === 'string') return ports
  return ports.map(({ protocol, first, last }) => `${protocol}:${first}-${last}`).join()
}

export function reachKey(reach: readonly Reach[]): string {
  return reach.map(({ family = '', ports }) => `${family} ${portsKey(ports)}`).join(';')
}

function addressOf({ ips }: PolicyPod, family: IpFamily) {
  return ips.find((ip) => ipFamily(ip) === family)
}

function portsBetween(evaluator: PolicyEvaluator, source: PolicyPod | undefined, destination: PolicyPod | undefined) {
  const of = (pod: PolicyPod | undefined, direction: Direction) =>
    pod === undefined ? [] : evaluator.isolatingPolicies(pod, direction).flatMap((policy) => portsOf(policy, direction))
  return [...of(source, 'egress'), ...of(destination, 'ingress')]
}

function portsOf(policy: NetworkPolicy, direction: Direction): readonly PolicyPort[] {
  return (policy[direction] ?? []).flatMap(({ ports }) => ports ?? [])
}

/** The ports at which an answer may change, sorted, from 1. */
function startsOf(ports: readonly PolicyPort[], protocol: Protocol, target: PolicyPod | undefined): readonly number[] {
  const bounds = ports
    .filter((port) => port.protocol === protocol)
    .flatMap((port) => {
      if (port.kind === 'protocol') return []
      if (port.kind === 'range') return [port.first, port.last + 1]
      const named = target?.ports.filter((each) => each.name === port.name && each.protocol === protocol) ?? []
      return named.flatMap((each) => [each.port, each.port + 1])
    })
  return [...new Set([1, ...bounds])].filter((port) => port <= lastPort).sort((a, b) => a - b)
}

function joinSpans(spans: readonly PortSpan[]): readonly PortSpan[] {
  const joined: PortSpan[] = []
  for (const span of spans) {
    const before = joined.at(-1)
    if (before !== undefined && before.last + 1 === span.first)
      joined[joined.length - 1] = { ...before, last: span.last }
    else joined.push(span)
  }
  return joined
}
