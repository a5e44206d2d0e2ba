import { describeError } from '../../../model/errors.ts'
import type { Logger } from '../../../observe/logger.ts'
import type { StoreEvent } from '../store-entries.ts'
import { StoreError } from '../store-error.ts'
import { type StoreState, stateDifference } from '../store-state.ts'
import type { CommitRecord } from '../versioned-keys.ts'
import { Watchers } from '../watchers.ts'
import type { EtcdClient } from './etcd-client.ts'
import { EventFeed } from './event-feed.ts'
import type { KeySpace } from './key-space.ts'
import { loadNewestState, textOf, toEntry } from './load-etcd.ts'
import { etcdMethods, putOf, type WireEvent } from './messages.ts'

/** A feed that is silent for this long has nothing to deliver: a revision that it has not shown was written outside this cluster's keys. */
const silenceMs = 25
/** etcd looks every 100 ms for what a new watch has missed. */
const silenceAtStartMs = 150
/** A member whose watch delivers nothing for so long, although there is something, is left; the next ones get twice as long each. */
const stallMs = 1_000
const maxStallMs = 8_000

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
  readonly reject: (error: StoreError) => void
}

/** A commit of this server that the feed has not shown yet. */
export interface ExpectedCommit {
  /** Resolves with the commit's revision when the feed has shown it. */
  readonly seen: Promise<number>
  /** The revision, once the feed has shown the commit. */
  readonly revision: number | undefined
}

/** The state of the cluster in this server's memory: what the feed has delivered. It tells watchers, and those who wait for a revision. */
export class Replica {
  readonly watchers: Watchers
  readonly feed: EventFeed
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #fenceKey: string
  readonly #log: Logger
  readonly #waiters = new Set<Waiter>()
  readonly #expected = new Map<string, { revision: number | undefined; readonly resolve: (revision: number) => void }>()
  readonly #onApplied: () => void
  #state: StoreState
  #fence: number
  #compaction: { readonly server: string; readonly atMs: number } | undefined
  #ticking: Promise<unknown> | undefined
  /** When the feed last delivered something. */
  #fedMs = 0
  #suspectedMs = 0
  #stallMs = stallMs
  #isClosed = false
  #lost: StoreError | undefined

  constructor(parts: {
    readonly client: EtcdClient
    readonly keys: KeySpace
    readonly state: StoreState
    readonly fence: { readonly key: string; readonly revision: number }
    readonly onApplied: () => void
    readonly log: Logger
  }) {
    this.#client = parts.client
    this.#keys = parts.keys
    this.#state = parts.state
    this.#fenceKey = parts.fence.key
    this.#fence = parts.fence.revision
    this.#onApplied = parts.onApplied
    this.#log = parts.log
    this.watchers = new Watchers(parts.log)
    const observer = {
      onCommit: (revision: number, events: readonly WireEvent[]) => this.#take(revision, events),
      onProgress: (revision: number) => this.#reach(revision),
      onCompacted: () => this.#reload(),
    }
    this.feed = new EventFeed(parts.client, parts.keys, parts.state.revision, observer, parts.log)
  }

  get state(): StoreState {
    return this.#state
  }

  /** The revision of this server's fence: a commit that carries an older one has no effect any more. */
  get fence(): number {
    return this.#fence
  }

  /** Which server decided last to forget history, and when, as far as this server has seen it. */
  get compaction(): { readonly server: string; readonly atMs: number } | undefined {
    return this.#compaction
  }

  /** Set once etcd has turned out to be older than this state, which then is of no use any more. */
  get lost(): StoreError | undefined {
    return this.#lost
  }

