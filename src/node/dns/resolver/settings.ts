import type { CacheSettings } from '../plugins/cache/settings.ts'
import type { ErrorsSettings } from '../plugins/errors/settings.ts'
import type { ForwardSettings } from '../plugins/forward/settings.ts'

/** One `forward` of a server block. Names are in wire form. */
export interface ForwardRule {
  readonly from: Uint8Array
  readonly except: readonly Uint8Array[]
  /** Answers with these rcodes, or without data, are left to the next `forward` of the block that takes the name. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
  readonly settings: ForwardSettings
}

/** How one server block answers names that are not the cluster's; plain data, so that it may cross to another thread. */
export interface ResolverSettings {
  /** Stays the same over reloads, so that the cache is kept. */
  readonly id: string
  /** The label `server` of CoreDNS' metrics: `dns://:53`. */
  readonly server: string
  readonly cache: { readonly zones: readonly Uint8Array[]; readonly settings: CacheSettings } | undefined
  readonly forwards: readonly ForwardRule[]
  /** How failures are logged; undefined is not at all. */
  readonly errors: ErrorsSettings | undefined
  /** The zone of `loop`. Upstreams are asked for a name in it; the query comes back if they lead to this server. */
  readonly loopZone: Uint8Array | undefined
}
