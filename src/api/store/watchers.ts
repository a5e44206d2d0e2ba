import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { StoreEvent, StoreWatch } from './store.ts'
import { keyOfEvent } from './store-state.ts'
import type { CommitRecord } from './versioned-keys.ts'

type Listener = (events: readonly StoreEvent[]) => void

/** Commits that a watch replays before it lets other work run. */
const replaySlice = 500

/** Everyone who wants to hear of commits. */
export class Watchers {
  readonly #watchers = new Set<Watcher>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  /** Starts with the backlog, after this call has returned, and goes on with what is announced. */
  add(prefix: string, revision: number, backlog: CommitRecord[], listener: Listener): StoreWatch {
    const watcher = new Watcher(prefix, revision, backlog, this.#guard(prefix, listener), () => {
      this.#watchers.delete(watcher)
    })
    this.#watchers.add(watcher)
    queueMicrotask(() => watcher.replay())
    return watcher
  }

  announce(record: CommitRecord): void {
    for (const watcher of this.#watchers) watcher.take(record)
  }

  closeAll(): void {
    for (const watcher of this.#watchers) watcher.close()
  }

  /** One listener's failure is its own: the others, and the commit, go on. */
  #guard(prefix: string, listener: Listener): Listener {
    return (events) => {
      try {
        listener(events)
      } catch (thrown) {
        this.#log.error('a watch listener failed', { prefix, error: describeError(thrown) })
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

  constructor(prefix: string, revision: number, backlog: CommitRecord[], listener: Listener, onClose: () => void) {
    this.#prefix = prefix
    this.#revision = revision
    this.#backlog = backlog
    this.#listener = listener
    this.#onClose = onClose
  }

  get revision(): number {
    return this.#revision
  }

  take(record: CommitRecord): void {
    if (this.#backlog !== undefined) this.#backlog.push(record)
    else this.#deliver(record)
  }

  replay(): void {
    const backlog = this.#backlog ?? []
    for (const record of backlog.splice(0, replaySlice)) this.#deliver(record)
    if (backlog.length > 0 && !this.#closed) setImmediate(() => this.replay())
    else this.#backlog = undefined
  }

  close(): void {
    this.#closed = true
    this.#backlog = undefined
    this.#onClose()
  }

  #deliver(record: CommitRecord): void {
    if (this.#closed || record.revision <= this.#revision) return
    const events = record.events.filter((event) => keyOfEvent(event).startsWith(this.#prefix))
    if (events.length > 0) this.#listener(events)
    this.#revision = record.revision
  }
}
