import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { PatchError } from './json-pointer.ts'

/** Returns the `$patch` directive of a map; undefined where it is absent. Throws PatchError. */
export function directiveOf(patch: JsonObject): 'replace' | 'delete' | 'merge' | undefined {
  if (!Object.hasOwn(patch, '$patch')) return undefined
  const directive = patch['$patch']
  if (directive === 'replace' || directive === 'delete' || directive === 'merge') return directive
  throw new PatchError('malformed', `unknown patch type: ${JSON.stringify(directive)}`)
}

/** Returns a value with no counterpart to merge with, without its directives and nulls. */
export function plainValue(value: Json): Json {
  if (Array.isArray(value)) return plainItems(value as readonly Json[])
  return isJsonObject(value) ? plainMap(value) : value
}

function plainItems(items: readonly Json[]): readonly Json[] {
  const kept = items.filter((item) => !(isJsonObject(item) && directiveOf(item) !== undefined && isOnlyDirective(item)))
  return kept.map(plainValue)
}

function isOnlyDirective(item: JsonObject): boolean {
  return item['$patch'] === 'delete' || Object.keys(item).length === 1
}

/** Returns a map with no counterpart to merge with, without its directives and nulls. */
export function plainMap(value: JsonObject): JsonObject {
  if (directiveOf(value) === 'delete') return {}
  const entries = Object.entries(value).filter(([key, member]) => !key.startsWith('$') && member !== null)
  return Object.fromEntries(entries.map(([key, member]) => [key, plainValue(member ?? null)]))
}
