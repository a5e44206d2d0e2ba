import type { InformerHandler, ObjectIdentity, WireObject } from '../../client/index.ts'
import { ApiError } from '../../client/index.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger, TraceContext } from '../../observe/index.ts'
import { formatProblem, type Problem } from '../state/index.ts'
import type { ListedCollections } from './listed-collections.ts'

interface ReadObject<Value> {
  readonly value: Value | undefined
  readonly problems: readonly Problem[]
}

export interface ObjectFeedParts<Value> {
  /** How the collection is named in messages and in `lists`. */
  readonly name: string
  readonly lists: ListedCollections
  readonly read: (object: WireObject) => ReadObject<Value>
  /** Takes what differs; undefined for objects that are gone or say nothing. */
  readonly store: (objects: ReadonlyMap<ObjectKey, Value | undefined>) => void
  /** Returns what stands in for an object that exists and of which nothing can be read, and the problem; absent where nothing does. */
  readonly standIn?: (identity: ObjectIdentity) => ReadObject<Value>
  /** Called with the problems of an object as it is now; none for one that is sound or gone. */
  readonly onProblems?: (
    key: ObjectKey,
    problems: readonly Problem[],
    object: Pick<WireObject, 'metadata'> | undefined,
  ) => void
  readonly log: Logger
  /** Called with the place of a change in its trace, before it is stored. */
  readonly onTrace?: ((trace: TraceContext) => void) | undefined
}

/** Hands what one informer receives to a table. Keys are `namespace/name`, names for what has no namespace. */
export class ObjectFeed<Value> implements InformerHandler {
  readonly #parts: ObjectFeedParts<Value>
  /** The objects that this feed put into the table, with their versions. */
  readonly #versions = new Map<ObjectKey, string>()

  constructor(parts: ObjectFeedParts<Value>) {
    this.#parts = parts
  }

  /** Works in slices: a list may have 30,000 objects. */
  async onReplace(items: readonly WireObject[], _version: string, leftOut: readonly ObjectIdentity[]): Promise<void> {
    const kept = new Set([...items.map(keyOf), ...leftOut.map((metadata) => keyOf({ metadata }))])
    const slice = new TimeSlice()
    let changes = new Map<ObjectKey, Value | undefined>()
    for (const key of [...this.#versions.keys()].filter((known) => !kept.has(known))) this.#forget(key, changes)
    for (const item of items) {
      const key = keyOf(item)
      if (this.#versions.get(key) !== item.metadata.resourceVersion) changes.set(key, this.#read(key, item))
      if (!slice.spent) continue
      this.#parts.store(changes)
      changes = new Map()
      await slice.pause()
    }
    for (const identity of leftOut) this.#standIn(identity, changes)
    this.#parts.store(changes)
    this.#parts.lists.listed(this.#parts.name)
  }

  onEvent(
    type: 'ADDED' | 'MODIFIED' | 'DELETED',
    object: WireObject,
    _resourceVersion?: string,
    trace?: TraceContext,
  ): void {
    if (trace !== undefined) this.#parts.onTrace?.(trace)
    const key = keyOf(object)
    const changes = new Map<ObjectKey, Value | undefined>()
    if (type === 'DELETED') this.#forget(key, changes)
    else changes.set(key, this.#read(key, object))
    this.#parts.store(changes)
  }

  onLeftOut(identity: ObjectIdentity): void {
    const changes = new Map<ObjectKey, Value | undefined>()
    this.#standIn(identity, changes)
    this.#parts.store(changes)
  }

  onProgress(): void {}

  onFailure(error: unknown): void {
    const isRefused = error instanceof ApiError && (error.status === 403 || error.status === 404)
    if (isRefused) this.#parts.lists.denied(this.#parts.name, describeError(error))
  }

  /** Takes everything of this feed from the table: it is not followed any more. */
  clear(): void {
    const changes = new Map<ObjectKey, Value | undefined>()
    for (const key of [...this.#versions.keys()]) this.#forget(key, changes)
    this.#parts.store(changes)
  }

  #forget(key: ObjectKey, changes: Map<ObjectKey, Value | undefined>): void {
    this.#versions.delete(key)
    this.#parts.onProblems?.(key, [], undefined)
    changes.set(key, undefined)
  }

  /** An object keeps its last known form; one that has none gets what stands in for it. */
  #standIn(identity: ObjectIdentity, changes: Map<ObjectKey, Value | undefined>): void {
    const { standIn, onProblems } = this.#parts
    if (standIn === undefined) return
    const key = keyOf({ metadata: identity })
    const { value, problems } = standIn(identity)
    if (!this.#versions.has(key)) changes.set(key, value)
    // No version: the object is read as soon as it can be.
    this.#versions.set(key, '')
    onProblems?.(key, problems, { metadata: identity })
  }

  #read(key: ObjectKey, object: WireObject): Value | undefined {
    const { read, onProblems, log } = this.#parts
    const { resourceVersion } = object.metadata
    const { value, problems } = read(object)
    this.#versions.set(key, resourceVersion)
    for (const problem of problems) log.warn(formatProblem(problem), { resourceVersion, ...problem })
    onProblems?.(key, problems, object)
    return value
  }
}

function keyOf({ metadata: { namespace = '', name } }: { readonly metadata: Partial<ObjectIdentity> }): ObjectKey {
  return namespace === '' ? (name ?? '') : objectKey(namespace, name ?? '')
}
