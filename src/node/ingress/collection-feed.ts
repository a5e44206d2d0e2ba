import type { InformerHandler, ObjectIdentity, WireObject } from '../../client/index.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { type ObjectKey, objectKey } from '../../model/api-object.ts'

export interface CollectionFeedParts<Value> {
  readonly read: (object: WireObject) => Value
  /** Takes what differs; undefined for objects that are gone. */
  readonly store: (objects: ReadonlyMap<ObjectKey, Value | undefined>) => void
  /** Called after each whole list. */
  readonly onListed: () => void
  readonly onFailure?: (error: unknown) => void
}

/** Hands the objects of one informer on, those of a list in slices. Keys are `namespace/name`, names for what has no namespace. */
export class CollectionFeed<Value> implements InformerHandler {
  readonly #parts: CollectionFeedParts<Value>
  readonly #versions = new Map<ObjectKey, string>()

  constructor(parts: CollectionFeedParts<Value>) {
    this.#parts = parts
  }

  async onReplace(items: readonly WireObject[], _version: string, leftOut: readonly ObjectIdentity[]): Promise<void> {
    const { store, onListed } = this.#parts
    const kept = new Set([...items.map(({ metadata }) => keyOf(metadata)), ...leftOut.map(keyOf)])
    const gone = [...this.#versions.keys()].filter((key) => !kept.has(key))
    const slice = new TimeSlice()
    let changes = new Map<ObjectKey, Value | undefined>(gone.map((key) => [key, undefined]))
    for (const key of gone) this.#versions.delete(key)
    for (const item of items) {
      if (this.#versions.get(keyOf(item.metadata)) !== item.metadata.resourceVersion) this.#take(item, changes)
      if (!slice.spent) continue
      store(changes)
      changes = new Map()
      await slice.pause()
    }
    store(changes)
    onListed()
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: WireObject): void {
    const changes = new Map<ObjectKey, Value | undefined>()
    const key = keyOf(object.metadata)
    if (type !== 'DELETED') this.#take(object, changes)
    else if (this.#versions.delete(key)) changes.set(key, undefined)
    this.#parts.store(changes)
  }

  onProgress(): void {}

  onFailure(error: unknown): void {
    this.#parts.onFailure?.(error)
  }

  #take(object: WireObject, changes: Map<ObjectKey, Value | undefined>): void {
    const key = keyOf(object.metadata)
    this.#versions.set(key, object.metadata.resourceVersion)
    changes.set(key, this.#parts.read(object))
  }
}

function keyOf({
  namespace = '',
  name,
}: {
  readonly namespace?: string | undefined
  readonly name: string
}): ObjectKey {
  return namespace === '' ? name : objectKey(namespace, name)
}
