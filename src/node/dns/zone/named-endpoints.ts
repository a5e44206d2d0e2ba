import type { Endpoint, EndpointPort, EndpointSlice } from '../../../model/endpoint-slice.ts'
import type { Ip } from '../../../model/ip.ts'
import { dashedAddress, isLabel } from './labels.ts'

/** A ready address, once for each hostname, with the ports of all slices that have it. */
export interface NamedEndpoint {
  readonly address: Ip
  readonly ports: readonly EndpointPort[]
  /** The endpoint that the labels come from: the first with this address and hostname. */
  readonly first: Endpoint
}

/** Groups the ready endpoints by address and hostname, in the order of the slices. Yields after each slice. */
export function* nameEndpoints(
  slices: readonly EndpointSlice[],
  isWanted: (address: Ip) => boolean = () => true,
): Generator<void, readonly NamedEndpoint[]> {
  const named = new Map<string, NamedEndpoint>()
  for (const { endpoints, ports } of slices) {
    for (const first of endpoints) {
      for (const address of addressesOf(first)) {
        if (!isWanted(address)) continue
        const id = `${address} ${first.hostname}`
        const known = named.get(id)
        if (known === undefined) named.set(id, { address, ports, first })
        else named.set(id, { ...known, ports: [...known.ports, ...ports] })
      }
    }
    yield
  }
  return [...named.values()]
}

const none: readonly Ip[] = []

/** Returns the labels of a ready endpoint. */
function addressesOf({ ready, address, otherAddresses }: Endpoint): readonly Ip[] {
  if (!ready) return none
  return otherAddresses === undefined ? [address] : [address, ...otherAddresses]
}

export interface NamingRules {
  readonly headless: boolean
  /** The Pod's name comes before the address. */
  readonly endpointPodNames: boolean
}

/** Returns hostname, Pod name and dashed address. An endpoint of a Service with a cluster address has only the first of them. */
export function endpointLabels(
  { first: { hostname, target }, address }: NamedEndpoint,
  { headless, endpointPodNames }: NamingRules,
): readonly string[] {
  const dashed = dashedAddress(address)
  const ordered = endpointPodNames ? [hostname, podName(target), dashed] : [hostname, dashed, podName(target)]
  const labels = ordered.filter((label) => label !== undefined && isLabel(label)) as string[]
  return headless ? [...new Set(labels)] : labels.slice(0, 1)
}

function podName(target: string | undefined): string | undefined {
  return /^Pod (?:[^/]+\/)?([^/]+)$/.exec(target ?? '')?.[1]
}

/** The labels and addresses that a change of slices affects. */
export interface Touched {
  readonly labels: ReadonlySet<string>
  readonly addresses: ReadonlySet<Ip>
  /** The addresses, with those of other endpoints that share one of the labels. */
  readonly sharing: ReadonlySet<Ip>
}

/**
 * Finds what changes where some slices differ: the labels and addresses of the endpoints that differ. All others are only searched for endpoints
 * that share those, so that most of a large Service, and of a large slice, costs no more than a comparison.
 */
export function* findTouched(
  before: readonly EndpointSlice[],
  after: readonly EndpointSlice[],
  rules: NamingRules,
): Generator<void, Touched> {
  const differing = yield* differingEndpoints(before, after)
  const addresses = new Set(differing.flatMap(addressesOf))
  const labels = new Set<string>()
  for (const slices of [before, after]) {
    const named = yield* nameEndpoints(slices, (address) => addresses.has(address))
    for (const endpoint of named) for (const label of endpointLabels(endpoint, rules)) labels.add(label)
    yield
  }
  const sharing = new Set(addresses)
  for (const { endpoints } of after) {
    for (const endpoint of endpoints) for (const address of sharers(endpoint, labels)) sharing.add(address)
    yield
  }
  return { labels, addresses, sharing }
}

/** Returns the endpoints that are not in the same slice of both lists. A slice has one `source` in both. */
function* differingEndpoints(
  before: readonly EndpointSlice[],
  after: readonly EndpointSlice[],
): Generator<void, readonly Endpoint[]> {
  const gone = new Map(before.map((slice) => [slice.source, slice]))
  const differing: (readonly Endpoint[])[] = []
  for (const slice of after) {
    const old = gone.get(slice.source)
    gone.delete(slice.source)
    if (old === slice) continue
    const hasSamePorts = old !== undefined && JSON.stringify(old.ports) === JSON.stringify(slice.ports)
    if (hasSamePorts) differing.push(endpointsOfOne(old.endpoints, slice.endpoints))
    else differing.push(old?.endpoints ?? [], slice.endpoints)
    yield
  }
  return [...differing, ...Array.from(gone.values(), ({ endpoints }) => endpoints)].flat()
}

/** Returns the endpoints that only one of the lists has, and those that have another order in the other list. */
function endpointsOfOne(before: readonly Endpoint[], after: readonly Endpoint[]): readonly Endpoint[] {
  const places = new Map(after.map(({ address }, place) => [address, place]))
  const kept = new Set<number>()
  let next = 0
  const gone = before.filter((endpoint) => {
    const place = places.get(endpoint.address) ?? -1
    const same = place < next ? undefined : after[place]
    if (same === undefined || !hasSameNames(endpoint, same)) return true
    kept.add(place)
    next = place + 1
    return false
  })
  return [...gone, ...after.filter((_, place) => !kept.has(place))]
}

function hasSameNames(a: Endpoint, b: Endpoint): boolean {
  return (
    a.address === b.address &&
    a.ready === b.ready &&
    a.hostname === b.hostname &&
    a.target === b.target &&
    a.otherAddresses?.join() === b.otherAddresses?.join()
  )
}

/** Returns the addresses of an endpoint that may have one of the labels. */
function sharers(endpoint: Endpoint, labels: ReadonlySet<string>): readonly Ip[] {
  const addresses = addressesOf(endpoint)
  const { hostname = '', target } = endpoint
  if (labels.has(hostname) || labels.has(podName(target) ?? '')) return addresses
  return addresses.filter((address) => labels.has(dashedAddress(address)))
}
