import {
  type ApiClient,
  Informer,
  type InformerHandler,
  type InformerTiming,
  type ObjectIdentity,
  type WireObject,
} from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import { compareResourceVersions } from '../../model/resource-version.ts'
import type { Logger } from '../../observe/index.ts'
import { type CacheIndex, ObjectIndex } from './object-index.ts'
import { type CachedObject, keyOf, type ResourceType } from './resource-type.ts'
import { SelectorIndex } from './selector-index.ts'

/** A change of an object: `old` is absent for a creation, `next` for a deletion. */
export interface Change<T> {
  readonly old: T | undefined
  readonly next: T | undefined
  /** True if the change is the response to a write of this process, before the watch reports it. */
  readonly isOwn: boolean
}

export type ChangeHandler<T> = (change: Change<T>) => void

export interface CacheOptions<T extends CachedObject> {
  readonly client: ApiClient
  readonly type: ResourceType<T>
  readonly log: Logger
  /** `metadata` if controllers read nothing else of the type; absent: whole objects. */
  readonly content?: 'whole' | 'metadata'
  readonly timing?: Partial<InformerTiming>
}

/**
 * Caches all objects of a resource. Responses to writes of this process are added at once (`note`); older watch events
 * of the same object are then ignored. An object that cannot be parsed is left out with a warning.
 */
export class ObjectCache<T extends CachedObject> implements Component, InformerHandler {
  readonly name: string
  readonly #options: CacheOptions<T>
  readonly #informer: Informer
  readonly #objects = new Map<string, T>()
  /** The indexes by the function that computes their values. */
  readonly #indexes = new Map<unknown, CacheIndex<T>>()
  readonly #handlers = new Set<ChangeHandler<T>>()
  /** The newest resourceVersion that the server has reported. */
  #seenVersion = '0'
  #hasSynced = false

  constructor(options: CacheOptions<T>) {
    this.name = `cache-${options.type.resource.resource}`.slice(0, 30)
    this.#options = options
    this.#informer = new Informer({
      client: options.client,
      collection: { resource: options.type.resource },
      handler: this,
      log: options.log,
      ...(options.content !== undefined && { content: options.content }),
      ...(options.timing !== undefined && { timing: options.timing }),
    })
  }

  /** Resolves when the first list is in the cache. */
  async start(scope: { signal: AbortSignal }): Promise<void> {
    await this.#informer.start(scope)
  }

  async stop(): Promise<void> {
    await this.#informer.stop()
  }

  health(): Health {
    return this.#informer.health()
  }

  get hasSynced(): boolean {
    return this.#hasSynced
  }

  get size(): number {
    return this.#objects.size
  }

  /** Returns the object with the key `namespace/name`, or `name` for a cluster-scoped object. */
  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  /** Returns the objects of all namespaces; see `addIndex` for a narrower choice. */
  list(): Iterable<T> {
    return this.#objects.values()
  }

  /** Returns an index of the objects by a function's values; callers that pass the same function share one index. */
  addIndex(valuesOf: (object: T) => Iterable<string>): ObjectIndex<T> {
    return this.#index(valuesOf, () => new ObjectIndex(valuesOf))
  }

  addSelectorIndex(selectorOf: (object: T) => Readonly<Record<string, string>> | undefined): SelectorIndex<T> {
    return this.#index(selectorOf, () => new SelectorIndex(selectorOf))
  }

  #index<Index extends CacheIndex<T>>(by: unknown, make: () => Index): Index {
    const known = this.#indexes.get(by)
    if (known !== undefined) return known as Index
    const index = make()
    for (const object of this.#objects.values()) index.change(undefined, object)
    this.#indexes.set(by, index)
    return index
  }

  /**
   * Calls the handler for every cached object as a creation, then for each change. Returns a function that removes the
   * handler.
   */
  onChange(handler: ChangeHandler<T>): () => void {
    this.#handlers.add(handler)
    for (const next of [...this.#objects.values()]) handler({ old: undefined, next, isOwn: false })
    return () => this.#handlers.delete(handler)
  }

  /** Puts the server's response to a write into the cache, unless the watch reported it or a newer version first. */
  note(written: unknown): T {
    const object = this.#options.type.schema.parse(written)
    if (compareResourceVersions(object.metadata.resourceVersion, this.#seenVersion) > 0) this.#upsert(object, true)
    return object
  }

  /** Replaces the content of the cache. Only the informer calls this and the next two methods. */
  async onReplace(
    items: readonly WireObject[],
    resourceVersion: string,
    leftOut: readonly ObjectIdentity[] = [],
  ): Promise<void> {
    const slice = new TimeSlice()
    const listed = new Set(leftOut.map((identity) => keyOf({ metadata: identity })))
    for (const item of items) {
      listed.add(keyOf(item))
      this.#take(item)
      if (slice.spent) await slice.pause()
    }
    for (const [key, object] of this.#objects) {
      if (!listed.has(key) && compareResourceVersions(object.metadata.resourceVersion, resourceVersion) <= 0) {
        this.#remove(key)
      }
    }
    this.#seenVersion = resourceVersion
    this.#hasSynced = true
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: WireObject, resourceVersion: string): void {
    this.#seenVersion = resourceVersion
    if (type !== 'DELETED') this.#take(object)
    // The response to a write that removes the last finalizer carries the version of the deletion itself.
    else if (this.#compareHeld(object) <= 0) this.#remove(keyOf(object))
  }

  onProgress(resourceVersion: string): void {
    this.#seenVersion = resourceVersion
  }

  /** Applies one object. An error in a handler does not keep other objects from the handlers. */
  #take(item: WireObject): void {
    try {
      this.#read(item)
    } catch (error) {
      this.#options.log.warn('an object could not be put into the cache', {
        object: this.#nameOf(item),
        error: describeError(error),
      })
    }
  }

  #read(item: WireObject): void {
    if (this.#compareHeld(item) >= 0) return
    const parsed = this.#options.type.schema.safeParse(item)
    if (parsed.success) {
      this.#upsert(parsed.data, false)
      return
    }
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'unknown' }
    const fields = { object: this.#nameOf(item), field: path.join('.'), message }
    this.#options.log.warn('an object could not be parsed and is left out', fields)
    this.#remove(keyOf(item))
  }

  #nameOf(item: WireObject): string {
    return `${this.#options.type.kind} ${keyOf(item)}`
  }

  /**
   * Returns a positive number if the cache holds a newer version, and a negative one if it holds an older version or
   * none.
   */
  #compareHeld(item: WireObject): number {
    const held = this.#objects.get(keyOf(item))?.metadata.resourceVersion ?? '0'
    return compareResourceVersions(held, item.metadata.resourceVersion)
  }

  #upsert(next: T, isOwn: boolean): void {
    const key = keyOf(next)
    const old = this.#objects.get(key)
    if (old && compareResourceVersions(old.metadata.resourceVersion, next.metadata.resourceVersion) >= 0) return
    this.#objects.set(key, next)
    this.#callHandlers({ old, next, isOwn })
  }

  #remove(key: string): void {
    const old = this.#objects.get(key)
    if (old === undefined) return
    this.#objects.delete(key)
    this.#callHandlers({ old, next: undefined, isOwn: false })
  }

  #callHandlers(change: Change<T>): void {
    for (const index of this.#indexes.values()) index.change(change.old, change.next)
    for (const handler of this.#handlers) handler(change)
  }
}
