import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../loop/backoff.ts'
import type { Component, Health } from '../loop/component.ts'
import { orAborted } from '../loop/deadline.ts'
import { describeError } from '../model/errors.ts'
import type { TraceContext } from '../observe/index.ts'
import { ApiError } from './errors.ts'
import type { ObjectIdentity } from './identity-scanner.ts'
import { type ChangeType, Informer, type InformerHandler, type InformerOptions } from './informer.ts'
import { describeRef } from './resource-path.ts'
import type { WireObject } from './wire-object.ts'

export interface SharedInformerOptions extends Omit<InformerOptions, 'handler' | 'reduce'> {
  /** Returns what the handlers need of an object, its identity included: this much of each object stays in memory. */
  readonly reduce: (json: unknown) => unknown
}

/** The collection as it stands in memory. */
interface Snapshot {
  readonly items: readonly WireObject[]
  readonly resourceVersion: string
  readonly leftOut: readonly ObjectIdentity[]
}

const unstarted: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

/**
 * One list and one watch of a collection for several handlers. They run while at least one handler follows; a handler that begins later gets
 * what is known at once. A handler that is slow or fails does not delay the others.
 */
export class SharedInformer {
  readonly #options: SharedInformerOptions
  readonly #followers = new Set<Follower>()
  readonly #objects = new Map<string, WireObject>()
  readonly #leftOut = new Map<string, ObjectIdentity>()
  #informer: Informer | undefined
  /** Undefined until the first list has come. */
  #resourceVersion: string | undefined

  constructor(options: SharedInformerOptions) {
    this.#options = options
  }

  /** Returns a component that hands the collection to the handler from its start on. Objects come reduced, those of changes too. */
  follow(handler: InformerHandler): Component {
    const what = describeRef(this.#options.collection)
    const onTrouble = (error: unknown) =>
      this.#options.log.warn('objects could not be taken; trying again', {
        resource: what,
        error: describeError(error),
      })
    const follower = new Follower(handler, () => this.#snapshot(), onTrouble)
    return {
      name: `informer-${this.#options.collection.resource.resource}`.slice(0, 30),
      start: async ({ signal }) => {
        this.#add(follower)
        try {
          await orAborted(follower.synced, signal)
        } catch (cause) {
          const { message } = this.#health()
          await this.#remove(follower)
          throw new ApiError('timeout', `${what} could not be listed in time: ${message}`, { cause })
        }
      },
      stop: () => this.#remove(follower),
      health: () => follower.trouble ?? (this.#followers.has(follower) ? this.#health() : unstarted),
    }
  }

  #health(): Health {
    return this.#informer?.health() ?? unstarted
  }

