import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldSet, fieldSet, noFields, onlyHere } from './field-set.ts'
import { groupItems, isEmptyShape, memberSchema, type Shape, shapeOf } from './shape.ts'

export interface Comparison {
  /** The fields that are new or have another value. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

const same: Comparison = { changed: noFields, removed: noFields }

/** Compares two states of an object. An added or removed field is listed itself, with everything below it. */
export function compareFields(schema: Schema | undefined, old: Json | undefined, next: Json | undefined): Comparison {
  if (old === next) return same
  if (old === undefined) return { changed: wholeFields(schema, next), removed: noFields }
  if (next === undefined) return { changed: noFields, removed: wholeFields(schema, old) }
  const before = shapeOf(schema, old)
  const after = shapeOf(schema, next)
  if (isEmptyShape(before) && isEmptyShape(after)) return compareLeaves(old, next)
  if (before.kind === 'map' && after.kind === 'map') return compareMembers(schema, before.value, after.value)
  if (before.kind === 'items' && after.kind === 'items') return compareItems(schema, before.value, after.value)
  if (before.kind === after.kind) return compareLeaves(old, next)
  return { changed: wholeFields(schema, next), removed: { ...wholeOfShape(schema, before), isMember: false } }
}

function compareLeaves(old: Json, next: Json): Comparison {
  return isDeepStrictEqual(old, next) ? same : { changed: onlyHere, removed: noFields }
}

function compareMembers(schema: Schema | undefined, old: JsonObject, next: JsonObject): Comparison {
  const parts: (readonly [string, Comparison])[] = []
  for (const key of Object.keys({ ...old, ...next })) {
    const below = memberSchema(schema, key)
    if (below === false) continue
    parts.push([`f:${key}`, compareFields(below, ownValue(old, key), ownValue(next, key))])
  }
  return joinParts(parts)
}

function compareItems(schema: Schema | undefined, old: readonly Json[], next: readonly Json[]): Comparison {
  const before = groupItems(schema, old)
  const after = groupItems(schema, next)
  const steps = new Set([...before.keys(), ...after.keys()])
  return joinParts([...steps].map((step) => [step, compareGroups(schema?.items, before.get(step), after.get(step))]))
}

/** Compares items with one key. A duplicated key is compared as a whole; when only one item stays, its fields count as new, and vice versa. */
function compareGroups(schema: Schema | undefined, old: readonly Json[] = [], next: readonly Json[] = []): Comparison {
  const wasRepeated = old.length > 1
  const isRepeated = next.length > 1
  if (wasRepeated && isRepeated) return compareLeaves(old, next)
  if (wasRepeated) return { changed: wholeFields(schema, next[0]), removed: onlyHere }
  if (isRepeated) return { changed: onlyHere, removed: wholeFields(schema, old[0]) }
  return compareFields(schema, old[0], next[0])
}

function wholeFields(schema: Schema | undefined, value: Json | undefined): FieldSet {
  return value === undefined ? noFields : wholeOfShape(schema, shapeOf(schema, value))
}

function wholeOfShape(schema: Schema | undefined, shape: Shape): FieldSet {
  if (shape.kind === 'leaf') return onlyHere
  if (shape.kind === 'items') {
    const groups = groupItems(schema, shape.value)
    const children = [...groups].map(([step, group]): [string, FieldSet] => [step, wholeGroup(schema?.items, group)])
    return fieldSet(true, children)
  }
  const children: [string, FieldSet][] = []
  for (const [key, member] of Object.entries(shape.value)) {
    const below = memberSchema(schema, key)
    if (below !== false) children.push([`f:${key}`, wholeFields(below, member)])
  }
  return fieldSet(true, children)
}

function wholeGroup(schema: Schema | undefined, [first, ...more]: readonly Json[]): FieldSet {
  return more.length > 0 ? onlyHere : wholeFields(schema, first)
}

function joinParts(parts: readonly (readonly [string, Comparison])[]): Comparison {
  return {
    changed: fieldSet(
      false,
      parts.map(([step, { changed }]) => [step, changed] as const),
    ),
    removed: fieldSet(
      false,
      parts.map(([step, { removed }]) => [step, removed] as const),
    ),
  }
}

function ownValue(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined
}
