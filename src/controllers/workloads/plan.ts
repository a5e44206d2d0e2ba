import type { Write } from '../objects/writes.ts'

export interface FailedWrite {
  readonly write: Write
  readonly error: unknown
}

/**
 * The result of one pass over a workload: the writes in their order, and when the next pass is due if nothing changes
 * before.
 */
export interface Plan {
  readonly writes: readonly Write[]
  readonly againInMs?: number | undefined
  /** Returns the writes that say which write failed; those behind it were not sent. */
  readonly afterFailure?: (failed: FailedWrite) => readonly Write[]
}
