import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import { isOwnable, isOwnableMetadata, type WrittenPart } from './ownable.ts'
import { groupItems, isDeclared, memberSchema, shapeOf } from './shape.ts'

/** The FieldsV1 of a leaf. All leaves share it, because documents are immutable. */
const leaf: JsonObject = {}

/**
 * Returns the FieldsV1 of a new object: all fields that its writer owns, as `encodeFields` of the compared and ownable
 * fields would give them. Most writes of managed fields are creates, and a create needs no sets: nothing is compared.
 */
export function createdFields(schema: Schema, document: ApiDocument, part: WrittenPart): JsonObject {
  return encodeMembers(
    schema,
    document,
    (key) => isOwnable(part, `f:${key}`),
    {},
    (below, key, value) => (key === 'metadata' ? encodeMetadata(below, value) : encodeValue(below, value)),
  )
}

/** Encodes the fields of the metadata that have an owner; the metadata itself has none. */
function encodeMetadata(schema: Schema | undefined, value: Json): JsonObject | undefined {
  const shape = shapeOf(schema, value)
  if (shape.kind !== 'map') return undefined
  const fields = encodeMembers(schema, shape.value, (key) => isOwnableMetadata(`f:${key}`), {}, encodeMember)
  return Object.keys(fields).length === 0 ? undefined : fields
}

function encodeValue(schema: Schema | undefined, value: Json): JsonObject {
  const shape = shapeOf(schema, value)
  if (shape.kind === 'leaf') return leaf
  if (shape.kind === 'items') return shape.value.length === 0 ? leaf : encodeItems(schema, shape.value)
  const fields = encodeMembers(schema, shape.value, all, { '.': leaf }, encodeMember)
  return Object.keys(fields).length === 1 ? leaf : fields
}

const all = () => true

function encodeMember(schema: Schema | undefined, _key: string, value: Json): JsonObject {
  return encodeValue(schema, value)
}

/** Adds the encoded members to `fields`, in the order of their steps; a member that encodes to undefined is left out. */
function encodeMembers(
  schema: Schema | undefined,
  value: JsonObject,
  isTaken: (key: string) => boolean,
  fields: Record<string, JsonObject>,
  encode: (schema: Schema | undefined, key: string, value: Json) => JsonObject | undefined,
): JsonObject {
  for (const key of Object.keys(value).sort()) {
    const member = value[key]
    const below = memberSchema(schema, key)
    if (member === undefined || below === false || !isTaken(key)) continue
    const encoded = encode(below, key, member)
    if (encoded !== undefined) fields[stepOf(schema, key)] = encoded
  }
  return fields
}

function encodeItems(schema: Schema | undefined, items: readonly Json[]): JsonObject {
  const fields: Record<string, JsonObject> = { '.': leaf }
  const groups = groupItems(schema, items)
  for (const step of [...groups.keys()].sort()) {
    const [first = null, ...more] = groups.get(step) ?? []
    // An item whose key is repeated is owned as a whole.
    fields[step] = more.length > 0 ? leaf : encodeValue(schema?.items, first)
  }
  return fields
}

const steps = new Map<string, string>()
const rememberedSteps = 10_000

/** Returns the step of a field. Those of declared fields are kept: as the names of a thousand objects they are one text. */
function stepOf(schema: Schema | undefined, key: string): string {
  if (!isDeclared(schema, key)) return `f:${key}`
  const step = steps.get(key) ?? `f:${key}`
  if (steps.size < rememberedSteps) steps.set(key, step)
  return step
}
