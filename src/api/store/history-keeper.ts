import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from './store.ts'

/** The policy of kept history: revisions younger than the age or among the newest ones, whichever keeps more. */
export interface KeepPolicy {
  readonly minAgeMs: number
  readonly minRevisions: number
}

/** A revision and the time at which it was found to be the newest. */
export interface RevisionMark {
  readonly revision: number
  readonly atMs: number
}

const defaultKeepPolicy: KeepPolicy = { minAgeMs: 5 * 60_000, minRevisions: 10_000 }

/** Returns the newest revision that need not be kept, if there is one. Marks are in order of time. */
export function planCompaction(
  marks: readonly RevisionMark[],
  now: RevisionMark,
  policy: KeepPolicy,
): number | undefined {
  const oldEnough = marks.findLast((mark) => mark.atMs <= now.atMs - policy.minAgeMs)
  if (oldEnough === undefined) return undefined
  const revision = Math.min(oldEnough.revision, now.revision - policy.minRevisions)
  return revision > 0 ? revision : undefined
}

/** Forgets the history that the policy does not keep, at each call of `tidy`. */
export class HistoryKeeper {
  readonly #store: Store
  readonly #log: Logger
  readonly #policy: KeepPolicy
  #marks: RevisionMark[] = []

  constructor(store: Store, log: Logger, policy: KeepPolicy = defaultKeepPolicy) {
    this.#store = store
    this.#log = log
    this.#policy = policy
  }

  /** Applies the policy; called about every minute, with a monotonic clock. */
  async tidy(nowMs: number): Promise<void> {
    const now = { revision: this.#store.revision, atMs: nowMs }
    const revision = planCompaction(this.#marks, now, this.#policy)
    this.#marks = [...dropOldMarks(this.#marks, nowMs - this.#policy.minAgeMs), now]
    if (revision === undefined || revision <= this.#store.compactRevision) return
    try {
      await this.#store.compact(revision)
      this.#log.debug('history compacted', { revision })
    } catch (thrown) {
      this.#log.warn('history could not be compacted', { revision, error: describeError(thrown) })
    }
  }
}

/** Drops the old marks except the newest of them, the only one that still matters. */
function dropOldMarks(marks: readonly RevisionMark[], oldEnoughMs: number): readonly RevisionMark[] {
  const newestOld = marks.findLastIndex((mark) => mark.atMs <= oldEnoughMs)
  return marks.slice(Math.max(0, newestOld))
}
