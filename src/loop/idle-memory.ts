import { flushCompileCache } from 'node:module'
import { getHeapStatistics } from 'node:v8'
import type { Component, Health } from './component.ts'
import { Periodic } from './periodic.ts'
import { createMemoryReturn } from './return-memory.ts'

/** The part of a logger that reports a collection. */
interface CollectionLog {
  debug(message: string, fields: Readonly<Record<string, unknown>>): void
}

export interface IdleMemoryParts {
  /** Bytes of V8's heap that the system has given it. */
  readonly heapBytes: () => number
  /** Processor time of this thread since its start. */
  readonly activeMs: () => number
  /** Collects all garbage; the thread stops for 1 to 2 ms per MiB. */
  readonly collect: () => void
  /** Returns unused pages to the system: after a collection and every three minutes at rest, as rare work brings pages of the program back. */
  readonly returnPages?: () => void
  /** Whether work has come lately that must not wait for a collection, however little it is. */
  readonly isWorking?: () => boolean
  readonly log?: CollectionLog
  /** For tests; 10 minutes. */
  readonly longestWaitMs?: number
  /** For tests; 5 s. */
  readonly lookMs?: number
  /** For tests; 3 minutes: each return costs about 60 ms of page faults afterwards. */
  readonly returnEveryMs?: number
}

const defaultLookMs = 5000
/** Where some work always comes a collection is made after so long all the same. */
const defaultLongestWaitMs = 600_000
const defaultReturnEveryMs = 180_000
/** Share of the time between two samples below which a thread counts as idle: single changes are work too, and none should wait for a collection. */
const restingShare = 0.02
/** Smallest growth that is worth a stop. */
const worthwhileGrowth = 1.25

/**
 * Collects the garbage of an idle thread. V8 collects only when a heap has grown, and then leaves room for half as much again: an idle
 * agent that has listed 10,000 Services would keep 80 MiB of garbage, and each of its DNS threads 10 MiB of its start.
 */
export class IdleMemory implements Component {
  readonly name = 'idle-memory'
  readonly #parts: IdleMemoryParts
  readonly #looks: Periodic
  readonly #lookMs: number
  readonly #sinceMs = Date.now()
  #activeMs = 0
  #collectedBytes = 0
  #waitsSinceMs: number | undefined
  #returnedMs = 0

  constructor(parts: IdleMemoryParts) {
    this.#parts = parts
    this.#lookMs = parts.lookMs ?? defaultLookMs
    this.#looks = new Periodic(async () => this.#look(), { intervalMs: this.#lookMs, onError: () => {} })
  }

  async start(): Promise<void> {
    this.#activeMs = this.#parts.activeMs()
    this.#looks.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#looks.stop(scope)
  }

  /** Always `ok`: a collection that does not happen only leaves garbage. */
  health(): Health {
    return { level: 'ok', message: '', sinceMs: this.#sinceMs }
  }

  #look(): void {
    const { heapBytes, activeMs, collect, log } = this.#parts
    const beforeMs = this.#activeMs
    this.#activeMs = activeMs()
    if (this.#activeMs - beforeMs > restingShare * this.#lookMs) return
    const takenBytes = heapBytes()
    const isWorthwhile = takenBytes >= worthwhileGrowth * this.#collectedBytes
    if ((!isWorthwhile && !this.#isReturnDue()) || this.#mustWait()) return
    if (isWorthwhile) {
      collect()
      this.#collectedBytes = heapBytes()
      log?.debug('garbage collected at rest', { takenBytes, keptBytes: this.#collectedBytes })
    }
    this.#parts.returnPages?.()
    this.#returnedMs = performance.now()
  }

  #isReturnDue(): boolean {
    const { returnPages, returnEveryMs = defaultReturnEveryMs } = this.#parts
    return returnPages !== undefined && performance.now() - this.#returnedMs >= returnEveryMs
  }

  /** Work that costs little can come often: none of it should be the one that meets the stop. */
  #mustWait(): boolean {
    const { isWorking, longestWaitMs = defaultLongestWaitMs } = this.#parts
    if (isWorking?.() !== true) {
      this.#waitsSinceMs = undefined
      return false
    }
    this.#waitsSinceMs ??= performance.now()
    const isLongEnough = performance.now() - this.#waitsSinceMs >= longestWaitMs
    if (isLongEnough) this.#waitsSinceMs = undefined
    return !isLongEnough
  }
}

/**
 * Returns the collector of the calling thread, or nothing if V8 runs without `--expose-gc` (scripts/platnet passes it).
 *
 * @param isWorking whether work has come lately that must not wait for a collection
 */
export function createIdleMemory(log?: CollectionLog, isWorking?: () => boolean): readonly IdleMemory[] {
  const { gc } = globalThis
  if (gc === undefined) return []
  return [
    new IdleMemory({
      heapBytes: () => getHeapStatistics().total_heap_size,
      activeMs: () => {
        const { user, system } = process.threadCpuUsage()
        return (user + system) / 1000
      },
      collect: () => {
        // Node keeps the compiled code that it has read until it is flushed.
        flushCompileCache()
        // The kind of collection that V8 runs when memory is short: the only one that compacts objects until pages are free.
        gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      },
      returnPages: createMemoryReturn(),
      ...(isWorking && { isWorking }),
      ...(log && { log }),
    }),
  ]
}
