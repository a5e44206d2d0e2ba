import type { Ip } from '../../../model/ip.ts'
import type { LabelSelector } from '../../../model/selector.ts'
import type { WireName } from '../wire/name.ts'

/** How the names of Pods are answered (CoreDNS' `pods`). */
export type PodRecords = 'disabled' | 'insecure' | 'verified'

/** What the cluster's zones are made with: the settings of a `kubernetes` block of the Corefile. */
export interface ZoneSettings {
  /** Folded; at least one is no reverse zone, and the first of these is where reverse answers lead. */
  readonly zones: readonly WireName[]
  /** TTL of every record, seconds; negative answers have 5 or this, whatever is less. */
  readonly ttl: number
  readonly pods: PodRecords
  /** SRV targets and reverse answers call an endpoint by its Pod's name, where it has no hostname. */
  readonly endpointPodNames: boolean
  /** Services with a cluster address and no ready endpoint do not exist. */
  readonly ignoreEmptyServices: boolean
  readonly useEndpoints: boolean
  /** Only these are served; every one where undefined. */
  readonly namespaces?: ReadonlySet<string>
  /** Only Services (and Pods) with such labels are served, and only namespaces; every one where undefined. */
  readonly labels?: LabelSelector
  readonly namespaceLabels?: LabelSelector
  /** Zones whose missing names are for the next plugin to answer. */
  readonly fallthroughZones: readonly WireName[]
  /** Where `ns.dns.ZONE`, the name server of each zone, has its address. */
  readonly nameServers: readonly Ip[]
}

/** Seconds for which a client may remember that a name or record is missing. */
export const negativeTtl = 5

/** Seconds; CoreDNS' figure. */
export const versionTtl = 28_800

/** Of the DNS specification of Kubernetes that the records follow. */
export const schemaVersion = '1.1.0'

/** Returns whether two settings give the same names and answers. */
export function sameZone(a: ZoneSettings, b: ZoneSettings): boolean {
  return zoneText(a) === zoneText(b)
}

function zoneText(settings: ZoneSettings): string {
  return JSON.stringify(settings, (_, value) => (value instanceof Set ? [...value] : value))
}
