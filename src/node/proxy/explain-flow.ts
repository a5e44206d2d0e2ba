import type { ObjectKey } from '../../model/api-object.ts'
import { type Ip, ipFamily, renderAddressPort } from '../../model/ip.ts'
import type { Service } from '../../model/service.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import { renderRule, renderRuleSpec } from '../../netfilter/render.ts'
import type { TracedPacket, TracedWorld, TraceOutcome } from '../../netfilter/trace/types.ts'
import { whyNoFrontend } from './explain-absence.ts'
import { describeEntry, guessMeaning } from './explain-address.ts'
import { applyForeignChains } from './explain-path.ts'
import type { ServiceExplanation } from './explain-service.ts'
import type { ProxySettings } from './service-plans.ts'

/** The verdict on the first packet of a connection with its reasons, as text for users. */
export interface FlowExplanation {
  /** The address of a Service that the packet is sent to (`the cluster IP of default/web:http`); empty where it is none. */
  readonly services: readonly string[]
  /** The likeliest first. */
  readonly outcomes: readonly OutcomeExplanation[]
  /** The reason for a refusal or drop, or what may have been meant, as far as the Services show it. */
  readonly reasons: readonly string[]
  /** All of it in sentences. */
  readonly lines: readonly string[]
}

interface OutcomeExplanation {
  readonly probability: number
  readonly verdict: TraceOutcome['verdict']
  /** `10.244.0.7:80` */
  readonly endpoint: string | undefined
  /** Where it goes: the endpoint, or where it was sent to. */
  readonly destination: { readonly address: Ip; readonly port: number }
  readonly masqueraded: boolean
  /** The rules it matches, `TABLE RULE`, in order. */
  readonly rules: readonly string[]
  /** In the mode nftables: the elements it finds, `SET KEY : DATA`, in order. */
  readonly elements?: readonly string[]
}

/** The Services of this node, and what is to be said of each. */
export interface ExplainedServices {
  readonly frontends: readonly Frontend[]
  /** All Services of this node, also those without a frontend. */
  readonly all: Iterable<Service>
  readonly settings: Pick<ProxySettings, 'family' | 'nodePortAddresses' | 'localTraffic'>
  /** The reason why the kernel may hold other rules than the traced ones. */
  readonly caveat: string | undefined
  explain(service: ObjectKey): ServiceExplanation | undefined
}

/** The ways that the wanted rules give a packet. */
interface TracedFlow extends TracedWorld {
  readonly outcomes: readonly TraceOutcome[]
}

const maxNamedEndpoints = 5

/** @param others base chains that the packet meets beside ours, as they stand in the kernel now */
export function explainFlow(
  packet: TracedPacket,
  services: ExplainedServices,
  traced: TracedFlow,
  others: readonly BaseChain[] = [],
): FlowExplanation {
  const node = { ...services.settings, isLocalAddress: (ip: typeof packet.source) => traced.isLocalAddress(ip) }
  const met = services.frontends.flatMap((frontend) => {
    const entry = describeEntry(packet, frontend, node)
    return entry === undefined ? [] : [{ frontend, entry }]
  })
  const ways = [...traced.outcomes]
    .sort((a, b) => b.probability - a.probability)
    .map((outcome) => ({ outcome, beside: applyForeignChains(outcome, packet, traced, others) }))
  const target = `${renderAddressPort(packet.destination, packet.port)}/${packet.protocol}`
  const isRefused = ways.some(({ outcome }) => outcome.verdict !== 'accept')
  const reasons =
    met.length === 0
      ? [...guessMeaning(packet, services.frontends, node), ...guessUnserved(packet, services)]
      : met.flatMap(({ frontend }) => explainFrontend(frontend, services, isRefused))
  return {
    services: met.map(({ entry }) => entry),
    outcomes: ways.map(({ outcome, beside }) => ({
      ...describeOutcome(outcome, packet),
      verdict: beside.verdict,
    })),
    reasons,
    lines: [
      ...(met.length === 0 ? [`${target} belongs to no Service on this node.`] : []),
      ...met.map(({ entry }) => `${target} is ${entry}.`),
      ...(met.length > 1
        ? ['The first Service by name that has endpoints gets it; the rules of the others are never reached.']
        : []),
      ...describeInInterface(packet, services.settings),
      ...ways.flatMap(({ outcome, beside }) => [...outcomeLines(outcome, packet), ...beside.lines]),
      ...reasons,
      ...(services.caveat === undefined ? [] : [sentence(`The kernel may hold older rules: ${services.caveat}`)]),
    ],
  }
}

