import { cpuUsage } from 'node:process'
import { getHeapStatistics } from 'node:v8'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Logger } from '../../observe/index.ts'

export interface IdleMemoryParts {
  /** What the collector of garbage has taken from the system for objects. */
  readonly heapBytes: () => number
  /** Of all threads of this process, since it began. */
  readonly processorMs: () => number
  /** Collects all there is and gives pages back; the main thread stands still for 1 to 2 ms a MiB. */
  readonly collect: () => void
  readonly log: Pick<Logger, 'debug'>
  /** For tests; 5 s. */
  readonly lookMs?: number
}

const defaultLookMs = 5000
/** Of one processor, between two looks: changes that come one by one are work, too, and none of them is to wait for a collection. */
const restingShare = 0.01
/** Less is not worth a stop. */
const worthwhileGrowth = 1.25

/**
 * Gives back what a list of everything left behind. The collector by itself runs only when a heap has grown, and then leaves room for half as much
 * again: an agent that has listed 10,000 Services and rests would keep 80 MiB of garbage for good.
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

  /** Always well: without it there is more garbage, nothing else. */
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

/** Nothing where V8 was started without `--expose-gc` (scripts/platnet has it). */
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
      // As when memory runs out, which is the only kind that moves objects together until pages are free.
      collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
      log,
    }),
  ]
}
