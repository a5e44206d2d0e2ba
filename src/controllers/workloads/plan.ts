import type { Write } from '../objects/writes.ts'

/**
 * The result of one pass over a workload: the writes in their order, and when the next pass is due if nothing changes
 * before.
 */
export interface Plan {
  readonly writes: readonly Write[]
  readonly againInMs?: number | undefined
}
