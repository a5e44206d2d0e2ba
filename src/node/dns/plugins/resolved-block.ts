import type { CachePlugin } from './cache/settings.ts'
import type { ErrorsSettings } from './errors/settings.ts'
import type { ForwardRule } from './forward/settings.ts'

/** How one server block answers names that are not the cluster's; plain data, so that it may cross to another thread. */
export interface ResolvedBlock {
  /** Stays the same over reloads, so that the cache is kept. */
  readonly id: string
  /** The label `server` of CoreDNS' metrics: `dns://:53`. */
  readonly server: string
  readonly cache: CachePlugin | undefined
  readonly forwards: readonly ForwardRule[]
  /** How failures are logged; undefined is not at all. */
  readonly errors: ErrorsSettings | undefined
  /** The zone of `loop`. Upstreams are asked for a name in it; the query comes back if they lead to this server. */
  readonly loopZone: Uint8Array | undefined
}
