import type { Json } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { extractFields } from './extract.ts'
import { differenceOf, type FieldSet, intersectionOf, isEmptySet, unionOf } from './field-set.ts'
import { withNamedFields } from './named-fields.ts'
import { removeFields } from './remove-fields.ts'

/**
 * Removes the fields that an applier owned before (`before`) and no manager owns now (`owned`). A list item without an owner is removed whole,
 * even where other managers have set fields of it: the rest would lack its key. A field that the applier never owned stays, unless its parent
 * is removed.
 */
export function dropAbandoned(schema: Schema, merged: Json, before: FieldSet, owned: FieldSet): Json {
  const named = (set: FieldSet) => withNamedFields(schema, set)
  const presentIn = (value: Json) => named(extractFields(schema, value))
  const last = named(before)
  const managed = named(owned)
  if (isEmptySet(differenceOf(last, managed))) return merged
  const present = presentIn(merged)
  const untouched = presentIn(removeFields(schema, merged, last))
  const unowned = differenceOf(present, unionOf(untouched, managed))
  const kept = presentIn(removeFields(schema, merged, unowned))
  return removeFields(schema, merged, intersectionOf(differenceOf(present, kept), last))
}