/** The ingress interface, which decides where pods are detected by interface. */
function describeInInterface({ origin, inInterface }: TracedPacket, { localTraffic }: ExplainedServices['settings']) {
  if (localTraffic?.kind !== 'interface' || origin === 'this-node') return []
  return [`It is taken to come in by ${inInterface ?? 'no known interface'}.`]
}

/** Returns the problems of the Service as a whole and, where its packet is refused, what would have admitted it. */
function explainFrontend(frontend: Frontend, services: ExplainedServices, isRefused: boolean): readonly string[] {
  const { servicePort, protocol } = frontend
  const service = servicePort.split(':')[0] ?? servicePort
  const explained = services.explain(service)
  const notes = explained?.notes.map((note) => sentence(`${service}: ${note}`)) ?? []
  if (!isRefused) return notes
  const port = explained?.ports.find((each) => each.servicePort === servicePort && each.protocol === protocol)
  const endpoints = port?.endpoints ?? []
  const more = endpoints.length - maxNamedEndpoints
  return [
    ...notes,
    ...(port?.refusals ?? []).map((refusal) => sentence(`${servicePort}: ${refusal}`)),
    ...endpoints.slice(0, maxNamedEndpoints).map(({ name, where, reason }) => `  ${name}${where}: ${reason}`),
    ...(more > 0 ? [`  and ${more} more: platnet explain service ${service}`] : []),
  ]
}

/** Ends a text with a full stop; messages of the kernel's programs may have one already. */
function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

/** The address may be that of a Service which this family does not serve at all. */
function guessUnserved({ destination }: TracedPacket, { all, settings }: ExplainedServices): readonly string[] {
  return Array.from(all).flatMap((service) => {
    if (service.proxiedVips?.includes(destination) === true)
      return [
        `${destination} is a load balancer's address of ${service.key}, which no node answers: its ipMode is Proxy, and it sends on by itself.`,
      ]
    const why = whyNoFrontend(service, settings.family)
    const addresses = [...service.clusterIps, ...service.externalIps, ...service.loadBalancerVips]
    if (why === undefined || !addresses.includes(destination)) return []
    return [sentence(`${destination} is an address of ${service.key}, which is not served here: ${why}`)]
  })
}

function describeOutcome(outcome: TraceOutcome, { destination, port }: TracedPacket): OutcomeExplanation {
  const { probability, verdict, endpoint, masqueraded, rules, elements } = outcome
  const family = ipFamily(destination)
  return {
    probability,
    verdict,
    endpoint: endpoint && renderAddressPort(endpoint.address, endpoint.port),
    destination: endpoint ?? { address: destination, port },
    masqueraded,
    rules: rules.map(({ table, chain, rule }) => `${table} ${renderRule(chain, rule, family)}`),
    ...(elements && { elements: elements.map(({ set, key, data }) => `${set} ${key}${data && ` : ${data}`}`) }),
  }
}

function outcomeLines(outcome: TraceOutcome, packet: TracedPacket): readonly string[] {
  const share = outcome.probability > 0.9999 ? 'It' : `With ${(outcome.probability * 100).toFixed(1)} % it`
  const family = ipFamily(packet.destination)
  const because = outcome.rules.map(
    ({ table, chain, position, rule }) => `    ${table} ${chain} rule ${position}: ${renderRuleSpec(rule, family)}`,
  )
  const elements = outcome.elements?.map(({ set, key, data }) => `    nftables ${set}: ${key}${data && ` : ${data}`}`)
  return [`${share} ${describeVerdict(outcome, packet)}`, ...(elements ?? []), ...because]
}

function describeVerdict(outcome: TraceOutcome, packet: TracedPacket): string {
  const { verdict, endpoint, masqueraded, goesTo, rules } = outcome
  const reason = rules.at(-1)?.rule.comment
  if (verdict === 'drop') return `is dropped without an answer${reason ? `: ${reason}` : ''}.`
  if (verdict === 'reject') return `is refused${reason ? `: ${reason}` : ''}.`
  const source = masqueraded ? `, its source replaced by an address of this node` : `, its source ${packet.source} kept`
  if (endpoint) return `is sent to the endpoint ${renderAddressPort(endpoint.address, endpoint.port)}${source}.`
  return `goes on untouched${goesTo === 'this-node' ? ' to this node itself' : ''}${masqueraded ? source : ''}.`
}
