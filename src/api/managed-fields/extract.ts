import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldSet, fieldSet, noFields, onlyHere } from './field-set.ts'
import { groupItems, isDeclared, memberSchema, shapeOf } from './shape.ts'

/** Returns the fields that an applied configuration names: its leaves, its list items, the keys of its maps. Undeclared fields are left out. */
export function extractFields(schema: Schema | undefined, value: Json): FieldSet {
  const shape = shapeOf(schema, value)
  switch (shape.kind) {
    case 'leaf':
      return onlyHere
    case 'map':
      return extractMembers(schema, shape.value)
    case 'items':
      return extractItems(schema, shape.value)
  }
}

function extractMembers(schema: Schema | undefined, value: JsonObject): FieldSet {
  const children: [string, FieldSet][] = []
  for (const [key, member] of Object.entries(value)) {
    const below = memberSchema(schema, key)
    if (member === undefined || below === false) continue
    const fields = extractFields(below, member)
    const isNamed = !isDeclared(schema, key) || saysNothing(member)
    children.push([`f:${key}`, isNamed ? { ...fields, isMember: true } : fields])
  }
  return fieldSet(false, children)
}

function extractItems(schema: Schema | undefined, items: readonly Json[]): FieldSet {
  const children: [string, FieldSet][] = []
  for (const [step, [first = null, ...more]] of groupItems(schema, items)) {
    const below = more.length > 0 || !isJsonObject(first) ? noFields : extractFields(schema?.items, first)
    children.push([step, { ...below, isMember: true }])
  }
  return fieldSet(false, children)
}

/** Checks for a value that names no fields itself: an applier owns a null or an empty map; an empty list has no items to own. */
function saysNothing(value: Json): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0)
}
