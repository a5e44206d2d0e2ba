import type { WireName } from '../../wire/name.ts'

/** `cache` of a Corefile, for one side: answers that exist, or denials. */
export interface CacheSide {
  /** Entries. */
  readonly capacity: number
  readonly maxTtlSeconds: number
  /** What is shorter is kept this long all the same; 0 honours every TTL. */
  readonly minTtlSeconds: number
  /** Zones (wire form, folded) below which nothing of this side is kept. */
  readonly disabledZones: readonly Uint8Array[]
}

export interface CacheSettings {
  readonly success: CacheSide
  readonly denial: CacheSide
  /** Asked again before they expire: names with `amount` hits, no longer than `withinMs` apart, in the last `percentage` of their time. */
  readonly prefetch: { readonly amount: number; readonly withinMs: number; readonly percentage: number } | undefined
  readonly serveStale: ServeStale | undefined
  /** How long a SERVFAIL is kept; 0 is not at all. */
  readonly servfailMs: number
  /** TTLs are passed on as they came, not lowered by the age. */
  readonly keepTtl: boolean
}

export interface ServeStale {
  /** How long after its time an answer may still be given. */
  readonly forMs: number
  /** Give it at once and ask meanwhile, or ask first and give it when no answer comes within `verifyTimeoutMs`. */
  readonly mode: 'immediate' | 'verify'
  /** 0 is as long as the upstreams are waited for. */
  readonly verifyTimeoutMs: number
  readonly ttlSeconds: number
  /** How long after asking in vain the upstreams are not asked again for the same; 0 is not at all. */
  readonly recheckMs: number
  /** An answer with records, though too old, is given before a newer one without. */
  readonly prefersPositive: boolean
}

export interface CachePlugin {
  readonly zones: readonly WireName[]
  readonly settings: CacheSettings
}
