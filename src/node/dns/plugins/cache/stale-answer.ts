import { followAliases } from '../../wire/aliases.ts'
import { rcode } from '../../wire/codes.ts'
import type { Resolution, ResolvedMessage, UpstreamAnswer } from '../resolver-handler.ts'
import { type CachedAnswer, readCached } from './cached-answer.ts'
import { isFailure } from './lifetime.ts'
import type { ServeStale } from './settings.ts'

/** The TTL of an expired answer that is given because no upstream answers (RFC 8767 4). */
const staleTtlSeconds = 30

/** Returns an expired answer as it is given to a client. */
export function staleMessage(stale: CachedAnswer, serveStale?: ServeStale): ResolvedMessage {
  return {
    kind: 'message',
    plugin: 'cache',
    ...readCached(stale),
    ageMs: performance.now() - stale.expiresAtMs,
    ageSeconds: 0,
    ttlSeconds: serveStale?.ttlSeconds ?? staleTtlSeconds,
    copy: undefined,
  }
}

export function failedRecently({ failedAtMs }: CachedAnswer, { recheckMs }: ServeStale, nowMs: number): boolean {
  return nowMs - failedAtMs < recheckMs
}

/** Returns whether the upstreams gave no answer, or one that says nothing of the name. */
export function isUnanswered(resolution: Resolution): boolean {
  if (resolution.kind === 'code') return resolution.because === 'failed'
  return resolution.kind === 'message' && isFailure(resolution.layout.rcode)
}

/** Returns whether the expired answer has records, which are preferred, and the fresh one has none. */
export function isWorse(fresh: UpstreamAnswer, stale: CachedAnswer, { prefersPositive }: ServeStale): boolean {
  return prefersPositive && stale.kind === 'success' && !isPositive(fresh)
}

function isPositive({ message, layout }: UpstreamAnswer): boolean {
  return layout.rcode === rcode.NOERROR && followAliases(message, layout).isAnswered
}
