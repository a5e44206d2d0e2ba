import type { JsonObject } from '../../../model/api-object.ts'
import type { Schema } from '../../schema/schema.ts'
import { escapeName, unescapeName } from '../escape-name.ts'
import { isMap } from '../map-schema.ts'
import type { Parts } from './lists.ts'
import { CelError, MapValue, noSuchOverload, Uint, type Value } from './values.ts'

/** A map that an expression makes. */
export class EntryMap extends MapValue {
  readonly #entries: Map<unknown, readonly [key: Value, value: Value]>

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super()
    this.#entries = new Map([...entries].map((entry) => [lookupKey(entry[0]), entry]))
  }

  get size(): number {
    return this.#entries.size
  }

  find(key: Value): Value | undefined {
    return this.#entries.get(lookupKey(key))?.[1]
  }

  *keys(): Generator<Value, undefined> {
    for (const [key] of this.#entries.values()) yield key
  }

  /** Adds an entry; macros build a map entry by entry. */
  insert(key: Value, value: Value): Value {
    if (this.#entries.has(lookupKey(key))) return new CelError(`insert failed: key ${String(key)} already exists`)
    this.#entries.set(lookupKey(key), [key, value])
    return this
  }
}

/** Returns a key by which equal numbers of different types are one key. */
function lookupKey(key: Value): unknown {
  const number = key instanceof Uint ? key.value : key
  if (typeof number === 'number') return Number.isInteger(number) ? BigInt(number) : number
  return number
}

/** A map in an object (`additionalProperties`). */
export class JsonMap extends MapValue {
  /** Whether the map is compared without a schema, like one that an expression makes. */
  readonly isPlain: boolean = false
  readonly value: JsonObject
  readonly schema: Schema
  readonly parts: Parts
  #names: readonly string[] | undefined

  constructor(value: JsonObject, schema: Schema, parts: Parts) {
    super()
    this.value = value
    this.schema = schema
    this.parts = parts
  }

  get names(): readonly string[] {
    this.#names ??= Object.keys(this.value)
    return this.#names
  }

  get size(): number {
    return this.names.length
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.get(key) : noSuchOverload
  }

  /** Returns the value of a key of the document. */
  get(name: string): Value | undefined {
    const schema = this.schemaOf(name)
    if (schema === undefined || !Object.hasOwn(this.value, name)) return undefined
    return this.parts.read(this.value[name], schema)
  }

  schemaOf(_name: string): Schema | undefined {
    return isMap(this.schema) ? this.schema.additionalProperties : undefined
  }

  *keys(): Generator<Value, undefined> {
    for (const name of this.names) if (this.schemaOf(name) !== undefined) yield this.nameOf(name)
  }

  /** Returns the name of a key in rules. */
  protected nameOf(name: string): string {
    return name
  }
}

/** An object with fields. A null counts as absent. */
export class JsonFields extends JsonMap {
  override find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload
    const name = unescapeName(key)
    return name === undefined ? undefined : this.get(name)
  }

  override get(name: string): Value | undefined {
    return this.value[name] === null ? undefined : super.get(name)
  }

  override schemaOf(name: string): Schema | undefined {
    const { properties = {} } = this.schema
    return Object.hasOwn(properties, name) ? properties[name] : undefined
  }

  protected override nameOf(name: string): string {
    return escapeName(name) ?? name
  }
}
