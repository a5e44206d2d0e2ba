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
 * Finds what changes where some slices differ: the labels and addresses of their endpoints. Other slices are only searched for endpoints that
 * share those, so that most of a large Service costs no more than a comparison.
 */
export function* findTouched(
  before: readonly EndpointSlice[],
  after: readonly EndpointSlice[],
  rules: NamingRules,
): Generator<void, Touched> {
  const [old, next] = [new Set(before), new Set(after)]
  const changed = [...old.symmetricDifference(next)]
  const addresses = new Set(changed.flatMap(({ endpoints }) => endpoints.flatMap(addressesOf)))
  yield
  const labels = new Set<string>()
  for (const slices of [before, after]) {
    const named = yield* nameEndpoints(slices, (address) => addresses.has(address))
    for (const endpoint of named) for (const label of endpointLabels(endpoint, rules)) labels.add(label)
    yield
  }
  const sharing = new Set(addresses)
  for (const { endpoints } of old.intersection(next)) {
    for (const endpoint of endpoints) for (const address of sharers(endpoint, labels)) sharing.add(address)
    yield
  }
  return { labels, addresses, sharing }
}

/** Returns the addresses of an endpoint that may have one of the labels. */
function sharers(endpoint: Endpoint, labels: ReadonlySet<string>): readonly Ip[] {
  const addresses = addressesOf(endpoint)
  const { hostname = '', target } = endpoint
  if (labels.has(hostname) || labels.has(podName(target) ?? '')) return addresses
  return addresses.filter((address) => labels.has(dashedAddress(address)))
}
