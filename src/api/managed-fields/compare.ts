import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldSet, fieldSet, noFields, onlyHere } from './field-set.ts'
import { groupItems, memberSchema, type Shape, shapeOf } from './shape.ts'

export interface Comparison {
  /** What is new or has another value. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

const same: Comparison = { changed: noFields, removed: noFields }

/** Which fields differ between two states of an object. What appears or vanishes is named itself, with everything below it. */
export function compareFields(schema: Schema | undefined, old: Json | undefined, next: Json | undefined): Comparison {
  if (old === next) return same
  if (old === undefined) return { changed: wholeFields(schema, next), removed: noFields }
  if (next === undefined) return { changed: noFields, removed: wholeFields(schema, old) }
  const before = shapeOf(schema, old)
  const after = shapeOf(schema, next)
  if (before.kind === 'map' && after.kind === 'map') return compareMembers(schema, before.value, after.value)
  if (before.kind === 'items' && after.kind === 'items') return compareItems(schema, before.value, after.value)
  if (before.kind === after.kind) return isDeepStrictEqual(old, next) ? same : { changed: onlyHere, removed: noFields }
  return { changed: wholeFields(schema, next), removed: { ...wholeOfShape(schema, before), isMember: false } }
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

function compareGroups(
  schema: Schema | undefined,
  old: readonly Json[] | undefined,
  next: readonly Json[] | undefined,
): Comparison {
  const isSingle = (old ?? []).length <= 1 && (next ?? []).length <= 1
  if (isSingle) return compareFields(schema, old?.[0], next?.[0])
  if (next === undefined) return { changed: noFields, removed: onlyHere }
  return isDeepStrictEqual(old, next) ? same : { changed: onlyHere, removed: noFields }
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
