import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import { PatchError } from './json-pointer.ts'
import { directiveOf, plainMap, plainValue } from './strategic-directive.ts'
import { arrangeItems, mergeKeyedItems, mergePrimitives } from './strategic-list.ts'

const deleteFromList = '$deleteFromPrimitiveList/'
const elementOrder = '$setElementOrder/'

/**
 * Applies a strategic merge patch: a merge patch in which lists merge by the key their schema names, with the directives `$patch`,
 * `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder`. Throws PatchError.
 */
export function applyStrategicPatch(schema: Schema | undefined, document: Json, patch: Json): Json {
  if (!isJsonObject(patch)) throw new PatchError('malformed', 'a strategic merge patch is an object')
  return mergeMaps(schema, isJsonObject(document) ? document : {}, patch)
}

/** Returns the original with the patch merged in. */
function mergeMaps(schema: Schema | undefined, original: JsonObject, patch: JsonObject): JsonObject {
  const directive = directiveOf(patch)
  if (directive === 'replace') return plainMap(patch)
  if (directive === 'delete') return {}
  const merged = retainKeys(original, patch)
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$') || value === undefined) continue
    if (value === null) merged.delete(key)
    else merged.set(key, mergeField(fieldSchema(schema, key), merged.get(key), value))
  }
  arrangeLists(schema, merged, patch)
  return Object.fromEntries(merged)
}

function mergeField(schema: Schema | undefined, original: Json | undefined, patch: Json): Json {
  const isMerged = isMergedField(schema, patch)
  if (isMerged && isJsonObject(patch) && isJsonObject(original)) return mergeMaps(schema, original, patch)
  if (!isMerged || !Array.isArray(patch)) return plainValue(patch)
  const items = Array.isArray(original) ? (original as readonly Json[]) : []
  const mergeKey = schema?.patchMergeKey
  const changes = patch as readonly Json[]
  if (mergeKey === undefined) return arrangeItems(mergePrimitives(items, changes), changes, undefined, items)
  const mergeItem = (present: JsonObject, change: JsonObject) => mergeMaps(schema?.items, present, change)
  const named = changes.filter((change) => !isJsonObject(change) || directiveOf(change) === undefined)
  return arrangeItems(mergeKeyedItems(mergeKey, items, changes, mergeItem), named, mergeKey, items)
}

/** Checks whether a field merges: maps do unless they have `replace`, lists only where their schema has `merge`. */
function isMergedField(schema: Schema | undefined, patch: Json): boolean {
  const strategy = schema?.patchStrategy ?? []
  return Array.isArray(patch) ? strategy.includes('merge') : !strategy.includes('replace')
}

function retainKeys(original: JsonObject, patch: JsonObject): Map<string, Json> {
  const entries = Object.entries(original).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  const retained = Object.hasOwn(patch, '$retainKeys') ? patch['$retainKeys'] : undefined
  if (retained === undefined) return new Map(entries)
  const keys = new Set(listOperand('$retainKeys', retained))
  const missing = Object.keys(patch).find((key) => !key.startsWith('$') && patch[key] !== null && !keys.has(key))
  if (missing !== undefined) throw new PatchError('malformed', `$retainKeys does not name ${JSON.stringify(missing)}`)
  return new Map(entries.filter(([key]) => keys.has(key)))
}

/** Applies the directives for lists, deleted primitives and element order; the list itself may be absent from the patch. */
function arrangeLists(schema: Schema | undefined, merged: Map<string, Json>, patch: JsonObject): void {
  for (const [directive, operand] of Object.entries(patch)) {
    if (operand === undefined || !directive.startsWith(deleteFromList)) continue
    const field = directive.slice(deleteFromList.length)
    const removed = textsOf(listOperand(directive, operand)).difference(textsOf(listOrNone(patch[field])))
    changeList(merged, field, (items) => items.filter((item) => !removed.has(JSON.stringify(item))))
  }
  for (const [directive, operand] of Object.entries(patch)) {
    if (operand === undefined || !directive.startsWith(elementOrder)) continue
    const field = directive.slice(elementOrder.length)
    const order = listOperand(directive, operand)
    changeList(merged, field, (items) => arrangeItems(items, order, fieldSchema(schema, field)?.patchMergeKey))
  }
}

function textsOf(values: readonly Json[]): Set<string> {
  return new Set(values.map((value) => JSON.stringify(value)))
}

function changeList(merged: Map<string, Json>, field: string, change: (items: readonly Json[]) => readonly Json[]) {
  const value = merged.get(field)
  if (Array.isArray(value)) merged.set(field, change(value as readonly Json[]))
}

function listOrNone(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

function listOperand(directive: string, operand: Json): readonly Json[] {
  if (Array.isArray(operand)) return operand as readonly Json[]
  throw new PatchError('malformed', `${directive} must be a list`)
}

function fieldSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const properties = schema?.properties
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : schema?.additionalProperties
}
