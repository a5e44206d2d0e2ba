import type { Endpoint, EndpointSlice } from '../../model/endpoint-slice.ts'
import { type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import type { Frontend, FrontendEndpoint } from '../../netfilter/frontend.ts'
import { renderAddressPort } from '../../netfilter/render.ts'

/** What the plan has to know about the node it is made for. */
export interface PlanNode {
  readonly nodeName: string
  /** Each family is planned by itself. */
  readonly family: IpFamily
}

/**
 * The ways in to a Service on this node in one family, one a port; none for headless and ExternalName Services.
 * The slices are those of this Service, in any order.
 */
export function planService(service: Service, slices: readonly EndpointSlice[], node: PlanNode): readonly Frontend[] {
  const clusterIp = service.clusterIps.find((address) => ipFamily(address) === node.family)
  if (clusterIp === undefined || service.headless || service.type === 'ExternalName') return []
  return service.ports.map((port) => {
    const candidates = collectEndpoints(port, slices, node.family)
    return {
      servicePort: port.name === '' ? service.key : `${service.key}:${port.name}`,
      protocol: port.protocol,
      clusterIp,
      port: port.port,
      ...(port.nodePort === undefined ? {} : { nodePort: port.nodePort }),
      ...(service.affinity === undefined ? {} : { affinity: service.affinity }),
      clusterEndpoints: chooseEndpoints(candidates),
      localEndpoints: chooseEndpoints(candidates.filter(({ endpoint }) => endpoint.nodeName === node.nodeName)),
    }
  })
}

interface Candidate {
  readonly name: string
  readonly port: number
  readonly endpoint: Endpoint
}

/** One candidate for each `address:port`, in lexical order; the slices' ports are matched by name and protocol. */
function collectEndpoints(wanted: ServicePort, slices: readonly EndpointSlice[], family: IpFamily): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const slice of slices) {
    if (slice.family !== family) continue
    for (const { name, protocol, port } of slice.ports) {
      if (name !== wanted.name || protocol !== wanted.protocol) continue
      for (const endpoint of slice.endpoints) addCandidate(candidates, endpoint, port)
    }
  }
  return [...candidates.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** An address stands in two slices while a pod moves between them, or while a new pod takes over the address of one that is going. */
function addCandidate(candidates: Map<string, Candidate>, endpoint: Endpoint, port: number): void {
  const name = renderAddressPort(endpoint.address, port)
  const known = candidates.get(name)
  if (known === undefined || rank(endpoint) > rank(known.endpoint)) candidates.set(name, { name, port, endpoint })
}

/** What is not terminating wins, then what is ready; the node's name only decides so that the order of slices never does. */
function rank({ terminating, ready, serving, nodeName = '' }: Endpoint): string {
  return [!terminating, ready, serving].map(Number).join('') + nodeName
}

/** The ready ones; where none is, those that are going but still answer, so that a rollout never refuses connections. */
function chooseEndpoints(candidates: readonly Candidate[]): readonly FrontendEndpoint[] {
  const ready = candidates.filter(({ endpoint }) => endpoint.ready)
  const chosen =
    ready.length > 0 ? ready : candidates.filter(({ endpoint }) => endpoint.serving && endpoint.terminating)
  return chosen.map(({ endpoint, port }) => ({ address: endpoint.address, port }))
}
