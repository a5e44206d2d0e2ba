import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'

/** Returns one text for equal values, whatever the order of their keys. */
export function canonicalText(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isJsonObject(value) && Object.keys(value).length === 1 && isScalar(Object.values(value)[0])) {
    return JSON.stringify(value)
  }
  return JSON.stringify(value, (_key, each: Json) => {
    return isJsonObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each
  })
}

function isScalar(value: Json | undefined): boolean {
  return typeof value !== 'object' || value === null
}
