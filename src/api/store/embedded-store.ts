import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import { CommitQueue, type CommitReport } from './commit-queue.ts'
import type { Journal } from './journal.ts'
import type { EventListener, Store, StoreWatch, WatchOptions } from './store.ts'
import type { CommitResult, Range, StoredEntry, StoreWrite } from './store-entries.ts'
import { StoreError } from './store-error.ts'
import { keyOfEvent, type StoreState } from './store-state.ts'
import { assertSensible, toStoreEvent } from './store-write.ts'
import type { StoredLengths } from './stored-lengths.ts'
import type { CommitRecord, RangeOptions } from './versioned-keys.ts'
import { Watchers } from './watchers.ts'

export interface EmbeddedStoreOptions {
  readonly log: Logger
  /** Called for every commit once it is durable; must not throw. */
  readonly onCommit?: (report: CommitReport) => void
  /** The limit of history in memory, in characters; beyond it half is forgotten, whatever its age. */
  readonly maxHistoryLength?: number
  /** The time between two attempts of a full store to write again; 1000 when absent. */
  readonly recoveryIntervalMs?: number
}

/** The default limit of history: less on a small machine, because the heap also holds the current state. */
export const defaultHistoryLength = Math.min(256 * 1024 * 1024, getHeapStatistics().heap_size_limit / 8)

/** The newest accepted state of a key while it is not durable yet. */
interface AcceptedKey {
  readonly revision: number
  readonly entry: StoredEntry | undefined
  readonly durable: Promise<void>
}

/**
 * The store of one process: state in memory, a journal for durability. Reads and watchers see durable commits only. A
 * commit is checked against the newest accepted state, so that two writers of one key learn without a wait for the disk
 * which of them lost.
 */
export class EmbeddedStore implements Store {
  readonly #journal: Journal
  readonly #state: StoreState
  readonly #log: Logger
  readonly #onCommit: (report: CommitReport) => void
  readonly #watchers: Watchers
  readonly #queue: CommitQueue
  readonly #maxHistoryLength: number
  #isShortening = false
  readonly #accepted = new Map<string, AcceptedKey>()
  #acceptedRevision: number
  #failure: StoreError | undefined
  #closing: Promise<void> | undefined
  readonly #closed = new AbortController()
  readonly #recoveryIntervalMs: number

