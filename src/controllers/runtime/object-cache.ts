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

/** One of the two is always there: created without `old`, deleted without `next`. */
export interface Change<T> {
  readonly old: T | undefined
  readonly next: T | undefined
  /** The answer to a write of this process, ahead of the watch. */
  readonly isOwn: boolean
}

export type ChangeHandler<T> = (change: Change<T>) => void

export interface CacheOptions<T extends CachedObject> {
  readonly client: ApiClient
  readonly type: ResourceType<T>
  readonly log: Logger
  /** `metadata` when the type names nothing else; absent: whole objects. */
  readonly content?: 'whole' | 'metadata'
  readonly timing?: Partial<InformerTiming>
}

/**
 * All objects of a resource as the API server has them, or newer: what this process wrote is noted at once (`note`), and older
 * news of the same object is then ignored. An object that cannot be read is left out with a warning.
 */
export class ObjectCache<T extends CachedObject> implements Component, InformerHandler {
  readonly name: string
  readonly #options: CacheOptions<T>
  readonly #informer: Informer
  readonly #objects = new Map<string, T>()
  /** By the function that says what to find objects by. */
  readonly #indexes = new Map<unknown, CacheIndex<T>>()
  readonly #handlers = new Set<ChangeHandler<T>>()
  /** The newest version that the server has reported. */
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

  /** By `namespace/name`, or by name for what has no namespace. */
  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  /** Returns the objects of all namespaces; see `addIndex` for a narrower choice. */
  list(): Iterable<T> {
    return this.#objects.values()
  }

  /** One index for each function, however many ask for it. */
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

  /** Tells of everything there is as created, then of each change; the function it returns ends that. */
  onChange(handler: ChangeHandler<T>): () => void {
    this.#handlers.add(handler)
    for (const next of [...this.#objects.values()]) handler({ old: undefined, next, isOwn: false })
    return () => this.#handlers.delete(handler)
  }

  /** Takes the server's answer to a write of ours, unless a watch was faster. */
  note(written: unknown): T {
    const object = this.#options.type.schema.parse(written)
    if (compareResourceVersions(object.metadata.resourceVersion, this.#seenVersion) > 0) this.#upsert(object, true)
    return object
  }

  /** Called by the informer, as are the next two. */
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
    // A write that takes the last finalizer is answered with the version of the deletion itself.
    else if (this.#compareHeld(object) <= 0) this.#remove(keyOf(object))
  }

  onProgress(resourceVersion: string): void {
    this.#seenVersion = resourceVersion
  }

  /** One object that a handler fails over does not keep the others from their handlers. */
  #take(item: WireObject): void {
    try {
      this.#read(item)
    } catch (error) {
      this.#options.log.warn('an object could not be taken', {
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
    this.#options.log.warn('an object that cannot be read is left out', fields)
    this.#remove(keyOf(item))
  }

  #nameOf(item: WireObject): string {
    return `${this.#options.type.kind} ${keyOf(item)}`
  }

  /** Positive when a newer version is held, negative when an older one or none is. */
  #compareHeld(item: WireObject): number {
    const held = this.#objects.get(keyOf(item))?.metadata.resourceVersion ?? '0'
    return compareResourceVersions(held, item.metadata.resourceVersion)
  }

  #upsert(next: T, isOwn: boolean): void {
    const key = keyOf(next)
    const old = this.#objects.get(key)
    if (old && compareResourceVersions(old.metadata.resourceVersion, next.metadata.resourceVersion) >= 0) return
    this.#objects.set(key, next)
    this.#tell({ old, next, isOwn })
  }

  #remove(key: string): void {
    const old = this.#objects.get(key)
    if (old === undefined) return
    this.#objects.delete(key)
    this.#tell({ old, next: undefined, isOwn: false })
  }

  #tell(change: Change<T>): void {
    for (const index of this.#indexes.values()) index.change(change.old, change.next)
    for (const handler of this.#handlers) handler(change)
  }
}
