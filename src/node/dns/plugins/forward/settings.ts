import type { DatagramSweep } from '../../../../host/datagrams/index.ts'
import type { Deadlines } from '../../../../loop/deadlines.ts'
import type { Ip } from '../../../../model/ip.ts'
import type { SourceLocation } from '../../corefile/errors.ts'
import type { WireName } from '../../wire/name.ts'
import type { RandomNumbers } from './random-numbers.ts'

/** One server that queries are forwarded to, over TLS where `tls` is set. */
export interface UpstreamTarget {
  readonly address: Ip
  readonly port: number
  readonly tls?: UpstreamTls
}

/** PEM texts, and the server name that is sent (SNI) and checked against the certificate. */
interface UpstreamTls {
  readonly serverName?: string
  readonly authority?: string
  readonly certificate?: string
  readonly key?: string
}

export interface ForwardSettings {
  readonly targets: readonly UpstreamTarget[]
  readonly policy: 'random' | 'round_robin' | 'sequential'
  readonly forceTcp: boolean
  readonly preferUdp: boolean
  /** How long an idle connection stays open. */
  readonly expireMs: number
  /** How long a connection or socket is used at most; 0 has no limit. */
  readonly maxAgeMs: number
  /** The source address of queries, for upstreams of its family. */
  readonly sourceAddress?: Ip | undefined
  /** The attempts for one query: 0 is until its time is over, undefined two for each upstream. */
  readonly maxConnectAttempts?: number | undefined
  /** The time limit of one attempt. */
  readonly readTimeoutMs: number
  /** How many failures in a row make an upstream count as down; 0 is never. */
  readonly maxFails: number
  readonly healthCheck: { readonly intervalMs: number; readonly recursion: boolean; readonly domain: string }
  /** How many queries are in progress at the same time; undefined has no limit. */
  readonly maxConcurrent: number | undefined
  /** Answers with these rcodes make the query go to another upstream. */
  readonly failover: readonly number[]
  /** While all upstreams are down: SERVFAIL at once, instead of an attempt at one of them. */
  readonly failfastAllUnhealthy: boolean
}

/** The settings that the connections to one upstream need. The source address is set only where it has the upstream's family. */
export interface ConnectionSettings extends Pick<ForwardSettings, 'expireMs' | 'maxAgeMs' | 'sourceAddress'> {
  readonly random: RandomNumbers
  readonly deadlines: Deadlines
  /** Reads the sockets of the thread; undefined where each upstream reads its own. */
  readonly sweep?: DatagramSweep | undefined
  /** Receives the transport of each query, and whether an open connection was reused. */
  readonly onConnection?: (transport: UpstreamTransport, kept: boolean) => void
}

export type UpstreamTransport = 'udp' | 'tcp' | 'tcp-tls'

/** One `forward` of a server block. Names are in wire form. */
export interface ForwardRule {
  readonly from: Uint8Array
  readonly except: readonly Uint8Array[]
  /** Answers with these rcodes, or without data, are left to the next `forward` of the block that takes the name. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
  readonly settings: ForwardSettings
}

/** The target of `forward`: an address, or the `nameserver` lines of a resolver file. */
export type ForwardTarget =
  | {
      readonly kind: 'address'
      readonly address: Ip
      readonly port: number
      readonly overTls: boolean
      readonly serverName?: string
    }
  | { readonly kind: 'file'; readonly path: string }

export interface ForwardPlugin extends Omit<ForwardSettings, 'targets'> {
  readonly location: SourceLocation
  readonly from: WireName
  readonly to: readonly ForwardTarget[]
  readonly except: readonly WireName[]
  readonly tls?: ForwardTls
  /** How many idle connections there may be; 0 has no limit. */
  readonly maxIdleConnections: number
  /** Answers with these rcodes, or without data, are left to the next `forward` of the block. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
}

/** The paths of PEM files, and the line that names them. */
interface ForwardTls {
  readonly location: SourceLocation
  readonly certificate?: string
  readonly key?: string
  readonly authority?: string
  readonly serverName?: string
}
