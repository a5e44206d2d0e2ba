import type { Ip } from '../../model/ip.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import { renderAddressPort, renderRule } from '../../netfilter/render.ts'
import { tracePacket } from '../../netfilter/trace/trace-packet.ts'
import type { TracedPacket, TracedRule, TraceOutcome, TraceWorld } from '../../netfilter/trace/types.ts'

/** What becomes of the first packet of a connection, and why, for people. */
export interface FlowExplanation {
  /** Which way into which Service it takes; empty where it is to no Service. */
  readonly services: readonly string[]
  /** The likeliest first. */
  readonly outcomes: readonly OutcomeExplanation[]
  /** All of it in sentences. */
  readonly lines: readonly string[]
}

export interface OutcomeExplanation {
  readonly probability: number
  readonly verdict: TraceOutcome['verdict']
  /** `10.244.0.7:80` */
  readonly endpoint: string | undefined
  readonly masqueraded: boolean
  /** The rules it matches, `TABLE RULE`, in order. */
  readonly rules: readonly string[]
}

export function explainFlow(packet: TracedPacket, frontends: Iterable<Frontend>, world: TraceWorld): FlowExplanation {
  const services = Array.from(frontends).flatMap((frontend) => describeWay(packet, frontend, world) ?? [])
  const traced = [...tracePacket(packet, world)].sort((a, b) => b.probability - a.probability)
  const target = renderAddressPort(packet.destination, packet.port)
  const head =
    services.length === 0
      ? [`${target}/${packet.protocol} belongs to no Service on this node.`]
      : services.map((service) => `${target}/${packet.protocol} is ${service}.`)
  return {
    services,
    outcomes: traced.map((outcome) => describeOutcome(outcome, packet)),
    lines: [...head, ...traced.flatMap((outcome) => outcomeLines(outcome, packet))],
  }
}

function describeWay(packet: TracedPacket, frontend: Frontend, world: TraceWorld): string | undefined {
  const { servicePort, protocol, port, clusterIp, externalIps, loadBalancerVips, nodePort } = frontend
  if (protocol !== packet.protocol) return undefined
  const isAt = (address: Ip) => address === packet.destination && port === packet.port
  if (isAt(clusterIp)) return `the cluster IP of ${servicePort}`
  if (externalIps.some(isAt)) return `an external IP of ${servicePort}`
  if (loadBalancerVips.some(isAt)) return `a load balancer's address of ${servicePort}`
  const isNodePort = nodePort === packet.port && world.isLocalAddress(packet.destination)
  return isNodePort ? `the node port of ${servicePort}` : undefined
}

function describeOutcome(outcome: TraceOutcome, { destination }: TracedPacket): OutcomeExplanation {
  const { probability, verdict, endpoint, masqueraded, rules } = outcome
  const family = destination.includes(':') ? 'IPv6' : 'IPv4'
  return {
    probability,
    verdict,
    endpoint: endpoint && renderAddressPort(endpoint.address, endpoint.port),
    masqueraded,
    rules: rules.map(({ table, chain, rule }) => `${table} ${renderRule(chain, rule, family)}`),
  }
}

function outcomeLines(outcome: TraceOutcome, packet: TracedPacket): readonly string[] {
  const share = outcome.probability > 0.9999 ? 'It' : `With ${(outcome.probability * 100).toFixed(1)} % it`
  const because = outcome.rules.map(
    (rule) => `    ${placeOf(rule)}${rule.rule.comment ? `: ${rule.rule.comment}` : ''}`,
  )
  return [`${share} ${fateOf(outcome, packet)}`, ...because]
}

function fateOf(outcome: TraceOutcome, packet: TracedPacket): string {
  const { verdict, endpoint, masqueraded, goesTo, rules } = outcome
  const reason = rules.at(-1)?.rule.comment
  if (verdict === 'drop') return `is dropped without an answer${reason ? `: ${reason}` : ''}.`
  if (verdict === 'reject') return `is refused${reason ? `: ${reason}` : ''}.`
  const source = masqueraded ? `, its source replaced by an address of this node` : `, its source ${packet.source} kept`
  if (endpoint) return `is sent to the endpoint ${renderAddressPort(endpoint.address, endpoint.port)}${source}.`
  return `goes on untouched${goesTo === 'this-node' ? ' to this node itself' : ''}${masqueraded ? source : ''}.`
}

function placeOf({ table, chain, position }: TracedRule): string {
  return `${table} ${chain} rule ${position}`
}
