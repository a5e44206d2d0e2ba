import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'

/** The approximate number of characters of a value that an error shows. */
const maxLength = 3000

/** Returns the JSON of a value for a message, shortened where long; the part that is cut off costs no time. */
export function shortJson(value: Json): string {
  const plain = JSON.stringify(cut(value, { left: maxLength })) ?? 'null'
  const text = typeof value === 'object' ? plain.replaceAll(/[<>&\u2028\u2029]/g, escapeSign) : plain
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}

/** Escapes a character as Go's JSON encoder does, safe inside HTML. */
function escapeSign(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Returns the beginning of a value, with about as many characters as are left; a short value is returned itself. */
function cut(value: Json, budget: { left: number }): Json {
  budget.left -= 1
  if (typeof value === 'string') {
    const kept = value.length > budget.left ? value.slice(0, Math.max(0, budget.left) + 1) : value
    budget.left -= value.length
    return kept
  }
  if (Array.isArray(value)) return cutItems(value, budget)
  return isJsonObject(value) ? cutMembers(value, budget) : value
}

function cutItems(items: readonly Json[], budget: { left: number }): Json {
  const kept: Json[] = []
  for (const item of items) {
    if (budget.left < 0) break
    kept.push(cut(item, budget))
  }
  return kept
}

function cutMembers(value: Readonly<Record<string, Json | undefined>>, budget: { left: number }): Json {
  const kept: [string, Json][] = []
  for (const key in value) {
    if (budget.left < 0) break
    if (!Object.hasOwn(value, key)) continue
    budget.left -= key.length
    kept.push([key.slice(0, maxLength), cut(value[key] ?? null, budget)])
  }
  return Object.fromEntries(kept)
}
