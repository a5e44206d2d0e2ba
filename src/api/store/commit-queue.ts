import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Journal } from './journal.ts'
import type { CommitRecord } from './versioned-keys.ts'

/** The limit of commits in one transaction; also of those that watchers get at once. */
const maxGroupSize = 256

export interface CommitReport {
  readonly writes: number
  /** Commits that became durable in the same transaction. */
  readonly groupSize: number
  /** The time from acceptance to durability. */
  readonly durationMs: number
}

export interface QueueObserver {
  /** Called in order of revision, before the commit's promise resolves. */
  onDurable(record: CommitRecord, report: CommitReport): void
  /** Called once, before any promise rejects; nothing is written after it. Returns the error for the rejections. */
  onFailure(thrown: unknown): Error
}

interface QueuedCommit {
  readonly record: CommitRecord
  readonly acceptedAtMs: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Writes commits in order; all commits that wait are written as one group. */
export class CommitQueue {
  readonly #journal: Journal
  readonly #observer: QueueObserver
  #waiting: QueuedCommit[] = []
  #drained: Promise<void> | undefined

  constructor(journal: Journal, observer: QueueObserver) {
    this.#journal = journal
    this.#observer = observer
  }

  /** Resolves when the commit is durable and the observer has seen it. */
  add(record: CommitRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, acceptedAtMs: performance.now(), resolve, reject })
      this.#drained ??= this.#drain()
    })
  }

  /** Resolves when no commit waits any more. */
  async drained(): Promise<void> {
    await this.#drained
  }

  /** Begins after all requests of this turn of the event loop: each group costs a transaction and wakes a thread. */
  async #drain(): Promise<void> {
    await endOfTurn()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, maxGroupSize)
      try {
        await this.#journal.append(group.map(({ record }) => record))
      } catch (thrown) {
        this.#rejectAll(group, this.#observer.onFailure(thrown))
        break
      }
      for (const commit of group) this.#settle(commit, group.length)
    }
    this.#drained = undefined
  }

  #settle({ record, acceptedAtMs, resolve }: QueuedCommit, groupSize: number): void {
    const durationMs = performance.now() - acceptedAtMs
    this.#observer.onDurable(record, { writes: record.events.length, groupSize, durationMs })
    resolve()
  }

  #rejectAll(group: readonly QueuedCommit[], error: Error): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of [...group, ...waiting]) reject(error)
  }
}
