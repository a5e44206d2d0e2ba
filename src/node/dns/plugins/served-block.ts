import type { ThreadCacheSettings } from './cache/thread-answer-cache.ts'
import type { HostsWithText } from './hosts/handler.ts'
import type { OrderSettings } from './loadbalance/handler.ts'
import type { LogRule } from './log/settings.ts'
import type { RewriteRule } from './rewrite/settings.ts'
import type { TemplateSettings } from './template/settings.ts'

/** One server block as a serving thread needs it; plain data, so that it may cross to another thread. */
export interface ServedBlock {
  /** Stays the same over reloads, so that counts and copies go on. */
  readonly id: string
  /** In wire form and in lower case. */
  readonly zones: readonly Uint8Array[]
  /** The label `server` of CoreDNS' metrics: `dns://:53`, with the address where the block is bound to one. */
  readonly server: string
  readonly log: readonly LogRule[]
  /** `order` is undefined where addresses are only rotated. */
  readonly loadbalance: { readonly order: OrderSettings | undefined } | undefined
  readonly rewrite: readonly RewriteRule[]
  readonly template: readonly TemplateSettings[]
  readonly hosts: HostsWithText | undefined
  /** `table` is the index of the table with the cluster's names. */
  readonly kubernetes: { readonly table: number } | undefined
  /** Undefined without a cache, and with one that prefetches: that one has to count every question. */
  readonly cache: ThreadCacheSettings | undefined
  /** The block has upstreams. Without them it refuses classes other than IN. */
  readonly forwards: boolean
}
