import type { IpFamily } from '../../model/ip.ts'

/** An endpoint as a controller wants it in a slice; every condition is set. */
export interface WantedEndpoint {
  readonly addresses: readonly string[]
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean }
  readonly hostname?: string | undefined
  readonly nodeName?: string | undefined
  readonly zone?: string | undefined
  readonly targetRef?: TargetRef | undefined
  readonly hints?: EndpointHints | undefined
}

export interface EndpointHints {
  readonly forZones?: readonly { readonly name: string }[]
  readonly forNodes?: readonly { readonly name: string }[]
}

export interface TargetRef {
  readonly kind?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
}

/** Checks whether two lists hold equal items in equal order. */
export function areSame<T>(items: readonly T[], others: readonly T[], isSame: (item: T, other: T) => boolean): boolean {
  return items.length === others.length && items.every((item, index) => isSame(item, others[index] as T))
}

export function isSameTarget(target: TargetRef | undefined, other: TargetRef | undefined): boolean {
  return (
    target?.uid === other?.uid &&
    target?.name === other?.name &&
    target?.namespace === other?.namespace &&
    target?.kind === other?.kind
  )
}

/** A port of a slice. The name is always set: some clients crash on a missing one (spec 2.7). */
export interface WantedPort {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly port: number
  readonly appProtocol?: string | undefined
}

/** Endpoints that share their family and resolved ports; they go into slices of their own. */
export interface EndpointGroup {
  readonly family: IpFamily
  readonly ports: readonly WantedPort[]
  readonly endpoints: readonly WantedEndpoint[]
}

/** Returns a text that is equal for equal sets of ports, in any order. */
export function portsKey(
  ports: readonly {
    readonly name?: string | null | undefined
    readonly protocol: string
    readonly port?: number | null | undefined
    readonly appProtocol?: string | undefined
  }[],
): string {
  const texts = ports.map(({ name, protocol, port, appProtocol }) =>
    [name ?? '', protocol, port ?? '', appProtocol ?? ''].join('|'),
  )
  return texts.sort().join(',')
}

/** Merges groups with equal family and ports; the result has a fixed order. */
export function groupEndpoints(groups: readonly EndpointGroup[]): readonly EndpointGroup[] {
  const portsKeys = new Map<readonly WantedPort[], string>()
  const merged = new Map<string, { family: IpFamily; ports: readonly WantedPort[]; endpoints: WantedEndpoint[] }>()
  for (const { family, ports, endpoints } of groups) {
    // Most groups share one list of ports.
    const portsText = portsKeys.get(ports) ?? portsKey(ports)
    portsKeys.set(ports, portsText)
    const key = `${family} ${portsText}`
    const group = merged.get(key) ?? { family, ports, endpoints: [] }
    for (const endpoint of endpoints) group.endpoints.push(endpoint)
    merged.set(key, group)
  }
  return [...merged.entries()].sort(([a], [b]) => compareTexts(a, b)).map(([, group]) => group)
}

/** Returns the endpoints in a fixed order, independent of the input's order. */
export function sortEndpoints(endpoints: Iterable<WantedEndpoint>): WantedEndpoint[] {
  const keyed = Array.from(endpoints, (endpoint) => ({
    endpoint,
    key: `${endpoint.addresses.join()} ${endpoint.targetRef?.uid ?? ''}`,
  }))
  return keyed.sort((a, b) => compareTexts(a.key, b.key)).map(({ endpoint }) => endpoint)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
