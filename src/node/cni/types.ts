import type { JsonObject } from '../../model/api-object.ts'
import type { Cidr, Ip } from '../../model/ip.ts'

/** One interface of one pod, which ADD creates and DEL removes. */
export interface CniSandbox {
  /** Letters, digits, `_`, `.` and `-`, the first a letter or digit; also part of file names. */
  readonly containerId: string
  /** A path such as /run/netns/web-0 that holds the namespace open. It must exist until DEL is done. */
  readonly netnsPath: string
  /** At most 15 characters; usually `eth0`. */
  readonly ifName: string
  readonly podNamespace: string
  readonly podName: string
  readonly podUid: string
  readonly portMappings?: readonly PortMapping[]
  readonly bandwidth?: Bandwidth
  /** Sets of ranges for the `ipRanges` capability, one set per address. */
  readonly ipRanges?: readonly (readonly IpRange[])[]
  /** Requested addresses with prefix length (`ips`). */
  readonly ips?: readonly string[]
  readonly mac?: string
  readonly dns?: PodDns
  readonly aliases?: readonly string[]
}

export interface PortMapping {
  readonly hostPort: number
  readonly containerPort: number
  readonly protocol: 'tcp' | 'udp' | 'sctp'
  readonly hostIP?: Ip
}

/** Rates in bits per second, bursts in bits. */
export interface Bandwidth {
  readonly ingressRate?: number
  readonly ingressBurst?: number
  readonly egressRate?: number
  readonly egressBurst?: number
}

interface IpRange {
  readonly subnet: Cidr
  readonly rangeStart?: Ip
  readonly rangeEnd?: Ip
  readonly gateway?: Ip
}

interface PodDns {
  readonly servers: readonly Ip[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

/** The parsed result of an ADD; addresses are canonical. */
export interface CniResult {
  readonly ips: readonly CniAddress[]
  readonly interfaces: readonly CniInterface[]
  readonly routes: readonly CniRoute[]
  readonly dns: CniDns
}

export interface CniAddress {
  readonly ip: Ip
  readonly prefixLength: number
  readonly gateway?: Ip
  /** Index into `interfaces`. */
  readonly interface?: number
}

interface CniInterface {
  readonly name: string
  readonly mac?: string
  /** The namespace's path; absent for an interface of the node. */
  readonly sandbox?: string
}

export interface CniRoute {
  readonly destination: Cidr
  readonly gateway?: Ip
}

interface CniDns {
  readonly nameservers: readonly string[]
  readonly domain?: string
  readonly search: readonly string[]
  readonly options: readonly string[]
}

/** One plugin of a network file. */
export interface PluginConfig {
  readonly type: string
  /** Names of the capabilities it declares. */
  readonly capabilities: readonly string[]
  /** All fields of the file except `capabilities`. */
  readonly fields: JsonObject
}

/** A network list whose plugin versions are not known yet. */
export interface NetworkConfig {
  readonly name: string
  /** Path of the file it came from. */
  readonly file: string
  /** The known versions of `cniVersion` and `cniVersions`. */
  readonly versions: readonly string[]
  readonly disableCheck: boolean
  readonly disableGc: boolean
  readonly plugins: readonly PluginConfig[]
  /** The list in the form of the result cache, with the plugins of `net.d/<name>/`. */
  readonly json: JsonObject
}

/** A network that can be used: every plugin is there and speaks `cniVersion`. */
export interface Network extends NetworkConfig {
  readonly cniVersion: string
}
