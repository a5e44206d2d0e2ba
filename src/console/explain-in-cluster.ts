import { type Candidate, collectCandidates, selectAnswering, whyNoneAnswers } from '../model/candidates.ts'
import type { Endpoint, EndpointSlice } from '../model/endpoint-slice.ts'
import { type IpFamily, ipFamily, renderAddressPort } from '../model/ip.ts'
import type { Service, ServicePort } from '../model/service.ts'

/** Where a Service leads in one family, for the whole cluster; the agent's answer of `GET /explain/service` has the same fields. */
export interface ClusterExplanation {
  readonly family: IpFamily
  readonly notes: readonly string[]
  readonly ports: readonly ClusterPort[]
}

interface ClusterPort {
  readonly servicePort: string
  readonly protocol: string
  readonly addresses: readonly string[]
  readonly endpoints: readonly ClusterEndpoint[]
  readonly refusals: readonly string[]
}

interface ClusterEndpoint {
  readonly name: string
  readonly node: string | undefined
  readonly target: string | undefined
  readonly conditions: Pick<Endpoint, 'ready' | 'serving' | 'terminating'>
  readonly isUsed: boolean
  readonly reason: string
}

/** Explains a Service without the view of a node: each node applies hints and traffic policies to itself. */
export function explainInCluster(service: Service, slices: readonly EndpointSlice[]): readonly ClusterExplanation[] {
  const families = new Set<IpFamily>([...service.clusterIps.map(ipFamily), ...slices.map(({ family }) => family)])
  return Array.from(families, (family) => {
    const ofFamily = slices.filter((slice) => slice.family === family)
    const ports = service.ports.map((port) => explainPort(service, port, ofFamily, family))
    return { family, notes: notesOf(service), ports }
  })
}

function explainPort(
  service: Service,
  port: ServicePort,
  slices: readonly EndpointSlice[],
  family: IpFamily,
): ClusterPort {
  const candidates = collectCandidates(port, slices, service.publishNotReadyAddresses)
  const answering = new Set(selectAnswering(candidates).map(({ name }) => name))
  return {
    servicePort: port.name === '' ? service.key : `${service.key}:${port.name}`,
    protocol: port.protocol,
    addresses: addressesOf(service, port, family),
    endpoints: candidates.map((candidate) => explainEndpoint(service, candidate, answering.has(candidate.name))),
    refusals: answering.size === 0 ? [`connections are refused: ${whyNoneAnswers(port, slices)}`] : [],
  }
}

function explainEndpoint(service: Service, { name, endpoint }: Candidate, isUsed: boolean): ClusterEndpoint {
  const { nodeName: node, target, ready, serving, terminating } = endpoint
  return {
    name,
    node,
    target,
    conditions: { ready, serving, terminating },
    isUsed,
    reason: why(service, endpoint, isUsed),
  }
}

function why(service: Service, endpoint: Endpoint, isUsed: boolean): string {
  const { ready, serving, terminating, hints } = endpoint
  if (!isUsed) {
    if (!terminating) return 'not used: it is not ready'
    return serving ? 'not used: it terminates, and others are ready' : 'not used: it terminates and serves no more'
  }
  const limits = [...limitsOf(service), ...hintsOf(hints)]
  const state = ready ? readyText(service) : 'no other is ready, and it terminates but still serves'
  return `used: ${[state, ...limits].join('; ')}`
}

function readyText({ publishNotReadyAddresses }: Service): string {
  return publishNotReadyAddresses ? 'ready, or published all the same' : 'ready'
}

function limitsOf({ internalTrafficPolicy, externalTrafficPolicy, type }: Service): readonly string[] {
  const isOutside = type === 'NodePort' || type === 'LoadBalancer'
  return [
    ...(internalTrafficPolicy === 'Local' ? ['the cluster IP leads here from its own node only (policy Local)'] : []),
    ...(isOutside && externalTrafficPolicy === 'Local'
      ? ['traffic from outside comes by its own node (policy Local)']
      : []),
  ]
}

function hintsOf(hints: Endpoint['hints']): readonly string[] {
  const places = [...(hints?.nodes ?? []), ...(hints?.zones ?? [])]
  return places.length === 0 ? [] : [`topology hints prefer it for ${places.join(', ')}`]
}

function addressesOf(service: Service, { port, nodePort }: ServicePort, family: IpFamily): readonly string[] {
  const own = (ips: Service['clusterIps']) =>
    ips.filter((ip) => ipFamily(ip) === family).map((ip) => renderAddressPort(ip, port))
  return [
    ...own(service.clusterIps).map((text) => `cluster IP ${text} (policy ${service.internalTrafficPolicy})`),
    ...own(service.externalIps).map((text) => `external IP ${text} (policy ${service.externalTrafficPolicy})`),
    ...own(service.loadBalancerVips).map((text) => `load balancer ${text} (policy ${service.externalTrafficPolicy})`),
    ...(nodePort === undefined ? [] : [`node port ${nodePort} (policy ${service.externalTrafficPolicy})`]),
    ...(service.affinity ? [`each client stays with its endpoint for ${service.affinity.timeoutSeconds} s`] : []),
  ]
}

function notesOf({ type, externalName, headless, foreignProxy, ports }: Service): readonly string[] {
  if (type === 'ExternalName') return [`it is of type ExternalName: its name leads to ${externalName ?? 'nothing'}`]
  return [
    ...(headless ? ['it is headless: its name leads straight to the endpoints'] : []),
    ...(foreignProxy ? ['another proxy serves it, or none (label service-proxy-name or headless)'] : []),
    ...(ports.length === 0 ? ['it has no port'] : []),
  ]
}
