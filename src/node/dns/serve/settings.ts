import type { Cidr, Ip } from '../../../model/ip.ts'
import type { ThreadCacheSettings } from '../plugins/cache/thread-answer-cache.ts'
import type { OrderSettings } from '../plugins/loadbalance/answer-order.ts'
import type { LogRule } from '../plugins/log/settings.ts'
import type { ChainSettings } from './chain.ts'

/** Who gets answers there: everybody, or only the cluster's and the nodes' addresses. */
type Access = 'everybody' | 'cluster'

/** One address and port on which every serving thread listens, over UDP and TCP. */
export interface ListenAddress {
  readonly address: Ip
  readonly port: number
  readonly access: Access
  /** Indices into the blocks. */
  readonly blocks: readonly number[]
}

/** A place as it is configured now: sockets outlive configurations. */
export interface Listener {
  current: ListenAddress
}

/** One server block as a serving thread needs it; plain data, so that it may cross to another thread. */
export interface ServedBlock {
  /** The same over reloads for the same block. */
  readonly id: string
  /** Folded, in wire form. */
  readonly zones: readonly Uint8Array[]
  /** As CoreDNS labels its metrics: `dns://:53`, or with the address where there is one. */
  readonly server: string
  /** Index of the table with the cluster's names; undefined without `kubernetes`. */
  readonly table: number | undefined
  readonly rotate: boolean
  /** What `loadbalance` says beyond turning the order of addresses. */
  readonly order: OrderSettings | undefined
  readonly chain: ChainSettings
  /** What is told of each answer. */
  readonly log: readonly LogRule[]
  /** Whether questions it does not know go on to a cache or an upstream. */
  readonly resolves: boolean
  /** Answers of the cache are kept here, too; undefined without a cache, or with one that has to see every question. */
  readonly threadCache: ThreadCacheSettings | undefined
  /** Whether questions of other classes than IN are passed on. */
  readonly forwards: boolean
}

export interface ServingSettings {
  readonly blocks: readonly ServedBlock[]
  readonly addresses: readonly ListenAddress[]
  /** Sources that `cluster` places answer. */
  readonly clusterSources: readonly Cidr[]
  /** Connections at the same time, of one thread. */
  readonly maxConnections: number
}
