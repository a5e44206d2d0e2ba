import { setImmediate as nextTurn } from 'node:timers/promises'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { EventListener, StoreWatch, Topic, WatchOptions } from './store.ts'
import type { StoreEvent } from './store-entries.ts'
import { keyOfEvent } from './store-state.ts'
import type { CommitRecord } from './versioned-keys.ts'
import { WatchIndex } from './watch-index.ts'

type Listener = (events: readonly StoreEvent[]) => Promise<void> | undefined

/** The number of commits that a watch replays before other work may run. */
const replaySlice = 500

/** The watchers of commits. */
export class Watchers {
  readonly #replaying = new Set<Watcher>()
  readonly #live = new WatchIndex<Watcher>()
  readonly #all = new Set<Watcher>()
  readonly #announced = { revision: 0 }
  #added = 0
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  /** Adds a watch: it starts with the backlog, after this call has returned, and continues with new commits. */
  add(
    prefix: string,
    since: { readonly revision: number; readonly backlog: CommitRecord[] },
    listener: EventListener,
    { onBehind, topic }: WatchOptions,
  ): StoreWatch {
    this.#added += 1
    const watcher = new Watcher({
      order: this.#added,
      prefix,
      topic,
      since,
      announced: this.#announced,
      listener: this.#guard(prefix, listener),
      onBehind,
      onLive: () => {
        this.#replaying.delete(watcher)
        this.#live.add(watcher)
      },
      onClose: () => {
        this.#all.delete(watcher)
        this.#replaying.delete(watcher)
        this.#live.delete(watcher)
      },
    })
    this.#all.add(watcher)
    this.#replaying.add(watcher)
    queueMicrotask(() => void watcher.replay())
    return watcher
  }

  announce(record: CommitRecord): void {
    for (const watcher of this.#replaying) watcher.keep(record)
    for (const [watcher, events] of this.#eventsByWatcher(record)) watcher.deliver(events)
    this.#announced.revision = record.revision
  }

  /** Says that nothing else has changed up to the revision. */
  reach(revision: number): void {
    this.#announced.revision = Math.max(this.#announced.revision, revision)
  }

  /** Announces the difference to a later state where the commits in between are lost: watches that can begin again end, the others get it. */
  announceGap(record: CommitRecord): void {
    for (const watcher of [...this.#all]) if (watcher.canBeginAgain) watcher.endBehind()
    this.announce(record)
  }

  /** Returns the events of each watcher, in the order in which the watches began. */
  #eventsByWatcher({ events }: CommitRecord): readonly (readonly [Watcher, readonly StoreEvent[]])[] {
    const byWatcher = new Map<Watcher, StoreEvent[]>()
    for (const event of events) {
      for (const watcher of this.#live.watchesOf(event)) {
        const own = byWatcher.get(watcher)
        if (own === undefined) byWatcher.set(watcher, [event])
        else own.push(event)
      }
    }
    return [...byWatcher].sort(([one], [other]) => one.order - other.order)
  }

  /** Ends the replays that have not reached the revision. */
  endBehind(revision: number): void {
    for (const watcher of this.#replaying) if (watcher.revision < revision) watcher.endBehind()
  }

  closeAll(): void {
    for (const watcher of this.#all) watcher.close()
  }

  /** Wraps a listener: its failure affects neither the other listeners nor the commit. */
  #guard(prefix: string, listener: EventListener): Listener {
    const report = (thrown: unknown) =>
      this.#log.error('a watch listener failed', { prefix, error: describeError(thrown) })
    return (events) => {
      try {
        const taken = listener(events)
        return taken instanceof Promise ? taken.catch(report) : undefined
      } catch (thrown) {
        report(thrown)
        return undefined
      }
    }
  }
}

interface WatcherParts {
  readonly order: number
  readonly prefix: string
  readonly topic: Topic | undefined
  readonly since: { readonly revision: number; readonly backlog: CommitRecord[] }
  /** The revision up to which live watches have got every event. */
  readonly announced: { readonly revision: number }
  readonly listener: Listener
  readonly onBehind: (() => void) | undefined
  readonly onLive: () => void
  readonly onClose: () => void
}

class Watcher implements StoreWatch {
  readonly #parts: WatcherParts
  /** The revision up to which the replay has come. */
  #replayed: number
  /** The commits still to be replayed; undefined once the watch is live. */
  #backlog: CommitRecord[] | undefined
  #closed = false

  constructor(parts: WatcherParts) {
    this.#parts = parts
    this.#replayed = parts.since.revision
    this.#backlog = parts.since.backlog
  }

  get order(): number {
    return this.#parts.order
  }

  get prefix(): string {
    return this.#parts.prefix
  }

  get topic(): Topic | undefined {
    return this.#parts.topic
  }

  get revision(): number {
    return this.#backlog === undefined ? Math.max(this.#replayed, this.#parts.announced.revision) : this.#replayed
  }

  /** Tells whether the watch's owner learns of an end of the watch. */
  get canBeginAgain(): boolean {
    return this.#parts.onBehind !== undefined
  }

  keep(record: CommitRecord): void {
    this.#backlog?.push(record)
  }

  /** Replays the backlog as fast as the listener takes it. */
  async replay(): Promise<void> {
    const backlog = this.#backlog ?? []
    while (backlog.length > 0 && !this.#closed) {
      for (const record of backlog.splice(0, replaySlice)) {
        const taken = this.#replayOne(record)
        if (taken !== undefined) await taken
      }
      if (backlog.length > 0) await nextTurn()
    }
    this.#backlog = undefined
    if (!this.#closed) this.#parts.onLive()
  }

  endBehind(): void {
    this.close()
    this.#parts.onBehind?.()
  }

  close(): void {
    this.#closed = true
    this.#backlog = undefined
    this.#parts.onClose()
  }

  deliver(events: readonly StoreEvent[]): void {
    if (!this.#closed) void this.#parts.listener(events)
  }

  #replayOne(record: CommitRecord): Promise<void> | undefined {
    if (this.#closed || record.revision <= this.#replayed) return undefined
    const events = record.events.filter((event) => keyOfEvent(event).startsWith(this.prefix))
    const taken = events.length > 0 ? this.#parts.listener(events) : undefined
    this.#replayed = record.revision
    return taken
  }
}
