import type { Schema } from '../schema/schema.ts'
import { escapeName } from './escape-name.ts'
import { isMap } from './map-schema.ts'
import { withObjectMeta } from './object-meta.ts'
import { CelType, type FieldTypes, listType, mapType, types } from './values/types.ts'

/** The size limit of a request. */
const maxRequestBytes = 3 * 1024 * 1024

/** The CEL type of a schema's values, and limits on their size. */
export interface SchemaType {
  /** Returns the type; objects in it have names below `name`. */
  readonly typeNamed: (name: string) => CelType
  /** The limit of characters, bytes, items or entries; 0 for values without a size. */
  readonly maxElements: number
  /** The fewest bytes of its JSON. */
  readonly minBytes: number
  /** The type of the items of a list or of the values of a map. */
  readonly items?: SchemaType
  readonly keys?: SchemaType
  /** The types of the fields, by their names in rules. */
  readonly fields?: ReadonlyMap<string, SchemaType>
}

function scalar(type: CelType, minBytes: number, maxElements = 0): SchemaType {
  return { typeNamed: () => type, maxElements, minBytes }
}

const [bool, double, int] = [scalar(types.bool, 4), scalar(types.double, 1), scalar(types.int, 1)]
const anyText = scalar(types.string, 2)

/** Reads the CEL types of schemas and caches them. */
export class SchemaTypes {
  readonly #known = new Map<Schema, SchemaType | undefined>()

  /**
   * Returns the type of a schema; undefined for one that declares too little, whose values rules do not see.
   * `isObject`: a whole API object.
   */
  typeOf(schema: Schema, isObject = schema.embeddedResource === true): SchemaType | undefined {
    const seen = isObject && schema.type === 'object' ? withObjectMeta(schema) : schema
    if (this.#known.has(seen)) return this.#known.get(seen)
    const type = this.#read(seen)
    this.#known.set(seen, type)
    return type
  }

  #read(schema: Schema): SchemaType | undefined {
    if (schema.intOrString === true) return scalar(types.dyn, 1, maxCharacters(schema) ?? maxRequestBytes - 2)
    switch (schema.type) {
      case 'array':
        return this.#list(schema)
      case 'object':
        return isMap(schema) ? this.#map(schema) : this.#object(schema)
      case 'string':
        return textType(schema)
      case 'boolean':
        return bool
      case 'number':
        return double
      case 'integer':
        return int
      default:
        return undefined
    }
  }

  #list({ items, maxItems }: Schema): SchemaType | undefined {
    const item = items && this.typeOf(items)
    if (item === undefined) return undefined
    return {
      typeNamed: (name) => listType(item.typeNamed(`${name}.@idx`)),
      maxElements: maxItems ?? Math.floor((maxRequestBytes - 2) / (item.minBytes + 1)),
      minBytes: 2,
      items: item,
    }
  }

  #map({ additionalProperties, maxProperties }: Schema): SchemaType | undefined {
    const value = additionalProperties && this.typeOf(additionalProperties)
    if (value === undefined) return undefined
    return {
      typeNamed: (name) => mapType(types.string, value.typeNamed(`${name}.@elem`)),
      maxElements: maxProperties ?? Math.floor((maxRequestBytes - 2) / (value.minBytes + 6)),
      minBytes: 2,
      items: value,
      keys: anyText,
    }
  }

  #object({ properties = {}, required = [] }: Schema): SchemaType {
    const fields = new Map<string, SchemaType>()
    let minBytes = 2
    for (const [name, schema] of Object.entries(properties)) {
      const type = this.typeOf(schema)
      if (type === undefined) continue
      const escaped = escapeName(name)
      if (escaped !== undefined) fields.set(escaped, type)
      const isSent = required.includes(name) && (schema.default ?? null) === null
      if (isSent) minBytes += Buffer.byteLength(name) + type.minBytes + 4
    }
    return {
      typeNamed: (name) => new CelType('struct', name, [], new LazyFields(name, fields)),
      maxElements: 0,
      minBytes,
      fields,
    }
  }
}

/** The types of an object's fields, made on request: schemas are deep, and rules name few of the fields. */
class LazyFields implements FieldTypes {
  readonly #name: string
  readonly #fields: ReadonlyMap<string, SchemaType>
  readonly #made = new Map<string, CelType>()

  constructor(name: string, fields: ReadonlyMap<string, SchemaType>) {
    this.#name = name
    this.#fields = fields
  }

  get(field: string): CelType | undefined {
    const made = this.#made.get(field) ?? this.#fields.get(field)?.typeNamed(`${this.#name}.${field}`)
    if (made !== undefined) this.#made.set(field, made)
    return made
  }
}

function textType(schema: Schema): SchemaType {
  switch (schema.format) {
    case 'byte':
      return scalar(types.bytes, 2, schema.maxLength ?? maxRequestBytes - 2)
    case 'duration':
      return scalar(types.duration, 3, 32)
    case 'date':
      return scalar(types.timestamp, 12, 12)
    case 'date-time':
      return scalar(types.timestamp, 21, 32)
    default:
      return scalar(types.string, 2, maxCharacters(schema) ?? maxOfEnum(schema) ?? maxRequestBytes - 2)
  }
}

/** Returns the limit of characters; a character may have four bytes. */
function maxCharacters({ maxLength }: Schema): number | undefined {
  return maxLength === undefined ? undefined : Math.max(0, maxLength) * 4
}

function maxOfEnum({ enum: values = [] }: Schema): number | undefined {
  if (values.length === 0) return undefined
  return Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)))
}

/** Returns how often values of a type can occur in one object. */
export function maxCardinality({ minBytes }: SchemaType): number {
  return Math.floor(maxRequestBytes / (minBytes + 1))
}
