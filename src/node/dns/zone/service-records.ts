import type { EndpointPort, EndpointSlice } from '../../../model/endpoint-slice.ts'
import { type Ip, parseIp } from '../../../model/ip.ts'
import type { Service, ServicePort } from '../../../model/service.ts'
import { recordType } from '../wire/codes.ts'
import { below, readNameText, type WireName } from '../wire/name.ts'
import { makeRecord } from '../wire/record.ts'
import type { PlannedAnswer } from './answer-body.ts'
import { planAddresses } from './fixed-names.ts'
import { dashedAddress, isLabel } from './labels.ts'
import { endpointLabels, findTouched, type NamedEndpoint, nameEndpoints, type Touched } from './named-endpoints.ts'
import type { ReverseTargets } from './reverse-index.ts'
import type { ZoneSettings } from './settings.ts'
import { planSrv, type Target } from './srv-answer.ts'

/** A Service with the slices that belong to it, from the state of this node. */
export interface ServiceView {
  readonly service: Service
  readonly slices: readonly EndpointSlice[]
}

/** One name of a Service and its answers. */
export interface ServiceName {
  readonly name: WireName
  /** Makes a text. Equal texts mean equal answers under the same name and settings; without it only the answers show whether they differ. */
  readonly stamp?: () => string
  /** Makes the answers, in steps. Most names of a Service that changes stay as they were or are only removed, so answers are made on demand. */
  readonly answers: () => Generator<void, readonly PlannedAnswer[]>
}

/** The names of a Service in one zone, and the names that its addresses lead back to. */
export interface ServiceRecords {
  readonly names: readonly ServiceName[]
  /** The reverse names: the Service's own for its cluster addresses, those of its endpoints for theirs. */
  readonly reverse: ReadonlyMap<Ip, ReverseTargets>
}

/** The part of a Service to plan: all of it, or what a change of its slices may affect. */
export type Extent = Touched | 'all'

/** Finds the part in which two states of a Service differ. */
export function* findExtent(
  before: ServiceView | undefined,
  after: ServiceView | undefined,
  { endpointPodNames }: ZoneSettings,
): Generator<void, Extent> {
  if (before === undefined || after === undefined || before.service !== after.service) return 'all'
  if (before.slices.some(isServing) !== after.slices.some(isServing)) return 'all'
  return yield* findTouched(before.slices, after.slices, { headless: after.service.headless, endpointPodNames })
}

function isServing({ endpoints }: EndpointSlice): boolean {
  return endpoints.some(({ ready }) => ready)
}

/**
 * Plans the names of a Service in `zone`, after the DNS specification of Kubernetes 1.1.0, with the endpoints within the extent. A Service that
 * is not served in the zone has none.
 */
export function* planServiceRecords(
  view: ServiceView,
  zone: WireName,
  settings: ZoneSettings,
  extent: Extent = 'all',
): Generator<void, ServiceRecords> {
  const { service } = view
  if (!isLabel(service.name) || !isLabel(service.namespace)) return noRecords
  if (settings.namespaces?.has(service.namespace) === false) return noRecords
  const base = below(zone, service.name, service.namespace, 'svc')
  if (service.type === 'ExternalName') return { ...noRecords, names: planExternalName(service, base, settings) }
  const slices = settings.useEndpoints ? view.slices.filter(isServing) : []
  const isEmpty = service.headless ? slices.length === 0 : service.clusterIps.length === 0
  if (isEmpty || (settings.ignoreEmptyServices && slices.length === 0)) return noRecords
  const { ttl, endpointPodNames } = settings
  const labelsOf = (endpoint: NamedEndpoint) =>
    endpointLabels(endpoint, { headless: service.headless, endpointPodNames })
  const nameOf = (endpoint: NamedEndpoint) => below(base, labelsOf(endpoint)[0] ?? dashedAddress(endpoint.address))
  const whole: Naming = { base, ttl, labelsOf, nameOf, endpoints: once(() => nameEndpoints(slices)) }
  const touched = extent === 'all' ? whole : within(extent, whole, slices)
  const own = service.headless ? planHeadless(whole, slices) : planWithAddress(service, base, ttl)
  const reverse = yield* planReverse(service, touched, extent)
  return { names: [...own, ...(yield* planEndpoints(touched, extent))], reverse }
}

