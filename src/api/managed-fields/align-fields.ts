import type { Schema } from '../schema/schema.ts'
import { type FieldSet, onlyHere } from './field-set.ts'
import { childSchemaOf, isAtomic } from './shape.ts'

/**
 * Returns a stored set aligned with the present schema: the owner of a part of a list or map that has since become atomic owns the whole.
 * Returns the set itself where nothing changes.
 */
export function alignFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  if (schema === undefined || set.children.size === 0) return set
  if (isAtomic(schema)) return onlyHere
  let children: Map<string, FieldSet> | undefined
  for (const [step, child] of set.children) {
    const aligned = alignFields(childSchemaOf(schema, step), child)
    if (aligned === child) continue
    children ??= new Map(set.children)
    children.set(step, aligned)
  }
  return children === undefined ? set : { isMember: set.isMember, children }
}
