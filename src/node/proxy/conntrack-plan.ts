import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Service } from '../../model/service.ts'
import { collectEndpoints } from './plan-endpoints.ts'

/** One port of a Service as conntrack sees it: where clients send, and who may answer them. */
export interface ConntrackFrontend {
  readonly servicePort: string
  readonly protocol: 'udp' | 'tcp'
  readonly addresses: readonly Ip[]
  readonly port: number
  readonly nodePort: number | undefined
  /** `address port` of every endpoint that still answers, those that terminate included. */
  readonly serving: ReadonlySet<string>
}

/** Says which connections to a frontend conntrack should forget. */
export interface StaleRule {
  readonly frontend: ConntrackFrontend
  isStale(flow: FlowEnds): boolean
}

/** The parts of a connection that decide. */
export interface FlowEnds {
  readonly protocol: 'udp' | 'tcp'
  readonly destination: Ip
  readonly destinationPort: number
  readonly replySource: Ip
  readonly replySourcePort: number
}

const protocols = { UDP: 'udp', TCP: 'tcp' } as const

/** The frontends of a Service in one family for UDP, and for TCP with `withTcp`. A Service of another proxy has none: its flows are not ours. */
export function planConntrackFrontends(
  service: Service,
  slices: readonly EndpointSlice[],
  { family, withTcp }: { readonly family: IpFamily; readonly withTcp: boolean },
): readonly ConntrackFrontend[] {
  const all = [...service.clusterIps, ...service.externalIps, ...service.loadBalancerVips]
  const addresses = all.filter((address) => ipFamily(address) === family)
  if (service.headless || service.foreignProxy === true || addresses.length === 0) return []
  return service.ports.flatMap((port) => {
    if (port.protocol === 'SCTP' || (port.protocol === 'TCP' && !withTcp)) return []
    const answering = collectEndpoints(port, slices, family, service.publishNotReadyAddresses).filter(
      ({ endpoint }) => endpoint.ready || endpoint.serving,
    )
    return {
      servicePort: `${service.key}:${port.name}`,
      protocol: protocols[port.protocol],
      addresses,
      port: port.port,
      nodePort: port.nodePort,
      serving: new Set(answering.map(({ endpoint, port: number }) => `${endpoint.address} ${number}`)),
    }
  })
}

/**
 * Plans the entries to delete: connections to removed endpoints; and, if the Service has its first endpoint, a new address or a new
 * port, connections that passed without translation.
 */
export function planStale(
  before: readonly ConntrackFrontend[],
  after: readonly ConntrackFrontend[],
): readonly StaleRule[] {
  return pair(before, after).flatMap(planFrontend)
}

/**
 * Plans the entries to delete where the kernel had rules in between that are not known: connections to any endpoint that does not serve.
 * Without an endpoint, what passes without translation stays.
 */
export function planAfterUnknown(
  before: readonly ConntrackFrontend[],
  after: readonly ConntrackFrontend[],
): readonly StaleRule[] {
  return pair(before, after).map(({ after: now, frontend }) => {
    const serving = now?.serving ?? new Set()
    return { frontend, isStale: (flow) => !serving.has(answererOf(flow)) && (serving.size > 0 || isTranslated(flow)) }
  })
}

interface Pair {
  readonly before: ConntrackFrontend | undefined
  readonly after: ConntrackFrontend | undefined
  /** The newer one with the addresses of both. */
  readonly frontend: ConntrackFrontend
}

function pair(before: readonly ConntrackFrontend[], after: readonly ConntrackFrontend[]): readonly Pair[] {
  const found = new Map(
    before.map((each): [string, Pair] => [portKeyOf(each), { before: each, after: undefined, frontend: each }]),
  )
  for (const each of after) {
    const old = found.get(portKeyOf(each))?.before
    const addresses = [...new Set([...(old?.addresses ?? []), ...each.addresses])]
    found.set(portKeyOf(each), { before: old, after: each, frontend: { ...each, addresses } })
  }
  return [...found.values()]
}

function planFrontend({ before, after, frontend }: Pair): readonly StaleRule[] {
  const lost = (before?.serving ?? new Set()).difference(after?.serving ?? new Set())
  const isNewlyServed =
    (after?.serving.size ?? 0) > 0 && ((before?.serving.size ?? 0) === 0 || isWidened(before, after))
  if (lost.size === 0 && !isNewlyServed) return []
  const isStale = (flow: FlowEnds) => lost.has(answererOf(flow)) || (isNewlyServed && !isTranslated(flow))
  return [{ frontend, isStale }]
}

/** Whether clients may have sent to where it is reached only now. */
function isWidened(before: ConntrackFrontend | undefined, after: ConntrackFrontend | undefined): boolean {
  const known = new Set(before?.addresses)
  const isElsewhere = before?.port !== after?.port || before?.nodePort !== after?.nodePort
  return isElsewhere || after?.addresses.some((address) => !known.has(address)) === true
}

/** For Services without an earlier plan: connections to endpoints that do not serve are stale where another endpoint serves. */
export function planReconciliation(frontends: readonly ConntrackFrontend[]): readonly StaleRule[] {
  return frontends
    .filter(({ serving }) => serving.size > 0)
    .map((frontend) => ({ frontend, isStale: (flow) => !frontend.serving.has(answererOf(flow)) }))
}

/** Finds the connections of many frontends in one pass. */
export class StaleIndex {
  readonly #byAddress = new Map<string, StaleRule[]>()
  readonly #byNodePort = new Map<string, StaleRule[]>()
  readonly #isLocalAddress: (address: Ip) => boolean

  constructor(rules: readonly StaleRule[], isLocalAddress: (address: Ip) => boolean) {
    this.#isLocalAddress = isLocalAddress
    for (const rule of rules) {
      const { protocol, addresses, port, nodePort } = rule.frontend
      for (const address of addresses) this.#byAddress.getOrInsert(`${protocol} ${address} ${port}`, []).push(rule)
      if (nodePort !== undefined) this.#byNodePort.getOrInsert(`${protocol} ${nodePort}`, []).push(rule)
    }
  }

  has(flow: FlowEnds): boolean {
    const { protocol, destination, destinationPort } = flow
    const byAddress = this.#byAddress.get(`${protocol} ${destination} ${destinationPort}`) ?? []
    const byNodePort = this.#byNodePort.get(`${protocol} ${destinationPort}`) ?? []
    const isOf = (rule: StaleRule) => rule.isStale(flow)
    return byAddress.some(isOf) || (byNodePort.length > 0 && this.#isLocalAddress(destination) && byNodePort.some(isOf))
  }
}

/** Returns the key of a port of a Service; a name may stand for a port of each protocol. */
export function portKeyOf({ servicePort, protocol }: ConntrackFrontend): string {
  return `${servicePort} ${protocol}`
}

/** Returns who answers a connection, in the form of `ConntrackFrontend.serving`. */
export function answererOf({ replySource, replySourcePort }: FlowEnds): string {
  return `${replySource} ${replySourcePort}`
}

function isTranslated({ destination, destinationPort, replySource, replySourcePort }: FlowEnds): boolean {
  return replySource !== destination || replySourcePort !== destinationPort
}
