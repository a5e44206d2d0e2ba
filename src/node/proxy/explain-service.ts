import type { Endpoint, EndpointSlice } from '../../model/endpoint-slice.ts'
import { type Ip, type IpFamily, ipFamily, renderAddressPort } from '../../model/ip.ts'
import type { Protocol, Service, ServicePort } from '../../model/service.ts'
import type { Frontend, FrontendEndpoint } from '../../netfilter/frontend.ts'
import { describeSetAside, explainRefusals, type RefusalSettings, whyNoFrontend } from './explain-absence.ts'
import type { ClaimedService } from './plan.ts'
import { collectEndpoints } from './plan-endpoints.ts'
import { describeRefusedClaim } from './service-claims.ts'
import type { PlannedService } from './service-plans.ts'
import type { SetAsideService } from './set-aside.ts'

/** The state of a Service in one family, as text for users. */
export interface ServiceExplanation {
  readonly family: IpFamily
  /** Milliseconds since 1970; when what it leads to was last another. */
  readonly changedAtMs: number | undefined
  /** Notes about the whole Service: why it has no frontend, or that the kernel refuses its rules. */
  readonly notes: readonly string[]
  readonly ports: readonly PortExplanation[]
  /** In nat, its own. */
  readonly chains: readonly string[]
}

interface PortExplanation {
  readonly servicePort: string
  readonly protocol: Protocol
  /** `cluster IP 10.96.0.10:80` */
  readonly addresses: readonly string[]
  readonly endpoints: readonly EndpointExplanation[]
  /** The connections that are refused or dropped, with the reasons. */
  readonly refusals: readonly string[]
}

interface EndpointExplanation {
  /** `10.244.0.7:8080` */
  readonly name: string
  readonly address: Ip
  readonly port: number
  readonly node: string | undefined
  readonly target: string | undefined
  /** ` (Pod default/web-1 on node-2)`, or nothing. */
  readonly where: string
  /** The conditions of its slice. */
  readonly conditions: Pick<Endpoint, 'ready' | 'serving' | 'terminating'>
  readonly isUsed: boolean
  /** In or out, and why, in words. */
  readonly reason: string
}

interface ExplainSettings extends RefusalSettings {
  /** Present where the kernel refuses its rules. */
  readonly setAside: SetAsideService | undefined
  /** In nat, its own. */
  readonly chains: readonly string[]
}

export function explainService(
  service: ClaimedService,
  slices: readonly EndpointSlice[],
  plan: PlannedService | undefined,
  settings: ExplainSettings,
): ServiceExplanation {
  const { family, setAside, chains } = settings
  const ports = service.ports.flatMap((port) => {
    const servicePort = port.name === '' ? service.key : `${service.key}:${port.name}`
    const isThis = (each: Frontend) => each.servicePort === servicePort && each.protocol === port.protocol
    const frontend = plan?.frontends.find(isThis)
    return frontend === undefined ? [] : explainPort(service, port, slices, frontend, settings)
  })
  const noFrontend = whyNoFrontend(service, family)
  const notes = [
    ...(noFrontend === undefined ? [] : [noFrontend]),
    ...Array.from(service.refusedClaims?.values() ?? [], (claim) => `not served at ${describeRefusedClaim(claim)}`),
    ...(setAside ? [describeSetAside(setAside)] : []),
  ]
  return { family, changedAtMs: plan?.changedAtMs, notes, ports, chains }
}

function explainPort(
  service: Service,
  port: ServicePort,
  slices: readonly EndpointSlice[],
  frontend: Frontend,
  settings: RefusalSettings,
): PortExplanation {
  const { family, nodeName } = settings
  const candidates = collectEndpoints(port, slices, family, service.publishNotReadyAddresses)
  const cluster = new Set(frontend.clusterEndpoints.map(nameOf))
  const local = new Set(frontend.localEndpoints.map(nameOf))
  return {
    servicePort: frontend.servicePort,
    protocol: frontend.protocol,
    addresses: [...addressesOf(frontend), ...proxiedAddresses(service, family)],
    refusals: explainRefusals(port, frontend, slices, settings),
    endpoints: candidates.map(({ name, port: targetPort, endpoint }) => {
      const uses = [
        ...(cluster.has(name) ? ['for the whole cluster'] : []),
        ...(local.has(name) ? ['for local traffic'] : []),
      ]
      const isUsed = uses.length > 0
      const ready = service.publishNotReadyAddresses ? 'ready, or published all the same' : 'ready'
      const state = endpoint.ready ? ready : 'no other is ready, and it terminates but still serves'
      const reason = isUsed ? `used ${uses.join(' and ')}: ${state}` : whyNot(endpoint, frontend, nodeName)
      const { nodeName: node, target, ready: isReady, serving, terminating } = endpoint
      const conditions = { ready: isReady, serving, terminating }
      const where = [target, node && `on ${node}`].filter(Boolean).join(' ')
      const place = { name, address: endpoint.address, port: targetPort, node, target }
      return { ...place, where: where === '' ? '' : ` (${where})`, conditions, isUsed, reason }
    }),
  }
}

function whyNot(endpoint: Endpoint, frontend: Frontend, nodeName: string): string {
  if (!endpoint.ready && endpoint.terminating) {
    return endpoint.serving
      ? 'not used: it terminates, and others are ready'
      : 'not used: it terminates and serves no more'
  }
  if (!endpoint.ready) return 'not used: it is not ready'
  const { hints } = endpoint
  if (hints !== undefined && frontend.clusterEndpoints.length > 0) {
    return `not used: topology hints keep it for ${[...hints.nodes, ...hints.zones].join(', ')}`
  }
  if (endpoint.nodeName !== nodeName) return 'not used: traffic policy Local, and it is not on this node'
  if (frontend.internalPolicy === 'Cluster' && frontend.clusterEndpoints.length > 0)
    return 'not used: this node answers that address by itself, and while it does not only others can'
  return 'not used: no traffic policy asks for it'
}

function addressesOf({
  clusterIp,
  port,
  externalIps,
  loadBalancerVips,
  nodePort,
  ...rest
}: Frontend): readonly string[] {
  return [
    `cluster IP ${renderAddressPort(clusterIp, port)} (policy ${rest.internalPolicy})`,
    ...externalIps.map((ip) => `external IP ${renderAddressPort(ip, port)} (policy ${rest.externalPolicy})`),
    ...loadBalancerVips.map((ip) => `load balancer ${renderAddressPort(ip, port)} (policy ${rest.externalPolicy})`),
    ...(nodePort === undefined ? [] : [`node port ${nodePort} (policy ${rest.externalPolicy})`]),
    ...(rest.affinity ? [`each client stays with its endpoint for ${rest.affinity.timeoutSeconds} s`] : []),
  ]
}

function proxiedAddresses({ proxiedVips = [] }: Service, family: IpFamily): readonly string[] {
  const ofFamily = proxiedVips.filter((ip) => ipFamily(ip) === family)
  return ofFamily.map((ip) => `load balancer ${ip} not here (ipMode Proxy: it sends on by itself)`)
}

function nameOf({ address, port }: FrontendEndpoint): string {
  return renderAddressPort(address, port)
}
