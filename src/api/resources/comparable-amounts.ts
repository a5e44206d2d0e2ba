import type { Json, JsonObject } from '../../model/api-object.ts'
import { parseQuantity } from '../../model/quantity.ts'
import { objectAt, textAt } from '../document.ts'

/** Returns amounts by their names in thousandths, so that `1` and `1000m` are equal. */
export function comparableAmounts(amounts: Json | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(objectAt(amounts)).map(([name, amount]) => [name, String(parseQuantity(textAt(amount) || '0'))]),
  )
}
