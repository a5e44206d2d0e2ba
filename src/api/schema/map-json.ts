import type { Json, JsonObject } from '../../model/api-object.ts'

/** The same array where no item changes. */
export function mapItems(items: readonly Json[], change: (item: Json, index: number) => Json): readonly Json[] {
  const changed = items.map(change)
  return changed.some((item, index) => item !== items[index]) ? changed : items
}

/** The same object where no field changes; undefined drops a field. Keys keep their order, `__proto__` is a key like any other. */
export function mapFields(value: JsonObject, change: (field: Json, key: string) => Json | undefined): JsonObject {
  const entries: [string, Json][] = []
  let isSame = true
  for (const [key, field] of Object.entries(value)) {
    const next = field === undefined ? undefined : change(field, key)
    if (next !== undefined) entries.push([key, next])
    isSame &&= next === field
  }
  return isSame ? value : Object.fromEntries(entries)
}

/** `spec.size`; a field of the whole has no dot. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
