import type { Endpoint, EndpointPort, EndpointSlice } from '../../../model/endpoint-slice.ts'
import { type Ip, parseIp } from '../../../model/ip.ts'
import type { Service, ServicePort } from '../../../model/service.ts'
import { recordType } from '../wire/codes.ts'
import type { WireName } from '../wire/name.ts'
import { addressRecord, type DnsRecord, makeRecord, srvData } from '../wire/record.ts'
import type { PlannedAnswer } from './answer-body.ts'
import { planAddresses } from './fixed-names.ts'
import { below, dashedAddress, isLabel, readNameText } from './names.ts'
import type { ReverseTargets } from './reverse-owners.ts'
import type { ZoneSettings } from './settings.ts'

/** A Service with the slices that belong to it, as the state of this node has them. */
export interface ServiceView {
  readonly service: Service
  readonly slices: readonly EndpointSlice[]
}

/** A name of a Service. */
export interface ServiceName {
  readonly name: WireName
  /** Equal stamps mean equal answers under the same name and settings; absent where only the answers tell. */
  readonly stamp?: string
  /** Made when asked: most names of a Service that changes are as before, or only to be removed. */
  readonly answers: () => readonly PlannedAnswer[]
}

/** What a Service is called, in one zone, and where its addresses lead back to. */
export interface ServiceRecords {
  readonly names: readonly ServiceName[]
  /** Those that `reverse` has names for. */
  readonly addresses: ReadonlySet<Ip>
  /** Names for reverse answers: of the Service by its cluster addresses, of its endpoints by theirs. */
  readonly reverse: () => ReadonlyMap<Ip, ReverseTargets>
}

/** One line of SRV: where a port of the Service is served. */
interface Target {
  readonly portName: string
  readonly protocol: string
  readonly port: number
  readonly name: WireName
  readonly address: Ip
}

/** An endpoint that is ready, under the names it has. */
interface NamedEndpoint {
  readonly address: Ip
  readonly ports: readonly EndpointPort[]
  /** The first is the one that SRV and reverse answers use. */
  readonly labels: readonly string[]
}

/** The names of a Service in `zone`, after the DNS specification of Kubernetes 1.1.0; none where nothing may be asked of it. */
export function planServiceRecords(view: ServiceView, zone: WireName, settings: ZoneSettings): ServiceRecords {
  const { service } = view
  if (!isLabel(service.name) || !isLabel(service.namespace)) return noRecords
  if (settings.namespaces?.has(service.namespace) === false) return noRecords
  const base = below(zone, service.name, service.namespace, 'svc')
  if (service.type === 'ExternalName') return { ...noRecords, names: planExternalName(service, base, settings) }
  const endpoints = settings.useEndpoints ? namedEndpoints(view, settings) : []
  const targets = once(() => (service.headless ? endpointTargets(endpoints, base) : serviceTargets(service, base)))
  const addresses = service.headless ? endpoints.map(({ address }) => address) : service.clusterIps
  if (addresses.length === 0 || (settings.ignoreEmptyServices && endpoints.length === 0)) return noRecords
  return {
    names: [
      { name: base, answers: () => planAnswers(base, addresses, targets(), settings.ttl) },
      ...planPorts(base, service.headless ? endpoints : [service], targets, settings.ttl),
      ...planEndpoints(endpoints, base, settings.ttl),
    ],
    addresses: new Set([...endpoints.map(({ address }) => address), ...service.clusterIps]),
    reverse: () => planReverse(service, endpoints, base),
  }
}

export const noRecords: ServiceRecords = { names: [], addresses: new Set(), reverse: () => new Map() }

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** An ExternalName that is an address, or ends as one does, is no name that anybody could look up. */
function planExternalName({ externalName }: Service, base: WireName, { ttl }: ZoneSettings): ServiceName[] {
  const target = externalName === undefined || endsInAddress(externalName) ? undefined : readNameText(externalName)
  if (target === undefined) return []
  const answer = [makeRecord(base, recordType.CNAME, ttl, target)]
  return [{ name: base, answers: () => [{ type: recordType.CNAME, answer, additional: [] }] }]
}

function endsInAddress(name: string): boolean {
  const labels = name.replace(/\.$/, '').split('.')
  return parseIp(labels.slice(-4).join('.')) !== undefined
}

/** Each address that is ready, once for each hostname, with the ports of all slices that have it. */
function namedEndpoints({ service, slices }: ServiceView, settings: ZoneSettings): readonly NamedEndpoint[] {
  const named = new Map<string, NamedEndpoint>()
  for (const slice of slices) {
    for (const endpoint of slice.endpoints) {
      if (!endpoint.ready) continue
      for (const address of [endpoint.address, ...(endpoint.otherAddresses ?? [])]) {
        const id = `${address} ${endpoint.hostname}`
        const known = named.get(id)
        const labels = known?.labels ?? endpointLabels({ ...endpoint, address }, service.headless, settings)
        named.set(id, { address, ports: [...(known?.ports ?? []), ...slice.ports], labels })
      }
    }
  }
  return [...named.values()]
}