  constructor(journal: Journal, state: StoreState, options: EmbeddedStoreOptions) {
    this.#journal = journal
    this.#state = state
    this.#log = options.log
    this.#onCommit = options.onCommit ?? (() => {})
    this.#maxHistoryLength = options.maxHistoryLength ?? defaultHistoryLength
    this.#recoveryIntervalMs = options.recoveryIntervalMs ?? 1000
    this.#watchers = new Watchers(options.log)
    this.#queue = new CommitQueue(journal, {
      onDurable: (record, report) => this.#publish(record, report),
      onFailure: (thrown) => this.#fail(thrown),
    })
    this.#acceptedRevision = state.revision
  }

  get revision(): number {
    return this.#state.revision
  }

  get compactRevision(): number {
    return this.#state.compactRevision
  }

  get lengths(): StoredLengths {
    return this.#state.lengths
  }

  get failure(): StoreError | undefined {
    return this.#failure
  }

  catchUp(): undefined {
    return undefined
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return this.#state.get(key)
  }

  changedAt(collection: string): number {
    return this.#state.changedAt(collection)
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<Range> {
    return this.#state.range(prefix, options)
  }

  async count(prefix: string, options: Omit<RangeOptions, 'limit'> = {}): Promise<number> {
    return this.#state.count(prefix, options)
  }

  async commit(writes: readonly StoreWrite[], traceparent?: string): Promise<CommitResult> {
    this.#assertWritable()
    assertSensible(writes)
    const rival = writes.find((write) => (this.#newest(write.key)?.revision ?? 0) !== write.expectedRevision)
    if (rival !== undefined) return this.#conflict(rival.key)
    const { record, durable } = this.#accept(writes, traceparent)
    await durable
    return { kind: 'committed', revision: record.revision }
  }

  watch(prefix: string, afterRevision: number, onEvents: EventListener, options: WatchOptions = {}): StoreWatch {
    const since = { revision: afterRevision, backlog: this.#state.since(afterRevision) }
    return this.#watchers.add(prefix, since, onEvents, options)
  }

  async backup(path: string): Promise<void> {
    await this.#journal.copyTo(path)
  }

  async compact(revision: number): Promise<void> {
    this.#assertWritable()
    if (revision <= this.#state.compactRevision) return
    this.#state.assertReached(revision)
    try {
      await this.#journal.compact(revision)
    } catch (thrown) {
      throw new StoreError('compaction-failed', `history up to revision ${revision} could not be dropped`, {
        cause: thrown,
      })
    }
    this.#watchers.endBehind(revision)
    await this.#state.compact(revision)
  }

  close(): Promise<void> {
    this.#closed.abort()
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#queue.drained()
    this.#watchers.closeAll()
    await this.#journal.close()
  }

  #newest(key: string): StoredEntry | undefined {
    const accepted = this.#accepted.get(key)
    return accepted === undefined ? this.#state.get(key) : accepted.entry
  }

  /** Resolves with the conflict once the conflicting write is durable: a later reader must find it. */
  async #conflict(key: string): Promise<CommitResult> {
    const current = this.#newest(key)
    await this.#accepted.get(key)?.durable
    return { kind: 'conflict', key, current }
  }

  #accept(
    writes: readonly StoreWrite[],
    traceparent: string | undefined,
  ): { record: CommitRecord; durable: Promise<void> } {
    const revision = this.#acceptedRevision + 1
    const events = writes.map((write) => {
      const event = toStoreEvent(write, revision, this.#newest(write.key))
      return traceparent === undefined ? event : { ...event, traceparent }
    })
    const record = { revision, events }
    const durable = this.#queue.add(record)
    this.#acceptedRevision = revision
    for (const event of events) {
      const entry = event.kind === 'put' ? event.entry : undefined
      this.#accepted.set(keyOfEvent(event), { revision, entry, durable })
    }
    return { record, durable }
  }

  #publish(record: CommitRecord, report: CommitReport): void {
    this.#state.apply(record)
    for (const event of record.events) {
      const key = keyOfEvent(event)
      if (this.#accepted.get(key)?.revision === record.revision) this.#accepted.delete(key)
    }
    this.#watchers.announce(record)
    this.#onCommit(report)
    if (this.#state.historyLength > this.#maxHistoryLength && !this.#isShortening) void this.#shortenHistory()
  }

  /** Shortens the history by size: large objects that change often would fill the memory before the history is old. */
  async #shortenHistory(): Promise<void> {
    const revision = this.#state.revisionBefore(this.#maxHistoryLength / 2)
    this.#isShortening = true
    try {
      await this.compact(revision)
      this.#log.info('history is forgotten early: it holds much', { revision })
    } catch (thrown) {
      this.#log.warn('history could not be shortened', { revision, error: describeError(thrown) })
    } finally {
      this.#isShortening = false
    }
  }

  #assertWritable(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#closing !== undefined) throw new StoreError('store-closed', 'the store is closed')
  }

  #fail(thrown: unknown): StoreError {
    const isFull = thrown instanceof StoreError && thrown.code === 'store-full'
    const failure = isFull ? thrown : readOnlyFailure(thrown)
    this.#failure = failure
    this.#accepted.clear()
    this.#log.error(failure.message, { remedy: failure.remedy })
    if (isFull) void this.#takeWritesAgain()
    return failure
  }

  /** Tries to write until there is space. None of the rejected commits is durable then, so their revisions are given out again. */
  async #takeWritesAgain(): Promise<void> {
    const { signal } = this.#closed
    for (;;) {
      await sleep(this.#recoveryIntervalMs, undefined, { ref: false, signal }).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#journal.recover(this.#state.revision)
        break
      } catch (thrown) {
        if (thrown instanceof StoreError && thrown.code === 'store-full') continue
        this.#fail(thrown)
        return
      }
    }
    this.#acceptedRevision = this.#state.revision
    this.#failure = undefined
    this.#log.info('there is space again: the store takes writes')
  }
}

function readOnlyFailure(thrown: unknown): StoreError {
  return new StoreError(
    'store-failed',
    `the store could not write and only reads from now on: ${describeError(thrown)}`,
    {
      remedy: 'see to the disk of the data directory (space, permission, health), then restart the server',
      cause: thrown,
    },
  )
}
