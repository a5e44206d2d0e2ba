import type { Store } from './store.ts'

/** Returns a reader that reads a collection of a store again only after a change in it. `prefix`: that of the collection's keys. */
export function keepReading<T>(prefix: string, read: (store: Store) => Promise<T>): (store: Store) => Promise<T> {
  const kept = new WeakMap<Store, { readonly changedAt: number; readonly found: T }>()
  return async (store) => {
    // Asked for before the reading: a change meanwhile must not be taken for one that the reading has.
    const changedAt = store.changedAt(prefix)
    const known = kept.get(store)
    if (known?.changedAt === changedAt) return known.found
    const found = await read(store)
    kept.set(store, { changedAt, found })
    return found
  }
}
