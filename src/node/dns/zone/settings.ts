import type { Ip } from '../../../model/ip.ts'
import type { LabelSelector } from '../../../model/selector.ts'
import type { WireName } from '../wire/name.ts'

/** How the names of Pods are answered (CoreDNS' `pods`). */
export type PodRecords = 'disabled' | 'insecure' | 'verified'

/** The settings of the cluster's zones, from a `kubernetes` plugin of the Corefile. */
export interface ZoneSettings {
  /** The zones in lower case. At least one is no reverse zone; reverse answers lead to the first of those. */
  readonly zones: readonly WireName[]
  /** The TTL of every record in seconds. Negative answers have the lesser of this and 5. */
  readonly ttl: number
  readonly pods: PodRecords
  /** SRV targets and reverse answers name an endpoint by its Pod, where it has no hostname. */
  readonly endpointPodNames: boolean
  /** A Service with a cluster address and no ready endpoint does not exist. */
  readonly ignoreEmptyServices: boolean
  readonly useEndpoints: boolean
  /** The namespaces that are served; all where undefined. */
  readonly namespaces?: ReadonlySet<string>
  /** The labels of the Services (and Pods) that are served, and those of the namespaces; all where undefined. */
  readonly labels?: LabelSelector
  readonly namespaceLabels?: LabelSelector
  /** The zones in which a missing name is left to the next plugin. */
  readonly fallthroughZones: readonly WireName[]
  /** The addresses of `ns.dns.ZONE`, the name server of each zone. */
  readonly nameServers: readonly Ip[]
}

/** The seconds for which a client may cache that a name or record is missing. */
export const negativeTtl = 5

/** The TTL of `dns-version.ZONE` in seconds, as CoreDNS has it. */
export const versionTtl = 28_800

/** The version of the DNS specification of Kubernetes that the records follow. */
export const schemaVersion = '1.1.0'

/** Returns whether two settings give the same names and answers. */
export function sameZone(a: ZoneSettings, b: ZoneSettings): boolean {
  return zoneText(a) === zoneText(b)
}

function zoneText(settings: ZoneSettings): string {
  return JSON.stringify(settings, (_, value) => (value instanceof Set ? [...value] : value))
}
