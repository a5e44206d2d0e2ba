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

  /** For macros, which make a map entry by entry. */
  insert(key: Value, value: Value): Value {
    if (this.#entries.has(lookupKey(key))) return new CelError(`insert failed: key ${String(key)} already exists`)
    this.#entries.set(lookupKey(key), [key, value])
    return this
  }
}

/** Numbers of any type are one key where they are equal. */
function lookupKey(key: Value): unknown {
  const number = key instanceof Uint ? key.value : key
  if (typeof number === 'number') return Number.isInteger(number) ? BigInt(number) : number
  return number
}

/** A map of an object: `additionalProperties`. */
export class JsonMap extends MapValue {
  /** Compared like a value that an expression makes: nothing is known of a schema. */
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

  /** The value under a name as the document has it. */
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

  /** The name that rules have for a key. */
  protected nameOf(name: string): string {
    return name
  }
}

/** An object with fields. A null is as good as absent. */
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