/** Hostname, Pod name and dashed address; endpoints of Services with an address of their own have only the first of them. */
function endpointLabels(endpoint: Endpoint, headless: boolean, settings: ZoneSettings): readonly string[] {
  const podName = /^Pod (?:[^/]+\/)?([^/]+)$/.exec(endpoint.target ?? '')?.[1]
  const dashed = dashedAddress(endpoint.address)
  const ordered = settings.endpointPodNames
    ? [endpoint.hostname, podName, dashed]
    : [endpoint.hostname, dashed, podName]
  const labels = ordered.filter((label) => label !== undefined && isLabel(label)) as string[]
  return headless ? [...new Set(labels)] : labels.slice(0, 1)
}

function serviceTargets({ ports, clusterIps }: Service, name: WireName): readonly Target[] {
  return ports.flatMap((port) => clusterIps.map((address) => targetOf(port, name, address)))
}

function endpointTargets(endpoints: readonly NamedEndpoint[], base: WireName): readonly Target[] {
  return endpoints.flatMap(({ address, ports, labels }) => {
    const name = below(base, labels[0] ?? dashedAddress(address))
    return ports.map((port) => targetOf(port, name, address))
  })
}

function targetOf({ name: portName, protocol, port }: ServicePort | EndpointPort, name: WireName, address: Ip): Target {
  return { portName, protocol: protocol.toLowerCase(), port, name, address }
}

/** A and AAAA, and SRV where there are ports. */
function planAnswers(
  name: WireName,
  addresses: readonly Ip[],
  targets: readonly Target[],
  ttl: number,
): readonly PlannedAnswer[] {
  const srv = planSrv(name, targets, ttl)
  return [...planAddresses(name, addresses, ttl), ...(srv.answer.length > 0 ? [srv] : [])]
}

/** Priority 0; the weights of all targets come to 100, and none is 0 (as CoreDNS has them). */
function planSrv(name: WireName, targets: readonly Target[], ttl: number): PlannedAnswer {
  const weight = Math.max(1, Math.floor(100 / targets.length))
  const answer = new Map<string, DnsRecord>()
  const additional = new Map<string, DnsRecord>()
  for (const target of targets) {
    const key = target.name.toString('latin1')
    const data = srvData(0, weight, target.port, target.name)
    if (!answer.has(`${target.port} ${key}`)) {
      answer.set(`${target.port} ${key}`, makeRecord(name, recordType.SRV, ttl, data))
    }
    additional.set(`${target.address} ${key}`, addressRecord(target.name, ttl, target.address))
  }
  return { type: recordType.SRV, answer: [...answer.values()], additional: [...additional.values()] }
}

/** `_port._proto` of each named port, and `_proto` above it, which only exists. */
function planPorts(
  base: WireName,
  served: readonly { readonly ports: readonly (ServicePort | EndpointPort)[] }[],
  targets: () => readonly Target[],
  ttl: number,
): ServiceName[] {
  const byPort = once(() => Map.groupBy(targets(), labelsOfPort))
  const named = served.flatMap(({ ports }) => ports.filter(({ name }) => name !== ''))
  const labels = new Set(
    named.map(({ name, protocol }) => labelsOfPort({ portName: name, protocol: protocol.toLowerCase() })),
  )
  const protocols = new Set(Array.from(labels, (key) => key.slice(key.indexOf('.') + 1)))
  const names = Array.from(labels, (key) => {
    const name = below(base, ...key.split('.'))
    return { name, answers: () => planTargets(name, byPort().get(key) ?? [], ttl) }
  })
  return [...names, ...Array.from(protocols, (protocol) => ({ name: below(base, protocol), answers: () => [] }))]
}

function labelsOfPort({ portName, protocol }: Pick<Target, 'portName' | 'protocol'>): string {
  return `_${portName}._${protocol}`
}

function planTargets(name: WireName, targets: readonly Target[], ttl: number): readonly PlannedAnswer[] {
  const addresses = targets.map(({ address }) => address)
  return planAnswers(name, addresses, targets, ttl)
}

/** Each label with the addresses that share it. */
function planEndpoints(endpoints: readonly NamedEndpoint[], base: WireName, ttl: number): ServiceName[] {
  const byLabel = new Map<string, NamedEndpoint[]>()
  for (const endpoint of endpoints) {
    for (const label of endpoint.labels) {
      const sharing = byLabel.get(label)
      if (sharing === undefined) byLabel.set(label, [endpoint])
      else sharing.push(endpoint)
    }
  }
  return Array.from(byLabel, ([label, sharing]) => {
    const name = below(base, label)
    const answers = () => {
      const targets = sharing.flatMap(({ address, ports }) => ports.map((port) => targetOf(port, name, address)))
      const addresses = sharing.map(({ address }) => address)
      return planAnswers(name, addresses, targets, ttl)
    }
    return { name, stamp: sharing.map(stampOf).join(), answers }
  })
}

function stampOf({ address, ports }: NamedEndpoint): string {
  return [address, ...ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`)].join(';')
}

function planReverse(
  { clusterIps }: Service,
  endpoints: readonly NamedEndpoint[],
  base: WireName,
): ReadonlyMap<Ip, ReverseTargets> {
  const reverse = new Map<Ip, { readonly isService: boolean; readonly targets: string[] }>()
  for (const { address, labels } of endpoints) {
    const target = below(base, labels[0] ?? dashedAddress(address)).toString('latin1')
    const known = reverse.get(address)
    if (known === undefined) reverse.set(address, { isService: false, targets: [target] })
    else known.targets.push(target)
  }
  for (const address of clusterIps) reverse.set(address, { isService: true, targets: [base.toString('latin1')] })
  return reverse
}
