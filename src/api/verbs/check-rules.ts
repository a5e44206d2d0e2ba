import type { ApiDocument } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'

/**
 * The errors after which no rule is evaluated: a rule could meet values of other types, or cost more than estimated.
 */
const blocking: ReadonlySet<FieldError['reason']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const unchecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

/**
 * Returns the errors of a document with those of its definition's CEL rules, or of the rules of a built-in kind that
 * take time. CEL rules are skipped where the other errors rule out their evaluation.
 */
export async function withRuleErrors(
  { strategy, isCustom }: Resource,
  errors: readonly FieldError[],
  next: ApiDocument,
  old: ApiDocument | undefined,
): Promise<readonly FieldError[]> {
  if (strategy.checkRules === undefined) return errors
  const isBlocked = isCustom === true && errors.some(({ reason }) => blocking.has(reason))
  return [...errors, ...(isBlocked ? [invalidField('<nil>', null, unchecked)] : await strategy.checkRules(next, old))]
}
