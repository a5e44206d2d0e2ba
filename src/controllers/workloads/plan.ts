import type { Write } from '../objects/writes.ts'

/** What one pass over a workload wants: the writes in their order, and when to look again if nothing changes before. */
export interface Plan {
  readonly writes: readonly Write[]
  readonly againInMs?: number | undefined
}
