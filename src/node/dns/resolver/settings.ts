import type { CacheSettings } from '../plugins/cache/settings.ts'
import type { ErrorsSettings } from '../plugins/errors/settings.ts'
import type { ForwardSettings } from '../plugins/forward/settings.ts'

/** One `forward` of a server block. Names are in wire form. */
export interface ForwardRule {
  readonly from: Uint8Array
  readonly except: readonly Uint8Array[]
  /** Answers with these rcodes, or without data, are for the next `forward` of the block that takes the name. */
  readonly next: readonly number[]
  readonly nextOnNodata: boolean
  readonly settings: ForwardSettings
}

/** How one server block answers what it does not know itself; plain data, so that it may cross to another thread. */
export interface ResolverSettings {
  /** The same over reloads for the same block: what has been kept stays. */
  readonly id: string
  /** As CoreDNS labels its metrics: `dns://:53`. */
  readonly server: string
  readonly cache: { readonly zones: readonly Uint8Array[]; readonly settings: CacheSettings } | undefined
  readonly forwards: readonly ForwardRule[]
  /** Failures are told as this says, or not at all. */
  readonly errors: ErrorsSettings | undefined
  /** The zone of its `loop`: upstreams are asked for a name there that comes back if they lead here. */
  readonly loopZone: Uint8Array | undefined
}