/** The inputs for the names of endpoints. */
interface Naming {
  readonly base: WireName
  readonly ttl: number
  readonly labelsOf: (endpoint: NamedEndpoint) => readonly string[]
  readonly endpoints: () => Generator<void, readonly NamedEndpoint[]>
  /** The name that SRV and reverse answers use. */
  readonly nameOf: (endpoint: NamedEndpoint) => WireName
}

export const noRecords: ServiceRecords = { names: [], reverse: new Map() }

function within({ sharing }: Touched, naming: Naming, slices: readonly EndpointSlice[]): Naming {
  return { ...naming, endpoints: once(() => nameEndpoints(slices, (address) => sharing.has(address))) }
}

/** Returns a function that makes the value on its first call. */
function once<T>(make: () => Generator<void, T>): () => Generator<void, T> {
  let made: { readonly value: T } | undefined
  return function* () {
    made ??= { value: yield* make() }
    return made.value
  }
}

/** Plans the CNAME of an ExternalName. A target that is an address, or ends like one, is no name that can be resolved. */
function planExternalName({ externalName }: Service, base: WireName, { ttl }: ZoneSettings): ServiceName[] {
  const target = externalName === undefined || endsInAddress(externalName) ? undefined : readNameText(externalName)
  if (target === undefined) return []
  const answer = [makeRecord(base, recordType.CNAME, ttl, target)]
  return [fixedName(base, [{ type: recordType.CNAME, answer, additional: [] }])]
}

function endsInAddress(name: string): boolean {
  const labels = name.replace(/\.$/, '').split('.')
  return parseIp(labels.slice(-4).join('.')) !== undefined
}

function fixedName(name: WireName, answers: readonly PlannedAnswer[]): ServiceName {
  return {
    name,
    // biome-ignore lint/correctness/useYield: there is nothing to make
    *answers() {
      return answers
    },
  }
}

/** Plans the name of a Service with a cluster address, and those of its ports. */
function planWithAddress({ ports, clusterIps }: Service, base: WireName, ttl: number): ServiceName[] {
  const answersOf = (served: readonly ServicePort[]) => {
    const targets = served.flatMap(({ port }) => clusterIps.map((address) => ({ port, name: base, address })))
    return (name: WireName, addresses: readonly Ip[]) =>
      planAnswers({ name, ttl, addresses, targets, count: targets.length })
  }
  return [
    { name: base, answers: () => answersOf(ports)(base, clusterIps) },
    ...planPorts(base, ports, (key) => {
      const served = ports.filter((port) => labelsOfPort(port) === key)
      return (name) => answersOf(served)(name, clusterIps)
    }),
  ]
}

/**
 * Plans the name of a headless Service, which has the addresses of all its endpoints, and those of its ports, which have the endpoints that
 * serve them.
 */
function planHeadless(naming: Naming, slices: readonly EndpointSlice[]): ServiceName[] {
  const { base } = naming
  const ports = new Set(slices.map((slice) => slice.ports)).values().toArray().flat()
  return [
    { name: base, answers: () => planServed(base, naming) },
    ...planPorts(base, ports, (key) => (name) => planServed(name, naming, key)),
  ]
}

/** Plans the answers of endpoints that share a name; `port`, a key of `labelsOfPort`, selects those that serve that port. */
function* planServed(name: WireName, naming: Naming, portKey?: string): Generator<void, readonly PlannedAnswer[]> {
  const served = servedPorts(portKey)
  const addresses: Ip[] = []
  const endpoints: NamedEndpoint[] = []
  let count = 0
  for (const endpoint of yield* naming.endpoints()) {
    const { length } = served(endpoint.ports)
    if (length === 0 && portKey !== undefined) continue
    addresses.push(endpoint.address)
    endpoints.push(endpoint)
    count += length
  }
  yield
  const targets = endpointTargets(endpoints, served, naming.nameOf)
  return yield* planAnswers({ name, ttl: naming.ttl, addresses, targets, count })
}

/** Groups by slice: all endpoints of a slice have one list of ports, which is read once for all. */
function servedPorts(portKey: string | undefined): (ports: readonly EndpointPort[]) => readonly EndpointPort[] {
  if (portKey === undefined) return (ports) => ports
  const known = new Map<readonly EndpointPort[], readonly EndpointPort[]>()
  return (ports) => {
    const served = known.get(ports) ?? ports.filter((port) => labelsOfPort(port) === portKey)
    known.set(ports, served)
    return served
  }
}

