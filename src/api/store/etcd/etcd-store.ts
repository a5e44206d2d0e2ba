import { describeError } from '../../../model/errors.ts'
import type { Logger } from '../../../observe/logger.ts'
import type { CommitReport } from '../commit-queue.ts'
import { defaultHistoryLength } from '../embedded-store.ts'
import type { EventListener, Store, StoreWatch, WatchOptions } from '../store.ts'
import type { CommitResult, Range, StoredEntry, StoreWrite } from '../store-entries.ts'
import { StoreError } from '../store-error.ts'
import { assertSensible } from '../store-write.ts'
import type { StoredLengths } from '../stored-lengths.ts'
import type { RangeOptions } from '../versioned-keys.ts'
import type { EtcdClient } from './etcd-client.ts'
import { EtcdCallError, isCompacted, isNoSpace, toStoreError } from './etcd-error.ts'
import type { KeySpace } from './key-space.ts'
import { textOf } from './load-etcd.ts'
import { deletionOf, equalModRevision, etcdMethods, putOf, toNumber } from './messages.ts'
import { ReadIndex } from './read-index.ts'
import { parseCompaction, type Replica } from './replica.ts'
import { Writer } from './writer.ts'

export interface EtcdStoreParts {
  readonly client: EtcdClient
  readonly keys: KeySpace
  readonly replica: Replica
  /** The name of this server among those of the cluster; new for each process. */
  readonly server: string
  readonly log: Logger
  /** Called for every commit of this server once it is durable; must not throw. */
  readonly onCommit?: ((report: CommitReport) => void) | undefined
  /** The limit of history in memory, in characters. */
  readonly maxHistoryLength?: number | undefined
}

/** The share of a call's patience, 3 s of 10 s: shorter gaps, such as the choice of a new leader, are no reason to call the server unready. */
const toleratedShare = 0.3
/** One server forgets history each minute; the others do it when that one is silent. */
const otherServersTurnMs = 55_000
const closeTimeoutMs = 500

/**
 * The store of one server of several over one etcd cluster: the whole state in memory, kept by one watch of etcd; commits
 * are transactions of etcd and resolve when this server has seen them.
 */
export class EtcdStore implements Store {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #replica: Replica
  readonly #server: string
  readonly #writer: Writer
  readonly #readIndex: ReadIndex
  readonly #log: Logger
  readonly #onCommit: (report: CommitReport) => void
  readonly #maxHistoryLength: number
  /** The error of the last write that etcd refused for lack of space; undefined after one that it took. */
  #full: StoreError | undefined
  readonly #pending = new Set<Promise<CommitResult>>()
  #isShortening = false
  #closing: Promise<void> | undefined

  constructor(parts: EtcdStoreParts) {
    this.#client = parts.client
    this.#keys = parts.keys
    this.#replica = parts.replica
    this.#server = parts.server
    this.#log = parts.log
    this.#onCommit = parts.onCommit ?? (() => {})
    this.#maxHistoryLength = parts.maxHistoryLength ?? defaultHistoryLength
    this.#writer = new Writer(parts.client, parts.keys, parts.replica, parts.server)
    this.#readIndex = new ReadIndex(parts.client, parts.keys, parts.replica)
  }

  get revision(): number {
    return this.#replica.state.revision
  }

  get compactRevision(): number {
    return this.#replica.state.compactRevision
  }

  get lengths(): StoredLengths {
    return this.#replica.state.lengths
  }

