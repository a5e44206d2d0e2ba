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
  /** Changes between two versions for which this returns true are ignored. */
  readonly isSame?: (old: T, next: T) => boolean
  /** Ignores changes that this process wrote. Only for resources that no other controller of this process writes. */
  readonly skipsOwn?: boolean
}

/** Creates a watch. `keysOf` is called with the object before and after each change, where it exists. */
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
  /** The name of the controller, `[a-z0-9-]{1,30}`; also the name of its queue in metrics. */
  readonly name: string
  readonly watches: readonly Watch[]
  /** Brings the objects of a key from any state to the wanted state. It is called again after errors. */
  readonly reconcile: Work
  readonly workers?: number
  /** The pause of a key after each pass, for keys whose work grows with the number of their objects. */
  readonly rest?: Rest
  readonly timing?: Partial<QueueTiming>
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

const defaultWorkers = 5

/**
 * Reconciles keys when their objects change: all keys at each start, then the keys of changed objects. Errors are
 * retried with backoff; conflicts (409) are retried without a log line. A stopped controller may be started again.
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

  /** True if no key waits, is being reconciled, or has a retry scheduled. */
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
    else log.warn('a key could not be reconciled; it is tried again', fields)
  }
}

/** Checks whether an error is a conflict: the cache was stale, and the next attempt sees the other writer's change. */
function isConflict(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'conflict' || error.code === 'already-exists')
}
