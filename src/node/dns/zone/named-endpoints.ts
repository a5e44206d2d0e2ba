import type { Endpoint, EndpointPort, EndpointSlice } from '../../../model/endpoint-slice.ts'
import type { Ip } from '../../../model/ip.ts'
import { dashedAddress, isLabel } from './labels.ts'

/** An address that is ready, once for each hostname, with the ports of all slices that have it. */
export interface NamedEndpoint {
  readonly address: Ip
  readonly ports: readonly EndpointPort[]
  /** The endpoint that gives the names: the first that has this address and hostname. */
  readonly first: Endpoint
}

/** In the order of the slices; a step for each of them. */
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

/** Of an endpoint that is ready. */
function addressesOf({ ready, address, otherAddresses }: Endpoint): readonly Ip[] {
  if (!ready) return none
  return otherAddresses === undefined ? [address] : [address, ...otherAddresses]
}

export interface NamingRules {
  readonly headless: boolean
  /** The Pod's name before the address. */
  readonly endpointPodNames: boolean
}

/** Hostname, Pod name and dashed address; endpoints of Services with an address of their own have only the first of them. */
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

/** The names and addresses that a change of slices concerns. */
export interface Touched {
  readonly labels: ReadonlySet<string>
  readonly addresses: ReadonlySet<Ip>
  /** With further addresses, of endpoints that share one of the labels. */
  readonly sharing: ReadonlySet<Ip>
}

/**
 * What changes where some slices differ: labels and addresses of the endpoints in them. Other slices are only looked through for endpoints that
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

/** The addresses of an endpoint that may have one of the labels. */
function sharers(endpoint: Endpoint, labels: ReadonlySet<string>): readonly Ip[] {
  const addresses = addressesOf(endpoint)
  const { hostname = '', target } = endpoint
  if (labels.has(hostname) || labels.has(podName(target) ?? '')) return addresses
  return addresses.filter((address) => labels.has(dashedAddress(address)))
}
