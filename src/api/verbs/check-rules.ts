import type { ApiDocument } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'

/** After these a rule may meet what its types rule out, or more than its costs allow for. */
const blocking: ReadonlySet<FieldError['reason']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const unchecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

/** The errors of a document with those of its definition's own rules, which are left out where the document is too wrong for them. */
export async function withRuleErrors(
  { strategy }: Resource,
  errors: readonly FieldError[],
  next: ApiDocument,
  old: ApiDocument | undefined,
): Promise<readonly FieldError[]> {
  if (strategy.checkRules === undefined) return errors
  const isBlocked = errors.some(({ reason }) => blocking.has(reason))
  return [...errors, ...(isBlocked ? [invalidField('<nil>', null, unchecked)] : await strategy.checkRules(next, old))]
}
