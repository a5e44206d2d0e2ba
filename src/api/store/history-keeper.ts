import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from './store.ts'

/** History stays while it is younger than the age or among the newest revisions: whichever keeps more. */
export interface KeepPolicy {
  readonly minAgeMs: number
  readonly minRevisions: number
}

/** A revision and when it was seen to be the newest. */
export interface RevisionMark {
  readonly revision: number
  readonly atMs: number
}

const defaultKeepPolicy: KeepPolicy = { minAgeMs: 5 * 60_000, minRevisions: 10_000 }

/** The newest revision that need not be kept, if there is one. Marks in order of time. */
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

/** Forgets what the policy does not keep, each time it is told to look. */
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

  /** To be called every minute or so, with a clock that only goes forward. */
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

/** Of the marks that are old enough only the newest still matters. */
function dropOldMarks(marks: readonly RevisionMark[], oldEnoughMs: number): readonly RevisionMark[] {
  const newestOld = marks.findLastIndex((mark) => mark.atMs <= oldEnoughMs)
  return marks.slice(Math.max(0, newestOld))
}
