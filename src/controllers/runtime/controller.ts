import { ApiError } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { ObjectCache } from './object-cache.ts'
import type { CachedObject } from './resource-type.ts'
import { type QueueTiming, type Rest, type Work, WorkQueue, type WorkResult } from './work-queue.ts'

/** Turns the changes of one resource into keys to reconcile. */
export interface Watch {
  subscribe(add: (key: string, delayMs?: number) => void): () => void
}

export interface WatchOptions<T> {
  /** A change between two versions of which this holds is passed over. */
  readonly isSame?: (old: T, next: T) => boolean
  /** For what no other controller of this process writes: the pass that wrote needs no second one to look at its own work. */
  readonly skipsOwn?: boolean
}

/** `keysOf` is asked about the object before and after each change, whichever there is. */
export function watchKeys<T extends CachedObject>(
  cache: ObjectCache<T>,
  keysOf: (object: T) => Iterable<string>,
  { isSame = () => false, skipsOwn = false }: WatchOptions<T> = {},
): Watch {
  return {
    subscribe: (add) =>
      cache.onChange(({ old, next, isOwn }) => {
        if ((isOwn && skipsOwn) || (old && next && isSame(old, next))) return
        const keys = new Set([...(old ? keysOf(old) : []), ...(next ? keysOf(next) : [])])
        for (const key of keys) add(key)
      }),
  }
}

export interface ControllerOptions {
  /** `[a-z0-9-]{1,30}`; also the name of its queue in metrics. */
  readonly name: string
  readonly watches: readonly Watch[]
  /** Brings what belongs to the key to where it should be, from whatever state; called again after errors. */
  readonly reconcile: Work
  readonly workers?: number
  /** For keys whose work grows with what belongs to them. */
  readonly rest?: Rest
  readonly timing?: Partial<QueueTiming>
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

const defaultWorkers = 5

/**
 * Reconciles keys as their objects change: all of them at each start, then those that changes touch. Errors are retried with backoff, lost
 * races (409) without a word. May be started again after it was stopped.
 */
export class Controller implements Component {
  readonly name: string
  readonly #options: ControllerOptions
  #queue: WorkQueue | undefined
  #subscriptions: readonly (() => void)[] = []

  constructor(options: ControllerOptions) {
    this.name = options.name
    this.#options = options
  }

  async start(): Promise<void> {
    const { metrics, rest, timing, watches, workers } = this.#options
    const queue = new WorkQueue({
      workers: workers ?? defaultWorkers,
      work: (key, scope) => this.#reconcile(key, scope),
      onFailure: (key, error, retryInMs) => this.#reportFailure(key, error, retryInMs),
      createMetrics: (state) => metrics.queue(this.name, state),
      ...(timing !== undefined && { timing }),
      ...(rest !== undefined && { rest }),
    })
    this.#queue = queue
    const add = (key: string, delayMs?: number) => (delayMs ? queue.addAfter(key, delayMs) : queue.add(key))
    this.#subscriptions = watches.map((watch) => watch.subscribe(add))
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const unsubscribe of this.#subscriptions) unsubscribe()
    this.#subscriptions = []
    const queue = this.#queue
    this.#queue = undefined
    await queue?.stop(scope)
  }

  /** Nothing waits, is worked on or will be tried again. */
  get isIdle(): boolean {
    return this.#queue?.isIdle ?? true
  }

  health(): Health {
    if (this.#queue === undefined) return { level: 'unknown', message: 'not running', sinceMs: 0 }
    const { failing } = this.#queue
    const message = failing === 0 ? '' : `${failing} keys failed and will be tried again`
    return { level: 'ok', message, sinceMs: 0 }
  }

  async #reconcile(key: string, scope: { signal: AbortSignal }): Promise<WorkResult> {
    const { metrics, reconcile } = this.#options
    try {
      const result = await reconcile(key, scope)
      metrics.countReconcile(this.name, result?.againInMs === undefined ? 'success' : 'requeue')
      return result
    } catch (error) {
      metrics.countReconcile(this.name, isConflict(error) ? 'conflict' : 'error')
      throw error
    }
  }

  #reportFailure(key: string, error: unknown, retryInMs: number): void {
    const { log } = this.#options
    const fields = { key, error, retryInMs: Math.round(retryInMs) }
    if (isConflict(error)) log.debug('another writer was first; trying again', fields)
    else log.warn('not reconciled; trying again', fields)
  }
}

/** The cache was behind: the next attempt sees what the other writer did. */
function isConflict(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'conflict' || error.code === 'already-exists')
}
