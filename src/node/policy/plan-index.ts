import type { ObjectKey } from '../../model/api-object.ts'

/** Objects by key, and those of each namespace. */
export class NamespaceIndex<Item extends { readonly namespace: string }> {
  readonly #items = new Map<ObjectKey, Item>()
  readonly #namespaces = new Map<string, Map<ObjectKey, Item>>()

  get size(): number {
    return this.#items.size
  }

  get(key: ObjectKey): Item | undefined {
    return this.#items.get(key)
  }

  values(): Iterable<Item> {
    return this.#items.values()
  }

  /** The names of all namespaces with an object. */
  namespaces(): Iterable<string> {
    return this.#namespaces.keys()
  }

  inNamespace(namespace: string): Iterable<Item> {
    return this.#namespaces.get(namespace)?.values() ?? []
  }

  /** Takes a new version of an object, or removes it, and returns the one before. */
  replace(key: ObjectKey, next: Item | undefined): Item | undefined {
    const before = this.#items.get(key)
    if (before !== undefined && before.namespace !== next?.namespace) this.#leave(key, before.namespace)
    if (next === undefined) this.#items.delete(key)
    else {
      this.#items.set(key, next)
      this.#enter(key, next)
    }
    return before
  }

  #enter(key: ObjectKey, item: Item): void {
    const items = this.#namespaces.get(item.namespace)
    if (items === undefined) this.#namespaces.set(item.namespace, new Map([[key, item]]))
    else items.set(key, item)
  }

  #leave(key: ObjectKey, namespace: string): void {
    const items = this.#namespaces.get(namespace)
    items?.delete(key)
    if (items?.size === 0) this.#namespaces.delete(namespace)
  }
}
