import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'

/** Applies a JSON merge patch (RFC 7386): objects merge, null removes, everything else replaces. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch
  const merged = new Map(Object.entries(isJsonObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) merged.delete(key)
    else merged.set(key, applyMergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged) as JsonObject
}
