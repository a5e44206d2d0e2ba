import type { WireName } from '../../wire/name.ts'

/** The settings of one side of the cache: positive answers, or denials. */
export interface CacheSide {
  /** How many entries the side has. */
  readonly capacity: number
  readonly maxTtlSeconds: number
  /** A shorter TTL is raised to this one; 0 honours every TTL. */
  readonly minTtlSeconds: number
  /** The zones, in wire form and in lower case, below which this side caches nothing. */
  readonly disabledZones: readonly Uint8Array[]
}

export interface CacheSettings {
  readonly success: CacheSide
  readonly denial: CacheSide
  /** Names with `amount` hits, no longer than `withinMs` apart, are fetched again in the last `percentage` of their time. */
  readonly prefetch: { readonly amount: number; readonly withinMs: number; readonly percentage: number } | undefined
  readonly serveStale: ServeStale | undefined
  /** How long a SERVFAIL is cached; 0 is not at all. */
  readonly servfailMs: number
  /** TTLs are passed on unchanged, not lowered by the age. */
  readonly keepTtl: boolean
}

export interface ServeStale {
  /** How long after it expired an answer may still be given. */
  readonly forMs: number
  /**
   * `immediate` gives the stale answer at once and asks meanwhile; `verify` asks first, and gives it when no answer comes within
   * `verifyTimeoutMs`.
   */
  readonly mode: 'immediate' | 'verify'
  /** How long `verify` waits for the upstreams; 0 is as long as a query may take. */
  readonly verifyTimeoutMs: number
  readonly ttlSeconds: number
  /** For how long after a failure the upstreams are not asked again for the same question; 0 is not at all. */
  readonly recheckMs: number
  /** A stale answer with records comes before a newer one without. */
  readonly prefersPositive: boolean
}

export interface CachePlugin {
  readonly zones: readonly WireName[]
  readonly settings: CacheSettings
}
