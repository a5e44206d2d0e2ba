import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { canonicalText } from './canonical-text.ts'
import { duplicateField, type FieldError } from './field-error.ts'
import type { Schema } from './schema.ts'

/** Finds duplicate items of a list: equal items in a set, items with equal keys in a map. */
export function duplicateItems(schema: Schema, items: readonly Json[], path: string): readonly FieldError[] {
  const { listType } = schema
  if (listType !== 'set' && listType !== 'map') return []
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, item] of items.entries()) {
    const identity = listType === 'set' ? item : keysOf(schema, item)
    const text = canonicalText(identity)
    if (seen.has(text)) errors.push(duplicateField(`${path}[${index}]`, identity))
    seen.add(text)
  }
  return errors
}

function keysOf({ listMapKeys = [] }: Schema, item: Json): Json {
  if (!isJsonObject(item)) return item
  return Object.fromEntries(listMapKeys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]))
}
