import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { canonicalText } from './canonical-text.ts'
import type { Schema } from './schema.ts'

/** Returns the old value of a field; undefined where it cannot be found. */
export function oldField(old: Json | undefined, key: string): Json | undefined {
  return isJsonObject(old) && Object.hasOwn(old, key) ? old[key] : undefined
}

/** Finds the old value of each list item. Only keys identify items, so items of sets and atomic lists have no old value. */
export function oldItems(
  { listType, listMapKeys = [] }: Schema,
  old: Json | undefined,
): (item: Json) => Json | undefined {
  if (listType !== 'map' || !Array.isArray(old)) return () => undefined
  const keysOf = (item: Json) => canonicalText(listMapKeys.map((key) => oldField(item, key) ?? null))
  const byKeys = new Map((old as readonly Json[]).map((item) => [keysOf(item), item]))
  return (item) => byKeys.get(keysOf(item))
}

/** Compares values with their old values. Each part is compared once, however many enclosing values are compared later. */
export class Sameness {
  readonly #known = new WeakMap<object, { readonly old: Json; readonly isSame: boolean }>()

  isSame(value: Json, old: Json): boolean {
    if (typeof value !== 'object' || value === null) return value === old
    const known = this.#known.get(value)
    if (known !== undefined && known.old === old) return known.isSame
    const isSame = this.#compare(value, old)
    this.#known.set(value, { old, isSame })
    return isSame
  }

  #compare(value: Json, old: Json): boolean {
    if (Array.isArray(value)) {
      const items = value as readonly Json[]
      return (
        Array.isArray(old) &&
        old.length === items.length &&
        items.every((item, index) => this.isSame(item, old[index] as Json))
      )
    }
    if (!isJsonObject(value) || !isJsonObject(old)) return isDeepStrictEqual(value, old)
    const keys = Object.keys(value)
    return (
      keys.length === Object.keys(old).length &&
      keys.every((key) => Object.hasOwn(old, key) && this.isSame(value[key] as Json, old[key] as Json))
    )
  }
}
