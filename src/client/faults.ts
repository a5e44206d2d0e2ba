import { ApiError } from './errors.ts'

const maxRetryAfterMs = 60_000

/** How long the server asks to stay away after this error; at most a minute. */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs) : 0
}

/** Whether no server listens at the address. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}

/**
 * Whether going on from the last resourceVersion would fail again: it is too old (410), too new (the server's data was
 * restored), refused, or the stream after it cannot be read. A list is the way out of each.
 */
export function losesHistory(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  if (error.causes.some((cause) => cause.reason === 'ResourceVersionTooLarge')) return true
  return (
    error.code === 'expired' ||
    error.code === 'bad-request' ||
    error.code === 'invalid' ||
    error.code === 'bad-response'
  )
}