  get failure(): StoreError | undefined {
    if (this.#replica.lost !== undefined) return this.#replica.lost
    if (this.#client.refusal !== undefined) return toStoreError(this.#client.refusal)
    const { outage } = this.#replica.feed
    if (outage === undefined || outage.durationMs < toleratedShare * this.#client.patienceMs) return this.#full
    const error = outage.trouble ?? new EtcdCallError(this.#client.endpoint, 14, 'no connection')
    return toStoreError(error)
  }

  catchUp(): Promise<void> {
    return this.#readIndex.confirm()
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return this.#replica.state.get(key)
  }

  changedAt(collection: string): number {
    return this.#replica.state.changedAt(collection)
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<Range> {
    return this.#replica.state.range(prefix, options)
  }

  async count(prefix: string, options: Omit<RangeOptions, 'limit'> = {}): Promise<number> {
    return this.#replica.state.count(prefix, options)
  }

  async commit(writes: readonly StoreWrite[], traceparent?: string): Promise<CommitResult> {
    this.#assertOpen()
    assertSensible(writes)
    const startedMs = performance.now()
    const pending = this.#writer.commit(writes, traceparent)
    this.#pending.add(pending)
    try {
      const result = await pending
      if (result.kind === 'conflict') return result
      if (writes.some(({ kind }) => kind === 'put')) this.#full = undefined
      this.#onCommit({ writes: writes.length, groupSize: 1, durationMs: performance.now() - startedMs })
      return result
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.code === 'store-full') this.#full = thrown
      throw thrown
    } finally {
      this.#pending.delete(pending)
    }
  }

  watch(prefix: string, afterRevision: number, onEvents: EventListener, options: WatchOptions = {}): StoreWatch {
    const since = { revision: afterRevision, backlog: this.#replica.state.since(afterRevision) }
    return this.#replica.watchers.add(prefix, since, onEvents, options)
  }

  async backup(): Promise<void> {
    throw new StoreError('backup-failed', 'the state is in etcd', {
      remedy: 'etcdctl snapshot save FILE copies it, platnet server migrate --to sqlite copies it to a file of SQLite',
    })
  }

  /** Forgets history in etcd and in every server of the cluster, unless another server does that at present. */
  async compact(revision: number): Promise<void> {
    this.#assertOpen()
    const { state, compaction } = this.#replica
    if (revision <= state.compactRevision) return
    state.assertReached(revision)
    const isOthersTurn = compaction !== undefined && compaction.server !== this.#server
    if (isOthersTurn && performance.now() - compaction.atMs < otherServersTurnMs) return
    try {
      await this.#decideCompaction(revision).catch(unlessFull)
      await this.#client.untilAnswered(etcdMethods.compact, { revision: this.#keys.toWireRevision(revision) })
    } catch (thrown) {
      if (isCompacted(thrown)) return
      throw new StoreError('compaction-failed', `history up to revision ${revision} could not be dropped`, {
        cause: thrown,
      })
    }
  }

  /** Shortens the history in this server's memory when it is large; called after each change. */
  keepShort(): void {
    const { state } = this.#replica
    if (state.historyLength <= this.#maxHistoryLength || this.#isShortening) return
    this.#isShortening = true
    const revision = state.revisionBefore(this.#maxHistoryLength / 2)
    this.#log.info('history is forgotten early: it holds much', { revision })
    void this.#replica
      .compact(revision)
      .catch((thrown: unknown) => this.#log.warn('history was not shortened', { error: describeError(thrown) }))
      .finally(() => {
        this.#isShortening = false
      })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    await this.#replica.close()
    const key = Buffer.from(this.#keys.fences + this.#server)
    const removal = { compare: [], success: [deletionOf(key)] }
    await this.#client.once(etcdMethods.txn, removal, closeTimeoutMs).catch(() => {})
    this.#client.close()
  }

  /** Tells all servers to forget history up to the revision. */
  async #decideCompaction(revision: number): Promise<void> {
    const key = Buffer.from(this.#keys.compaction)
    const { kvs } = await this.#client.untilAnswered(etcdMethods.range, { key })
    const [present] = kvs
    if (present !== undefined && parseCompaction(textOf(present.value))[0] >= revision) return
    const modRevision = present === undefined ? 0 : toNumber(present.modRevision)
    const answer = await this.#client.untilAnswered(etcdMethods.txn, {
      compare: [equalModRevision(key, modRevision)],
      success: [putOf(key, `${revision} ${this.#server}`)],
    })
    await this.#replica.reached(this.#keys.revisionOf(answer.header.revision))
  }

  #assertOpen(): void {
    if (this.#replica.lost !== undefined) throw this.#replica.lost
    if (this.#closing !== undefined) throw new StoreError('store-closed', 'the store is closed')
  }
}

/** etcd without space does not take the decision; to forget history there is what makes room, and other servers forget theirs later. */
function unlessFull(thrown: unknown): void {
  if (!isNoSpace(thrown)) throw thrown
}
