import type { Endpoint, EndpointSlice } from '../model/endpoint-slice.ts'
import type { Service } from '../model/service.ts'

/**
 * One Service in the list. `ok`: every endpoint is ready; `partly`: some are; `none`: connections are refused; `idle`: it has no
 * address of its own (headless, ExternalName) and no endpoint.
 */
export type ServiceState = 'ok' | 'partly' | 'none' | 'idle'

/** An array, because 10,000 of them cross the network: key, type, address, ports, ready endpoints, all endpoints, state, notes. */
export type ServiceRow = readonly [
  key: string,
  type: string,
  address: string,
  ports: string,
  ready: number,
  total: number,
  state: ServiceState,
  notes: string,
]

/** Limit of the ports that a row names. */
const namedPorts = 3

export function serviceRow(service: Service, slices: readonly EndpointSlice[]): ServiceRow {
  const { ready, draining, total } = countEndpoints(service, slices)
  const answering = ready > 0 ? ready : draining
  return [
    service.key,
    service.headless ? 'Headless' : service.type,
    addressOf(service),
    portsOf(service),
    ready,
    total,
    stateOf(service, answering, total),
    notesOf(service, ready, draining),
  ]
}

/** Counts endpoints by address: one that stands in several slices is one. */
function countEndpoints({ publishNotReadyAddresses }: Service, slices: readonly EndpointSlice[]) {
  const byAddress = new Map<string, Endpoint>()
  for (const endpoint of slices.flatMap(({ endpoints }) => endpoints)) {
    const known = byAddress.get(endpoint.address)
    if (known === undefined || (!known.ready && endpoint.ready)) byAddress.set(endpoint.address, endpoint)
  }
  const all = [...byAddress.values()]
  return {
    ready: all.filter(({ ready }) => ready || publishNotReadyAddresses).length,
    draining: all.filter(({ ready, serving, terminating }) => !ready && serving && terminating).length,
    total: all.length,
  }
}

function stateOf({ headless, type }: Service, answering: number, total: number): ServiceState {
  if (total === 0 && (headless || type === 'ExternalName')) return 'idle'
  if (answering === 0) return 'none'
  return answering === total ? 'ok' : 'partly'
}

function addressOf({ type, externalName, clusterIps }: Service): string {
  if (type === 'ExternalName') return externalName ?? ''
  return clusterIps.join(', ')
}

function portsOf({ ports }: Service): string {
  const named = ports
    .slice(0, namedPorts)
    .map(({ port, protocol, nodePort }) => `${port}${nodePort === undefined ? '' : `:${nodePort}`}/${protocol}`)
  return ports.length > namedPorts ? `${named.join(', ')} +${ports.length - namedPorts}` : named.join(', ')
}

function notesOf(service: Service, ready: number, draining: number): string {
  const { type, externalTrafficPolicy, internalTrafficPolicy, affinity, foreignProxy, externalIps } = service
  const addresses = [...externalIps, ...service.loadBalancerVips]
  const isOutside = type === 'NodePort' || type === 'LoadBalancer' || addresses.length > 0
  return [
    ...addresses.slice(0, 2),
    ...(isOutside && externalTrafficPolicy === 'Local' ? ['external Local'] : []),
    ...(internalTrafficPolicy === 'Local' ? ['internal Local'] : []),
    ...(affinity ? ['ClientIP'] : []),
    ...(foreignProxy ? ['other proxy'] : []),
    ...(ready === 0 && draining > 0 ? ['only terminating'] : []),
  ].join(', ')
}
