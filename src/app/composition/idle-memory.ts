import { cpuUsage } from 'node:process'
import { getHeapStatistics } from 'node:v8'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Logger } from '../../observe/index.ts'

export interface IdleMemoryParts {
  /** Bytes of V8's heap that the system has given it. */
  readonly heapBytes: () => number
  /** Processor time of all threads of this process since its start. */
  readonly processorMs: () => number
  /** Collects all garbage and returns pages to the system; the main thread stops for 1 to 2 ms per MiB. */
  readonly collect: () => void
  readonly log: Pick<Logger, 'debug'>
  /** For tests; 5 s. */
  readonly lookMs?: number
}

const defaultLookMs = 5000
/** Share of one processor between two samples below which the agent counts as idle: single changes are work too, and none should wait for a collection. */
const restingShare = 0.01
/** Smallest growth that is worth a stop. */
const worthwhileGrowth = 1.25

/**
 * Collects the garbage of an idle agent. V8 collects only when a heap has grown, and then leaves room for half as much again: an idle
 * agent that has listed 10,000 Services would keep 80 MiB of garbage.
 */
export class IdleMemory implements Component {
  readonly name = 'idle-memory'
  readonly #parts: IdleMemoryParts
  readonly #looks: Periodic
  readonly #lookMs: number
  readonly #sinceMs = Date.now()
  #processorMs = 0
  #collectedBytes = 0

  constructor(parts: IdleMemoryParts) {
    this.#parts = parts
    this.#lookMs = parts.lookMs ?? defaultLookMs
    this.#looks = new Periodic(async () => this.#look(), { intervalMs: this.#lookMs, onError: () => {} })
  }

  async start(): Promise<void> {
    this.#processorMs = this.#parts.processorMs()
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
    const { heapBytes, processorMs, collect, log } = this.#parts
    const beforeMs = this.#processorMs
    this.#processorMs = processorMs()
    if (this.#processorMs - beforeMs > restingShare * this.#lookMs) return
    const takenBytes = heapBytes()
    if (takenBytes < worthwhileGrowth * this.#collectedBytes) return
    collect()
    this.#collectedBytes = heapBytes()
    log.debug('garbage collected at rest', { takenBytes, keptBytes: this.#collectedBytes })
  }
}

/** Returns the memory of this process, or undefined if V8 runs without `--expose-gc` (scripts/platnet passes it). */
export function composeIdleMemory(log: IdleMemoryParts['log']): readonly Component[] {
  const { gc } = globalThis
  if (gc === undefined) return []
  return [
    new IdleMemory({
      heapBytes: () => getHeapStatistics().total_heap_size,
      processorMs: () => {
        const { user, system } = cpuUsage()
        return (user + system) / 1000
      },
      // The kind of collection that V8 runs when memory is short: the only one that compacts objects until pages are free.
      collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
      log,
    }),
  ]
}