function* endpointTargets(
  endpoints: readonly NamedEndpoint[],
  served: (ports: readonly EndpointPort[]) => readonly EndpointPort[],
  nameOf: Naming['nameOf'],
): Generator<Target, void> {
  for (const endpoint of endpoints) {
    const { address, ports } = endpoint
    const name = nameOf(endpoint)
    for (const { port } of served(ports)) yield { port, name, address }
  }
}

interface Served {
  readonly name: WireName
  readonly ttl: number
  readonly addresses: readonly Ip[]
  readonly targets: Iterable<Target>
  /** How many targets there are. */
  readonly count: number
}

/** Makes A and AAAA answers, and SRV where there are ports. */
function* planAnswers({ name, ttl, addresses, targets, count }: Served): Generator<void, readonly PlannedAnswer[]> {
  const own = planAddresses(addresses, ttl)
  yield
  return count === 0 ? own : [...own, yield* planSrv(name, targets, count, ttl)]
}

/** Plans `_port._proto` of each named port, and `_proto` above it, which has no records. */
function planPorts(
  base: WireName,
  ports: readonly (ServicePort | EndpointPort)[],
  answersOf: (key: string) => (name: WireName) => ReturnType<ServiceName['answers']>,
): ServiceName[] {
  const keys = new Set(ports.filter(({ name }) => name !== '').map(labelsOfPort))
  const protocols = new Set(Array.from(keys, (key) => key.slice(key.indexOf('.') + 1)))
  const names = Array.from(keys, (key): ServiceName => {
    const name = below(base, ...key.split('.'))
    return { name, answers: () => answersOf(key)(name) }
  })
  return [...names, ...Array.from(protocols, (protocol) => fixedName(below(base, protocol), []))]
}

function labelsOfPort({ name, protocol }: Pick<ServicePort, 'name' | 'protocol'>): string {
  return `_${name}._${protocol.toLowerCase()}`
}

const endpointsInStep = 50

/** Returns each label with the addresses that share it. */
function* planEndpoints(naming: Naming, extent: Extent): Generator<void, ServiceName[]> {
  const byLabel = new Map<string, NamedEndpoint[]>()
  for (const [index, endpoint] of (yield* naming.endpoints()).entries()) {
    for (const label of naming.labelsOf(endpoint)) {
      if (extent !== 'all' && !extent.labels.has(label)) continue
      const sharing = byLabel.get(label)
      if (sharing === undefined) byLabel.set(label, [endpoint])
      else sharing.push(endpoint)
    }
    if (index % endpointsInStep === 0) yield
  }
  const names: ServiceName[] = []
  for (const [label, sharing] of byLabel) {
    names.push(sharedName(below(naming.base, label), sharing, naming.ttl))
    if (names.length % endpointsInStep === 0) yield
  }
  return names
}

/** Plans a name with SRV records that lead to that name. */
function sharedName(name: WireName, sharing: readonly NamedEndpoint[], ttl: number): ServiceName {
  return {
    name,
    stamp: () => sharing.map(stampOf).join(),
    answers: () => {
      const targets = sharing.flatMap(({ address, ports }) => ports.map(({ port }) => ({ port, name, address })))
      const addresses = sharing.map(({ address }) => address)
      return planAnswers({ name, ttl, addresses, targets, count: targets.length })
    },
  }
}

function stampOf({ address, ports }: NamedEndpoint): string {
  return [address, ...ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`)].join(';')
}

function* planReverse(
  { clusterIps }: Service,
  { base, nameOf, endpoints }: Naming,
  extent: Extent,
): Generator<void, ReadonlyMap<Ip, ReverseTargets>> {
  const reverse = new Map<Ip, { readonly isService: boolean; readonly targets: string[] }>()
  for (const [index, endpoint] of (yield* endpoints()).entries()) {
    const { address } = endpoint
    if (extent !== 'all' && !extent.addresses.has(address)) continue
    const target = nameOf(endpoint).toString('latin1')
    const known = reverse.get(address)
    if (known === undefined) reverse.set(address, { isService: false, targets: [target] })
    else known.targets.push(target)
    if (index % endpointsInStep === 0) yield
  }
  for (const address of clusterIps) reverse.set(address, { isService: true, targets: [base.toString('latin1')] })
  return reverse
}
