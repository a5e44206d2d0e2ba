import { setImmediate as nextTurn } from 'node:timers/promises'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { EventListener, StoreWatch } from './store.ts'
import type { StoreEvent } from './store-entries.ts'
import { keyOfEvent } from './store-state.ts'
import type { CommitRecord } from './versioned-keys.ts'

type Listener = (events: readonly StoreEvent[]) => Promise<void> | undefined

/** Commits that a watch replays before it lets other work run. */
const replaySlice = 500

/** Everyone who wants to hear of commits. */
export class Watchers {
  readonly #watchers = new Set<Watcher>()
  readonly #onBehind = new WeakMap<Watcher, () => void>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  /** Starts with the backlog, after this call has returned, and goes on with what is announced. */
  add(
    prefix: string,
    since: { readonly revision: number; readonly backlog: CommitRecord[] },
    listener: EventListener,
    onBehind?: () => void,
  ): StoreWatch {
    const watcher = new Watcher(prefix, since, this.#guard(prefix, listener), () => {
      this.#watchers.delete(watcher)
    })
    if (onBehind !== undefined) this.#onBehind.set(watcher, onBehind)
    this.#watchers.add(watcher)
    queueMicrotask(() => void watcher.replay())
    return watcher
  }

  announce(record: CommitRecord): void {
    for (const watcher of this.#watchers) watcher.take(record)
  }

  /** Ends the replays that are not as far as the revision. */
  endBehind(revision: number): void {
    for (const watcher of this.#watchers) {
      if (!watcher.isReplaying || watcher.revision >= revision) continue
      watcher.close()
      this.#onBehind.get(watcher)?.()
    }
  }

  closeAll(): void {
    for (const watcher of this.#watchers) watcher.close()
  }

  /** One listener's failure is its own: the others, and the commit, go on. */
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

class Watcher implements StoreWatch {
  readonly #prefix: string
  readonly #listener: Listener
  readonly #onClose: () => void
  #revision: number
  /** What is still to be replayed; undefined once the watch is live. */
  #backlog: CommitRecord[] | undefined
  #closed = false

  constructor(
    prefix: string,
    { revision, backlog }: { readonly revision: number; readonly backlog: CommitRecord[] },
    listener: Listener,
    onClose: () => void,
  ) {
    this.#prefix = prefix
    this.#revision = revision
    this.#backlog = backlog
    this.#listener = listener
    this.#onClose = onClose
  }

  get revision(): number {
    return this.#revision
  }

  get isReplaying(): boolean {
    return this.#backlog !== undefined
  }

  take(record: CommitRecord): void {
    if (this.#backlog !== undefined) this.#backlog.push(record)
    else void this.#deliver(record)
  }

  /** As fast as the listener takes it. */
  async replay(): Promise<void> {
    const backlog = this.#backlog ?? []
    while (backlog.length > 0 && !this.#closed) {
      for (const record of backlog.splice(0, replaySlice)) {
        const taken = this.#deliver(record)
        if (taken !== undefined) await taken
      }
      if (backlog.length > 0) await nextTurn()
    }
    this.#backlog = undefined
  }

  close(): void {
    this.#closed = true
    this.#backlog = undefined
    this.#onClose()
  }

  #deliver(record: CommitRecord): Promise<void> | undefined {
    if (this.#closed || record.revision <= this.#revision) return undefined
    const events = record.events.filter((event) => keyOfEvent(event).startsWith(this.#prefix))
    const taken = events.length > 0 ? this.#listener(events) : undefined
    this.#revision = record.revision
    return taken
  }
}
