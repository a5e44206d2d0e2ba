import { parseQuantity } from '../../../model/quantity.ts'
import { type FieldError, invalidField } from '../../schema/field-error.ts'

/** Checks that an amount is not negative; the error shows it as a number, as Kubernetes does. */
export function checkBasicAmount(amount: string, path: string): readonly FieldError[] {
  const thousandths = parseQuantity(amount || '0')
  if (thousandths > -1000n) return []
  return [invalidField(path, Number(thousandths / 1000n), 'must be a valid resource quantity')]
}
