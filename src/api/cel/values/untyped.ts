import type { Json } from '../../../model/api-object.ts'
import { isJsonObject } from '../../document.ts'
import { numberOf } from '../../exact-json.ts'
import type { Schema } from '../../schema/schema.ts'
import { ItemList, JsonList, type Parts } from './lists.ts'
import { JsonMap } from './maps.ts'
import type { ListValue, Value } from './values.ts'

/** A map whose keys have their names in the document. */
class UntypedMap extends JsonMap {
  override readonly isPlain = true

  override schemaOf(): Schema {
    return {}
  }
}

class UntypedList extends JsonList {
  override readonly isPlain = true

  override concat(other: ListValue): ListValue {
    return new ItemList([...this]).concat(other)
  }
}

const parts: Parts = { read: (value) => readUntyped(value as Json), nativeOf: (value) => value }

/** Returns a value of an object without its schema: Kubernetes reads the content of an optional that way. */
export function untyped(value: Value): Value {
  if (value instanceof JsonMap) return new UntypedMap(value.value, {}, parts)
  return value instanceof JsonList ? new UntypedList(value.elements, {}, parts) : value
}

/** Reads JSON without a schema: whole numbers are integers, objects are maps. */
export function readUntyped(value: Json): Value {
  if (Array.isArray(value)) return new UntypedList(value, {}, parts)
  if (isJsonObject(value)) return new UntypedMap(value, {}, parts)
  const number = numberOf(value)
  if (number !== undefined) return Number.isInteger(number) ? BigInt(number) : number
  return value as Value
}
