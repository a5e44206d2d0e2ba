import type { Schema } from '../schema/schema.ts'
import { type FieldSet, fieldSet, onlyHere } from './field-set.ts'
import type { ManagedEntry, Writer } from './managed-entry.ts'
import { memberSchema } from './shape.ts'

/**
 * Entries as a write in another version must see them. Conversion changes no field, but versions may say otherwise which lists and maps are
 * owned whole: what was owned in parts is then owned as one, and fields that this version does not have are nobody's.
 */
export function translateEntries(
  schema: Schema,
  entries: readonly ManagedEntry[],
  { apiVersion }: Pick<Writer, 'apiVersion'>,
): readonly ManagedEntry[] {
  return entries.map((entry) =>
    entry.apiVersion === apiVersion ? entry : { ...entry, fields: translate(schema, entry.fields) },
  )
}

function translate(schema: Schema | undefined, fields: FieldSet): FieldSet {
  if (schema === undefined || fields.children.size === 0) return fields
  const steps = [...fields.children.keys()]
  if (!steps.every((step) => isStepOf(schema, step))) return onlyHere
  const children = [...fields.children].map(([step, child]): [string, FieldSet] => [
    step,
    translateChild(schema, step, child),
  ])
  return fieldSet(fields.isMember, children)
}

function translateChild(schema: Schema, step: string, child: FieldSet): FieldSet {
  if (!step.startsWith('f:')) return translate(schema.items, child)
  const below = memberSchema(schema, step.slice(2))
  return below === false ? fieldSet(false, []) : translate(below, child)
}

/** Whether a value of this schema is owned in such parts: fields of a map, items by key, items by value. */
function isStepOf({ type, listType, mapType, intOrString }: Schema, step: string): boolean {
  if (type === undefined && intOrString !== true) return true
  if (step.startsWith('f:')) return type === 'object' && mapType !== 'atomic'
  if (step.startsWith('k:')) return type === 'array' && listType === 'map'
  return step.startsWith('v:') && type === 'array' && listType === 'set'
}
