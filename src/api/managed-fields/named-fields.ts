import type { Schema } from '../schema/schema.ts'
import { type FieldSet, fieldSet, isEmptySet } from './field-set.ts'
import { childSchemaOf, isDeclared } from './shape.ts'

/** Returns the set with every declared field on the way to one of its paths as a path too: an applied configuration names only leaves. */
export function withNamedFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  if (set.children.size === 0) return set
  const children = [...set.children].map(([step, child]): [string, FieldSet] => {
    const below = withNamedFields(childSchemaOf(schema, step), child)
    const isNamed = step.startsWith('f:') && isDeclared(schema, step.slice(2)) && !isEmptySet(child)
    return [step, isNamed ? { ...below, isMember: true } : below]
  })
  return fieldSet(set.isMember, children)
}
