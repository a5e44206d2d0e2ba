import { readLayout } from '../../wire/message.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import type { StoredTimes } from './answer-store.ts'
import type { CacheKind } from './lifetime.ts'

/** One cached message of an upstream as it was found: a copy of what the cache has. */
export interface CachedAnswer extends StoredTimes {
  readonly kind: CacheKind
  /** The low 4 bits of the rcode. */
  readonly rcode: number
  /** When the upstreams last failed to give a newer answer; long ago where they did not fail. */
  readonly failedAtMs: number
  /** With the TTLs that clients may see. */
  readonly message: Buffer
}

/** Finds the records of a cached message. */
export function readCached({ message }: CachedAnswer): UpstreamAnswer {
  return { message, layout: readLayout(message, message.length) }
}
