import type { Json } from '../../../model/api-object.ts'
import { isJsonObject } from '../../document.ts'
import type { Schema } from '../../schema/schema.ts'
import { escapeName } from '../escape-name.ts'
import { ListValue, type Value } from './values.ts'

function joined(left: ListValue, right: ListValue): ListValue {
  if (left.size === 0) return right
  return right.size === 0 ? left : new JoinedList(left, right)
}

export class ItemList extends ListValue {
  readonly items: readonly Value[]

  constructor(items: readonly Value[]) {
    super()
    this.items = items
  }

  get size(): number {
    return this.items.length
  }

  at(index: number): Value {
    return this.items[index] as Value
  }

  concat(other: ListValue): ListValue {
    return joined(this, other)
  }
}

/** The concatenation of two lists, without a copy of their items. */
class JoinedList extends ListValue {
  readonly #left: ListValue
  readonly #right: ListValue
  readonly size: number

  constructor(left: ListValue, right: ListValue) {
    super()
    this.#left = left
    this.#right = right
    this.size = left.size + right.size
  }

  at(index: number): Value {
    return index < this.#left.size ? this.#left.at(index) : this.#right.at(index - this.#left.size)
  }

  concat(other: ListValue): ListValue {
    return joined(this, other)
  }

  override *[Symbol.iterator](): Generator<Value, undefined> {
    yield* this.#left
    yield* this.#right
  }
}

/** A list that a macro builds, one item at a time. */
export class GrowingList extends ListValue {
  readonly #items: Value[] = []

  get size(): number {
    return this.#items.length
  }

  at(index: number): Value {
    return this.#items[index] as Value
  }

  concat(other: ListValue): ListValue {
    for (const item of other) this.#items.push(item)
    return this
  }
}

/** The conversions between the parts of an object and values, also of values that are added to a list of an object. */
export interface Parts {
  read(part: unknown, schema: Schema): Value
  nativeOf(value: Value): unknown
}

/** A list of an object. Its items are JSON, and values that were added to them. */
export class JsonList extends ListValue {
  /** Whether the list is compared without a schema, like one that an expression makes. */
  readonly isPlain: boolean = false
  readonly elements: readonly unknown[]
  readonly schema: Schema
  readonly parts: Parts

  constructor(elements: readonly unknown[], schema: Schema, parts: Parts) {
    super()
    this.elements = elements
    this.schema = schema
    this.parts = parts
  }

  get size(): number {
    return this.elements.length
  }

  at(index: number): Value {
    return this.read(this.elements[index])
  }

  read(element: unknown): Value {
    return this.parts.read(element, this.schema.items ?? {})
  }

  concat(other: ListValue): ListValue {
    return new JsonList([...this.elements, ...this.nativesOf(other)], this.schema, this.parts)
  }

  protected nativesOf(list: ListValue): readonly unknown[] {
    return [...list].map((item) => this.parts.nativeOf(item))
  }
}

/** A list without an order: equality ignores the order, and a sum does not repeat items. */
export abstract class UnorderedList extends JsonList {
  #byKey: ReadonlyMap<unknown, unknown> | undefined
  /** Whether its items are their own keys. */
  abstract readonly isSet: boolean

  /** Returns the key of an item; a value from outside this list gets its own key. */
  abstract keyOf(item: unknown): unknown

  find(key: unknown): unknown {
    this.#byKey ??= new Map(this.elements.map((each) => [this.keyOf(each), each]))
    return this.#byKey.get(key)
  }
}

export class SetList extends UnorderedList {
  readonly isSet = true

  keyOf(item: unknown): unknown {
    if (typeof item === 'number') return `${Number.isInteger(item) ? 'int' : 'double'} ${item}`
    return typeof item === 'bigint' ? `int ${item}` : item
  }

  override concat(other: ListValue): ListValue {
    const elements = [...this.elements]
    const known = new Set(elements.map((each) => this.keyOf(each)))
    for (const item of this.nativesOf(other)) {
      if (known.has(this.keyOf(item))) continue
      known.add(this.keyOf(item))
      elements.push(item)
    }
    return new SetList(elements, this.schema, this.parts)
  }
}

export class KeyedList extends UnorderedList {
  readonly isSet = false

  keyOf(item: unknown): unknown {
    if (!isJsonObject(item as Json)) return item
    const fields = item as Readonly<Record<string, Json>>
    // Kubernetes looks for a key by the name that rules have for it.
    const keys = (this.schema.listMapKeys ?? []).map((key) => fields[escapeName(key) ?? key])
    return JSON.stringify(keys.map((key) => key ?? null))
  }

  override concat(other: ListValue): ListValue {
    const elements = [...this.elements]
    const places = new Map(elements.map((each, index) => [this.keyOf(each), index]))
    for (const item of this.nativesOf(other)) {
      const place = places.get(this.keyOf(item))
      if (place === undefined) elements.push(item)
      else elements[place] = item
    }
    return new KeyedList(elements, this.schema, this.parts)
  }
}
