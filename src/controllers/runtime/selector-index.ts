import type { CacheIndex } from './object-index.ts'
import { type CachedObject, keyOf } from './resource-type.ts'

type Labels = Readonly<Record<string, string>>

/** The objects whose selectors require the same label keys. */
interface KeyGroup<T> {
  readonly keys: readonly string[]
  /** The objects by the values that their selectors require. */
  readonly byValues: Map<string, Map<string, T>>
}

/**
 * Finds the objects of a namespace whose equality selectors match given labels. Each search costs one look-up per
 * distinct set of label keys, not one per selector: most of thousands of Services select by the same one or two keys.
 */
export class SelectorIndex<T extends CachedObject> implements CacheIndex<T> {
  readonly #selectorOf: (object: T) => Labels | undefined
  /** The groups by namespace, then by label keys. */
  readonly #groups = new Map<string, Map<string, KeyGroup<T>>>()

  /** An object without a selector (undefined) matches nothing; one with an empty selector matches everything. */
  constructor(selectorOf: (object: T) => Labels | undefined) {
    this.#selectorOf = selectorOf
  }

  matching(namespace: string | undefined, labels: Labels): readonly T[] {
    const found: T[] = []
    for (const { keys, byValues } of this.#groups.get(namespace ?? '')?.values() ?? []) {
      if (!keys.every((key) => Object.hasOwn(labels, key))) continue
      const objects = byValues.get(JSON.stringify(keys.map((key) => labels[key])))
      if (objects !== undefined) found.push(...objects.values())
    }
    return found
  }

  change(old: T | undefined, next: T | undefined): void {
    if (old !== undefined) this.#remove(old)
    if (next !== undefined) this.#insert(next)
  }

  #insert(object: T): void {
    const selector = this.#selectorOf(object)
    if (selector === undefined) return
    const { keys, groupKey, valuesKey } = readSelector(selector)
    const groups = entry(this.#groups, object.metadata.namespace ?? '', () => new Map<string, KeyGroup<T>>())
    const { byValues } = entry(groups, groupKey, () => ({ keys, byValues: new Map<string, Map<string, T>>() }))
    entry(byValues, valuesKey, () => new Map<string, T>()).set(keyOf(object), object)
  }

  #remove(object: T): void {
    const selector = this.#selectorOf(object)
    const namespace = object.metadata.namespace ?? ''
    const groups = this.#groups.get(namespace)
    if (selector === undefined || groups === undefined) return
    const { groupKey, valuesKey } = readSelector(selector)
    const byValues = groups.get(groupKey)?.byValues
    const objects = byValues?.get(valuesKey)
    objects?.delete(keyOf(object))
    if (objects?.size === 0) byValues?.delete(valuesKey)
    if (byValues?.size === 0) groups.delete(groupKey)
    if (groups.size === 0) this.#groups.delete(namespace)
  }
}

function readSelector(selector: Labels) {
  const keys = Object.keys(selector).sort()
  return { keys, groupKey: JSON.stringify(keys), valuesKey: JSON.stringify(keys.map((key) => selector[key])) }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
