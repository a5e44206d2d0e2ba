import type { Ip } from '../../../../model/ip.ts'
import type { SourceLocation } from '../../corefile/errors.ts'
import type { WireName } from '../../wire/name.ts'
import type { RandomNumbers } from './random-numbers.ts'

/** One server that queries are passed on to; over TLS where `tls` stands. */
export interface UpstreamTarget {
  readonly address: Ip
  readonly port: number
  readonly tls?: UpstreamTls
}

/** PEM texts; the server's name is checked against its certificate and sent (SNI). */
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
  /** How long an idle connection is kept. */
  readonly expireMs: number
  /** How long a connection or socket is used at most; 0 is for ever. */
  readonly maxAgeMs: number
  /** Where queries are sent from, for upstreams of its family. */
  readonly sourceAddress?: Ip | undefined
  /** Attempts for one query: 0 is until its time is over, undefined two for each upstream. */
  readonly maxConnectAttempts?: number | undefined
  /** Of one attempt. */
  readonly readTimeoutMs: number
  /** Failures in a row after which an upstream counts as down; 0 is never. */
  readonly maxFails: number
  readonly healthCheck: { readonly intervalMs: number; readonly recursion: boolean; readonly domain: string }
  /** Queries under way at the same time; undefined is any number. */
  readonly maxConcurrent: number | undefined
  /** Answers with these rcodes are asked for again at another upstream. */
  readonly failover: readonly number[]
  /** With all upstreams down: SERVFAIL at once instead of trying one all the same. */
  readonly failfastAllUnhealthy: boolean
}

/** What of them the connections to one upstream need; the source only where it has the upstream's family. */
export interface ChannelSettings extends Pick<ForwardSettings, 'expireMs' | 'maxAgeMs' | 'sourceAddress'> {
  readonly random: RandomNumbers
  /** Told of each query: over what it goes, and whether a connection was kept for it. */
  readonly onConnection?: (transport: UpstreamTransport, kept: boolean) => void
}

export type UpstreamTransport = 'udp' | 'tcp' | 'tcp-tls'

/** Where `forward` sends to: an address, or the `nameserver` lines of a resolver file. */
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
  /** What kept connections may be at most; 0 is any number. */
  readonly maxIdleConnections: number
  /** Answers with these rcodes, or without data, are for the next `forward` of the block. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
}

/** Paths of PEM files, and the line they stand in. */
interface ForwardTls {
  readonly location: SourceLocation
  readonly certificate?: string
  readonly key?: string
  readonly authority?: string
  readonly serverName?: string
}
