import type { Endpoint, EndpointSlice } from '../model/endpoint-slice.ts'
import type { Service, ServicePort } from '../model/service.ts'

/**
 * One Service in the list. `ok`: every endpoint is ready, for every port; `partly`: some are; `none`: connections are refused; `idle`:
 * it has no address of its own (headless, ExternalName) and no endpoint.
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
  const mute = mutePorts(service, slices)
  return [
    service.key,
    service.headless ? 'Headless' : service.type,
    addressOf(service),
    portsOf(service),
    ready,
    total,
    stateOf(service, { answering, total, mute: mute.length }),
    notesOf(service, { ready, draining, mute }),
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

/** Lists the ports that no endpoint has, such as those whose `targetPort` names a port of no pod: connections to them are refused. */
function mutePorts({ headless, ports }: Service, slices: readonly EndpointSlice[]): Service['ports'] {
  const used = slices.filter(({ endpoints }) => endpoints.length > 0)
  if (headless || used.length === 0) return []
  const isAnswered = ({ name, protocol }: ServicePort) =>
    used.some((slice) => slice.ports.some((port) => port.name === name && port.protocol === protocol))
  return ports.filter((port) => !isAnswered(port))
}

interface Counts {
  readonly answering: number
  readonly total: number
  readonly mute: number
}

function stateOf({ headless, type, ports }: Service, { answering, total, mute }: Counts): ServiceState {
  if (total === 0 && (headless || type === 'ExternalName')) return 'idle'
  if (answering === 0 || (mute > 0 && mute === ports.length)) return 'none'
  return answering === total && mute === 0 ? 'ok' : 'partly'
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

interface NoteSource {
  readonly ready: number
  readonly draining: number
  readonly mute: Service['ports']
}

function notesOf(service: Service, { ready, draining, mute }: NoteSource): string {
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
    ...mute.slice(0, 2).map(({ port, protocol }) => `no endpoint has ${port}/${protocol}`),
  ].join(', ')
}