  /**
   * Compares an answer of etcd with the revision that this state had when etcd was asked. An earlier one means that etcd was restored from a
   * snapshot under this server: what follows there is another history. Throws StoreError `store-failed`.
   */
  assertForward(known: number, answered: number): void {
    if (this.#lost === undefined && answered < known) {
      this.#lost = wentBack(known, answered)
      this.#log.error('etcd holds an older state than this server: restart it', { known, answered })
      void this.close()
    }
    if (this.#lost !== undefined) throw this.#lost
  }

  /** Registers a commit before it is sent. */
  expect(id: string): ExpectedCommit {
    const { promise: seen, resolve } = Promise.withResolvers<number>()
    const expected = { seen, resolve, revision: undefined }
    this.#expected.set(id, expected)
    return expected
  }

  forget(id: string): void {
    this.#expected.delete(id)
  }

  /**
   * Resolves once the state holds every commit up to that revision, which is `own` when an event of this cluster's keys surely has it. Rejects
   * with StoreError `store-unreachable` after a time.
   */
  async reached(revision: number, origin: 'own' | 'any' = 'any', limitMs = this.#client.patienceMs): Promise<void> {
    if (this.#state.revision >= revision) return
    if (this.#isClosed) throw this.#lost ?? closed()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { revision, resolve, reject }
    this.#waiters.add(waiter)
    const foreign = origin === 'any' ? setInterval(() => this.#tick(), silenceMs) : undefined
    const stalled = setInterval(() => this.#leaveStalled(), stallMs)
    const late = setTimeout(() => reject(behind(revision)), limitMs)
    try {
      await promise
    } finally {
      this.#waiters.delete(waiter)
      clearInterval(foreign)
      clearInterval(stalled)
      clearTimeout(late)
    }
  }

  #leaveStalled(): void {
    if (performance.now() - Math.max(this.#fedMs, this.feed.beganMs, this.#suspectedMs) < this.#stallMs) return
    this.#stallMs = Math.min(maxStallMs, 2 * this.#stallMs)
    this.#suspectedMs = performance.now()
    this.feed.suspect()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiters) reject(this.#lost ?? closed())
    await this.feed.stop()
    this.watchers.closeAll()
  }

  /** Forgets history in memory. */
  async compact(revision: number): Promise<void> {
    this.watchers.endBehind(revision)
    await this.#state.compact(revision)
  }

  /**
   * Writes the mark. Another program that shares this etcd may have made the revision that a caller waits for: no event of
   * this cluster's keys has it, but the mark's event has a later one.
   */
  #tick(): void {
    const limitMs = this.feed.isCaughtUp ? silenceMs : silenceAtStartMs
    if (performance.now() - Math.max(this.#fedMs, this.feed.beganMs) < limitMs) return
    this.#ticking ??= this.#client
      .untilAnswered(etcdMethods.txn, {
        compare: [],
        success: [putOf(Buffer.from(this.#keys.mark), 'tick')],
      })
      .catch((error: unknown) => this.#log.debug('the mark was not written', { error: describeError(error) }))
      .finally(() => {
        this.#ticking = undefined
      })
  }

  #take(revision: number, wireEvents: readonly WireEvent[]): void {
    this.#fedMs = performance.now()
    this.#stallMs = stallMs
    const mark = this.#readMark(wireEvents)
    const events = wireEvents.flatMap((event) => this.#toEvent(event, revision, mark?.traceparent) ?? [])
    if (events.length > 0) this.#publish({ revision, events })
    this.#reach(revision)
    const expected = mark && this.#expected.get(mark.id)
    if (expected === undefined) return
    expected.revision = revision
    expected.resolve(revision)
  }

  #publish(record: CommitRecord): void {
    this.#state.apply(record)
    this.watchers.announce(record)
    this.#onApplied()
  }

  #reach(revision: number): void {
    this.#state.reach(revision)
    this.watchers.reach(revision)
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.resolve()
  }

  #readMark(
    events: readonly WireEvent[],
  ): { readonly id: string; readonly traceparent: string | undefined } | undefined {
    const mark = events.find(({ kv }) => textOf(kv.key) === this.#keys.mark)
    if (mark === undefined) return undefined
    const [id = '', traceparent] = textOf(mark.kv.value).split(' ')
    return { id, traceparent }
  }

  /** Returns the event of the API; undefined for one by which servers agree, and for the deletion of an absent key. */
  #toEvent({ type, kv }: WireEvent, revision: number, traceparent: string | undefined): StoreEvent | undefined {
    const traced = traceparent === undefined ? {} : { traceparent }
    const entry = toEntry(this.#keys, kv)
    if (entry === undefined) {
      this.#takeAgreement(textOf(kv.key), kv.value, revision)
      return undefined
    }
    const previous = this.#state.get(entry.key)
    if (type === 0) return { kind: 'put', entry, previous, ...traced }
    return previous && { kind: 'delete', key: entry.key, revision, previous, ...traced }
  }

  #takeAgreement(key: string, value: Uint8Array, revision: number): void {
    if (key === this.#fenceKey) this.#fence = revision
    if (key !== this.#keys.compaction) return
    const [compactRevision, server] = parseCompaction(textOf(value))
    this.#compaction = { server, atMs: performance.now() }
    if (Number.isSafeInteger(compactRevision)) void this.compact(Math.min(compactRevision, revision))
  }

  /** Takes the newest state in place of the history that etcd no longer has. */
  async #reload(): Promise<number> {
    const state = await loadNewestState(this.#client, this.#keys)
    const difference = { revision: state.revision, events: stateDifference(this.#state, state) }
    this.#log.warn('etcd has forgotten history that this server had not read: clients list again', {
      revision: state.revision,
    })
    this.#state = state
    this.watchers.announceGap(difference)
    this.#reach(state.revision)
    return state.revision
  }
}

/** Parses what the compaction key holds: the revision up to which history is forgotten, and the server that decided it. */
export function parseCompaction(text: string): readonly [compactRevision: number, server: string] {
  const [revision = '', server = ''] = text.split(' ')
  return [Number(revision), server]
}

function behind(revision: number): StoreError {
  return new StoreError('store-unreachable', `this server has not got the changes of etcd up to revision ${revision}`, {
    remedy: 'check whether the members of --etcd-servers run and reach each other',
  })
}

function wentBack(known: number, answered: number): StoreError {
  return new StoreError('store-failed', `etcd is at revision ${answered}, this server has seen ${known}`, {
    remedy:
      'etcd was restored from a snapshot: restart all servers; clients list again where it was restored with --bump-revision and --mark-compacted',
  })
}

function closed(): StoreError {
  return new StoreError('store-closed', 'the store is closed')
}