  #add(follower: Follower): void {
    this.#followers.add(follower)
    if (this.#resourceVersion !== undefined) follower.replace()
    if (this.#informer !== undefined) return
    this.#informer = new Informer({ ...this.#options, handler: this.#createHandler() })
    // Each follower waits for its own first objects.
    this.#informer.start({ signal: new AbortController().signal }).catch(() => {})
  }

  async #remove(follower: Follower): Promise<void> {
    this.#followers.delete(follower)
    await follower.end()
    if (this.#followers.size > 0) return
    const informer = this.#informer
    this.#informer = undefined
    this.#resourceVersion = undefined
    this.#objects.clear()
    this.#leftOut.clear()
    await informer?.stop()
  }

  #snapshot(): Snapshot {
    const resourceVersion = this.#resourceVersion ?? ''
    return { items: [...this.#objects.values()], resourceVersion, leftOut: [...this.#leftOut.values()] }
  }

  #createHandler(): InformerHandler {
    return {
      onReplace: (items, resourceVersion, leftOut) => this.#replace(items, resourceVersion, leftOut),
      onEvent: (type, object, resourceVersion, trace) => this.#change(type, object, resourceVersion, trace),
      onLeftOut: (identity) => {
        this.#leftOut.set(keyOf(identity), identity)
        for (const follower of this.#followers) follower.leaveOut(identity)
      },
      onProgress: (resourceVersion) => {
        this.#resourceVersion = resourceVersion
        for (const follower of this.#followers) follower.progress(resourceVersion)
      },
      onFailure: (error) => {
        for (const follower of this.#followers) follower.handler.onFailure?.(error)
      },
    }
  }

  #replace(items: readonly WireObject[], resourceVersion: string, leftOut: readonly ObjectIdentity[]): void {
    const kept = new Map(leftOut.map((identity) => [keyOf(identity), this.#objects.get(keyOf(identity))]))
    this.#objects.clear()
    for (const [key, object] of kept) if (object !== undefined) this.#objects.set(key, object)
    for (const item of items) this.#objects.set(keyOf(item.metadata), item)
    this.#leftOut.clear()
    for (const identity of leftOut) this.#leftOut.set(keyOf(identity), identity)
    this.#resourceVersion = resourceVersion
    for (const follower of this.#followers) follower.replace()
  }

  /** Throws the first error of a handler after all have had the change. */
  #change(type: ChangeType, object: WireObject, resourceVersion: string, trace: TraceContext | undefined): void {
    const reduced = type === 'DELETED' ? object : (this.#options.reduce(object) as WireObject)
    const key = keyOf(object.metadata)
    this.#leftOut.delete(key)
    if (type === 'DELETED') this.#objects.delete(key)
    else this.#objects.set(key, reduced)
    this.#resourceVersion = resourceVersion
    const errors: unknown[] = []
    for (const follower of this.#followers) {
      try {
        follower.change(type, reduced, resourceVersion, trace)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** One handler: while it takes the whole collection, changes are not handed over; it takes the collection again instead. */
class Follower {
  readonly handler: InformerHandler
  readonly #snapshot: () => Snapshot
  readonly #synced = Promise.withResolvers<void>()
  readonly #onTrouble: (error: unknown) => void
  readonly #ending = new AbortController()
  #trouble: Health | undefined
  #isBehind = false
  #taking: Promise<void> | undefined

  constructor(handler: InformerHandler, snapshot: () => Snapshot, onTrouble: (error: unknown) => void) {
    this.handler = handler
    this.#snapshot = snapshot
    this.#onTrouble = onTrouble
  }

  /** Set while the handler fails to take the collection. */
  get trouble(): Health | undefined {
    return this.#trouble
  }

  /** Resolves when the handler has taken the collection for the first time. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /** Resolves when the handler is not called any more. */
  async end(): Promise<void> {
    this.#ending.abort()
    await this.#taking
  }

  replace(): void {
    this.#isBehind = true
    this.#taking ??= this.#take()
  }

  change(type: ChangeType, object: WireObject, resourceVersion: string, trace: TraceContext | undefined): void {
    if (this.#taking === undefined) this.handler.onEvent(type, object, resourceVersion, trace)
    else this.#isBehind = true
  }

  leaveOut(identity: ObjectIdentity): void {
    if (this.#taking === undefined) this.handler.onLeftOut?.(identity)
    else this.#isBehind = true
  }

  progress(resourceVersion: string): void {
    if (this.#taking === undefined) this.handler.onProgress(resourceVersion)
  }

  async #take(): Promise<void> {
    const { signal } = this.#ending
    const backoff = new Backoff({ baseMs: 200, maxMs: 10_000 })
    while (this.#isBehind && !signal.aborted) {
      this.#isBehind = false
      try {
        const { items, resourceVersion, leftOut } = this.#snapshot()
        await this.handler.onReplace(items, resourceVersion, leftOut)
        this.#trouble = undefined
        this.#synced.resolve()
      } catch (error) {
        this.#fail(error)
        await sleep(backoff.nextDelayMs(), undefined, { signal, ref: false }).catch(() => {})
      }
    }
    // At once: a change after the last look must not be taken for one that the next replace brings.
    this.#taking = undefined
  }

  #fail(error: unknown): void {
    this.#isBehind = true
    this.#trouble = { level: 'degraded', message: describeError(error), sinceMs: this.#trouble?.sinceMs ?? Date.now() }
    this.#onTrouble(error)
    this.handler.onFailure?.(error)
  }
}

function keyOf({ namespace = '', name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace}/${name}`
}
