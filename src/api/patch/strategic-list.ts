import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { interleave } from './element-order.ts'
import { PatchError } from './json-pointer.ts'
import { directiveOf, plainValue } from './strategic-directive.ts'

/** Adds the values that the list does not have yet at its end. */
export function mergePrimitives(items: readonly Json[], patch: readonly Json[]): readonly Json[] {
  const present = new Set(items.map((item) => JSON.stringify(item)))
  return [...items, ...patch.filter((value) => !hasOrAdds(present, JSON.stringify(value)))]
}

/**
 * Merges items with equal `mergeKey` and adds others; `$patch: delete` removes one, `$patch: replace` all others. Where several live items
 * share a key (a Service's port 53 in TCP and UDP), the first one merges and all stay.
 */
export function mergeKeyedItems(
  mergeKey: string,
  items: readonly Json[],
  patch: readonly Json[],
  merge: (present: JsonObject, change: JsonObject) => JsonObject,
): readonly Json[] {
  const changes = patch.map(objectItem)
  const isReplaced = changes.some((change) => directiveOf(change) === 'replace')
  const merged = groupByKey(isReplaced ? [] : items, mergeKey)
  for (const change of changes) {
    const directive = directiveOf(change)
    if (directive === 'replace') continue
    // kube-apiserver refuses it too: nothing says what it would mean for an item.
    if (directive === 'merge')
      throw new PatchError('malformed', '"$patch": "merge" has no meaning for an item of a list')
    const key = keyText(change, mergeKey)
    const [first, ...more] = merged.get(key) ?? []
    if (directive === 'delete') merged.delete(key)
    else merged.set(key, [isJsonObject(first) ? merge(first, change) : plainValue(change), ...more])
  }
  return [...merged.values()].flat()
}

/**
 * Returns the items in the wanted order; each item that the order does not name stays before the item that followed it.
 * An item that `earlier` does not have has no place of its own: it comes as soon as the order names it.
 */
export function arrangeItems(
  items: readonly Json[],
  order: readonly Json[],
  mergeKey: string | undefined,
  earlier: readonly Json[] = items,
): readonly Json[] {
  const groups = groupByKey(items, mergeKey)
  const placed = new Set(earlier.map((item) => keyOf(item, mergeKey)))
  const wanted = order.map((item) => keyOf(item, mergeKey)).filter((key) => groups.has(key))
  const present = [...groups.keys()].filter((key) => placed.has(key))
  return interleave(present, wanted).flatMap((key) => groups.get(key) ?? [])
}

function groupByKey(items: readonly Json[], mergeKey: string | undefined): Map<string, readonly Json[]> {
  return Map.groupBy(items, (item) => keyOf(item, mergeKey))
}

function keyOf(item: Json, mergeKey: string | undefined): string {
  return mergeKey === undefined ? JSON.stringify(item) : keyText(objectItem(item), mergeKey)
}

function keyText(item: JsonObject, mergeKey: string): string {
  const key = Object.hasOwn(item, mergeKey) ? item[mergeKey] : undefined
  if (key !== undefined && key !== null) return JSON.stringify(key)
  throw new PatchError('malformed', `map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`)
}

function objectItem(item: Json): JsonObject {
  if (isJsonObject(item)) return item
  throw new PatchError('malformed', `expected an object in a list that merges by key, found ${JSON.stringify(item)}`)
}

function hasOrAdds(texts: Set<string>, text: string): boolean {
  const has = texts.has(text)
  texts.add(text)
  return has
}
