import type { Candidate } from '../../model/candidates.ts'
import { dnsPort } from '../../model/dns-ports.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import { type Cidr, type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import { type Frontend, isExternal } from '../../netfilter/frontend.ts'
import { collectEndpoints, selectEndpoints } from './plan-endpoints.ts'
import { claimKey, type RefusedClaim } from './service-claims.ts'

/** The facts about the node that the plan needs. */
export interface PlanNode {
  readonly nodeName: string
  /** Each family is planned by itself. */
  readonly family: IpFamily
  /** The node's zone, for topology hints; none are followed without it. */
  readonly zone?: string
  /** Addresses whose port 53 this node answers by itself while it can, past all rules. */
  readonly answeredHere?: readonly Ip[]
}

/** A Service, and which of its addresses are another's, by `claimKey`. */
export interface ClaimedService extends Service {
  readonly refusedClaims?: ReadonlyMap<string, RefusedClaim>
}

/**
 * Plans the frontends of a Service on this node in one family, one for each port; none for headless and ExternalName Services and those of another proxy.
 * The slices are those of this Service, in any order.
 */
export function planFrontends(
  service: ClaimedService,
  slices: readonly EndpointSlice[],
  node: PlanNode,
): readonly Frontend[] {
  const clusterIp = service.clusterIps.find((address) => ipFamily(address) === node.family)
  if (clusterIp === undefined || isOnlyNamed(service) || isAnothers(clusterIp, service)) return []
  const shared = {
    clusterIp,
    externalIps: ofFamily(service.externalIps, node.family),
    loadBalancerVips: ofFamily(service.loadBalancerVips, node.family),
    ...sourceRangesOf(service, node.family),
    internalPolicy: service.internalTrafficPolicy,
    externalPolicy: service.externalTrafficPolicy,
    ...(service.healthCheckNodePort !== undefined && { healthCheckNodePort: service.healthCheckNodePort }),
    ...(service.affinity !== undefined && { affinity: service.affinity }),
  }
  return service.ports.map((port) => planPort(service, port, shared, slices, node))
}

/** A ClusterIP is one Service's as a whole. */
function isAnothers(clusterIp: Ip, { ports, refusedClaims }: ClaimedService): boolean {
  const [port] = ports
  return port !== undefined && refusedClaims?.has(claimKey(clusterIp, port.protocol, port.port)) === true
}

function isOnlyNamed({ headless, type, foreignProxy }: Service): boolean {
  return headless || type === 'ExternalName' || foreignProxy === true
}

type SharedFields = Omit<
  Frontend,
  'servicePort' | 'protocol' | 'port' | 'nodePort' | 'hasEndpoints' | 'clusterEndpoints' | 'localEndpoints'
>

function planPort(
  service: ClaimedService,
  port: ServicePort,
  all: SharedFields,
  slices: readonly EndpointSlice[],
  node: PlanNode,
): Frontend {
  const isOurs = (address: Ip | undefined, number: number) =>
    service.refusedClaims?.has(claimKey(address, port.protocol, number)) !== true
  const shared = {
    ...all,
    externalIps: all.externalIps.filter((ip) => isOurs(ip, port.port)),
    loadBalancerVips: all.loadBalancerVips.filter((ip) => isOurs(ip, port.port)),
  }
  const addressed = {
    ...shared,
    servicePort: port.name === '' ? service.key : `${service.key}:${port.name}`,
    protocol: port.protocol,
    port: port.port,
    ...(port.nodePort === undefined || !isOurs(undefined, port.nodePort) ? {} : { nodePort: port.nodePort }),
  }
  const isOpen = isExternal(addressed)
  const isLocal = { internal: shared.internalPolicy === 'Local', external: isOpen && shared.externalPolicy === 'Local' }
  const found = collectEndpoints(port, slices, node.family, service.publishNotReadyAddresses)
  const isFallback = port.port === dnsPort && node.answeredHere?.includes(shared.clusterIp) === true
  const candidates = isFallback ? preferElsewhere(found, node.nodeName) : found
  return {
    ...addressed,
    ...selectEndpoints(candidates, node, {
      // Also under an external policy of Local: pods and this node itself reach every endpoint through the external ways.
      cluster: !isLocal.internal || isOpen,
      local: isLocal.internal || isLocal.external,
    }),
  }
}

/**
 * Prefers endpoints of other nodes: a query reaches the rules of such an address only when this node does not answer
 * it.
 */
function preferElsewhere(candidates: readonly Candidate[], nodeName: string): readonly Candidate[] {
  const others = candidates.filter(({ endpoint }) => endpoint.nodeName !== nodeName)
  return others.some(({ endpoint }) => endpoint.ready) ? others : candidates
}

function ofFamily(addresses: readonly Ip[], family: IpFamily): readonly Ip[] {
  return addresses.filter((address) => ipFamily(address) === family)
}

/** Source ranges of the other family only say nothing about this one, as in kube-proxy. */
function sourceRangesOf({ sourceRanges }: Service, family: IpFamily): { readonly sourceRanges?: readonly Cidr[] } {
  if (sourceRanges === undefined) return {}
  const ranges = sourceRanges.filter((range) => ipFamily(range) === family)
  return ranges.length === 0 && sourceRanges.length > 0 ? {} : { sourceRanges: ranges }
}
