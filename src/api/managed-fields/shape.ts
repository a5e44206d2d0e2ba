import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { canonicalText } from '../schema/canonical-text.ts'
import type { Schema } from '../schema/schema.ts'

/** The ownership of a value's parts: whole (`leaf`), field by field, or item by item. Without a schema, maps are granular and lists atomic. */
export type Shape =
  | { readonly kind: 'leaf' }
  | { readonly kind: 'map'; readonly value: JsonObject }
  | { readonly kind: 'items'; readonly value: readonly Json[] }

const leaf: Shape = { kind: 'leaf' }

/** Returns the shape of a value. A null in place of a map or a list counts as an empty one, as in structured-merge-diff. */
export function shapeOf(schema: Schema | undefined, value: Json | undefined): Shape {
  if (value === undefined || (schema !== undefined && isAtomic(schema))) return leaf
  if (isJsonObject(value)) return { kind: 'map', value }
  if (value === null) return shapeOfNull(schema)
  if (!Array.isArray(value) || schema === undefined) return leaf
  const items = value as readonly Json[]
  const isGranular = schema.listType === 'set' || (schema.listType === 'map' && items.every(isJsonObject))
  return isGranular ? { kind: 'items', value: items } : leaf
}

function shapeOfNull({ type, intOrString }: Schema = {}): Shape {
  if (type === 'array') return { kind: 'items', value: [] }
  return type === 'object' || (type === undefined && intOrString !== true) ? { kind: 'map', value: {} } : leaf
}

/** Checks whether a list or a map is owned as a whole. */
export function isAtomic({ type, mapType, listType }: Schema): boolean {
  return mapType === 'atomic' || (type === 'array' && (listType ?? 'atomic') === 'atomic')
}

export function isEmptyShape(shape: Shape): boolean {
  if (shape.kind === 'leaf') return false
  return shape.kind === 'map' ? Object.keys(shape.value).length === 0 : shape.value.length === 0
}

/** Returns the schema of a member: undefined where all fields are preserved, `false` for a field that is pruned. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined | false {
  if (schema === undefined) return undefined
  const { properties, additionalProperties } = schema
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]
  if (additionalProperties !== undefined) return additionalProperties
  return schema.preserveUnknownFields === true || schema.type === undefined ? undefined : false
}

/** Returns the schema below a step of a path; undefined where there is none. */
export function childSchemaOf(schema: Schema | undefined, step: string): Schema | undefined {
  return step.startsWith('f:') ? memberSchema(schema, step.slice(2)) || undefined : schema?.items
}

/** Checks whether the schema names the field itself; the keys of a map are not declared fields. */
export function isDeclared(schema: Schema | undefined, key: string): boolean {
  return schema?.properties !== undefined && Object.hasOwn(schema.properties, key)
}

/** Returns the step of a list item: `k:{…}` in a keyed list, `v:…` in a set. An absent key counts with its default. */
export function itemStep(schema: Schema | undefined, item: Json): string {
  if (schema?.listType !== 'map' || !isJsonObject(item)) return `v:${canonicalText(item)}`
  const { listMapKeys = [] } = schema
  const parts: string[] = []
  for (const key of listMapKeys.length > 1 ? listMapKeys.toSorted() : listMapKeys) {
    const value = keyOf(schema, item, key)
    if (value !== undefined) parts.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`)
  }
  return `k:{${parts.join(',')}}`
}

function keyOf(schema: Schema, item: JsonObject, key: string): Json | undefined {
  const own = Object.hasOwn(item, key) ? item[key] : undefined
  return own ?? schema.items?.properties?.[key]?.default
}

/** Groups items by their step, in the order of the list; a live list may hold a step twice. */
export function groupItems(schema: Schema | undefined, items: readonly Json[]): ReadonlyMap<string, readonly Json[]> {
  const groups = new Map<string, Json[]>()
  for (const item of items) groups.getOrInsert(itemStep(schema, item), []).push(item)
  return groups
}
