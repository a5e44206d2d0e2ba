import { ItemList } from '../values/lists.ts'
import { CelError, Uint, type Value } from '../values/values.ts'
import type { Step } from './frame.ts'

/**
 * Evaluates `x in [1, 2]` for a list of constants by a look-up, without a cost. Returns undefined where the range is no
 * such list.
 */
export function membership(value: Step | undefined, range: Value | undefined): Step | boolean | undefined {
  if (!(range instanceof ItemList) || value === undefined) return undefined
  if (range.size === 0) return false
  if (!range.items.every(isPrimitive)) return undefined
  const keys = new Set(range.items.map(keyOf))
  return (frame) => {
    const given = value(frame)
    return given instanceof CelError ? given : keys.has(keyOf(given))
  }
}

function isPrimitive(value: Value): boolean {
  return ['string', 'bigint', 'number', 'boolean'].includes(typeof value) || value instanceof Uint
}

/** Returns a key by which equal numbers of different types are equal. */
function keyOf(value: Value): unknown {
  if (value instanceof Uint) return value.value
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
}
