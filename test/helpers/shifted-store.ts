import type { Store, StoredEntry, StoreEvent, StoreWrite } from '../../src/api/store/index.ts'

/** Shows a store whose revisions begin at another number as if they began at 1: `offset` is taken from each. */
export function shiftRevisions(store: Store, offset: number): Store {
  const down = <T extends StoredEntry | undefined>(entry: T): T =>
    entry && { ...entry, createRevision: entry.createRevision - offset, revision: entry.revision - offset }
  const up = (write: StoreWrite): StoreWrite =>
    write.expectedRevision > 0 ? { ...write, expectedRevision: write.expectedRevision + offset } : write
  const atUp = <T extends { readonly atRevision?: number }>(options: T | undefined): T =>
    ({ ...options, ...(options?.atRevision !== undefined && { atRevision: options.atRevision + offset }) }) as T
  const downEvent = (event: StoreEvent): StoreEvent =>
    event.kind === 'put'
      ? { ...event, entry: down(event.entry), previous: down(event.previous) }
      : { ...event, revision: event.revision - offset, previous: down(event.previous) }
  return {
    get revision() {
      return store.revision - offset
    },
    get compactRevision() {
      return store.compactRevision - offset
    },
    get failure() {
      return store.failure
    },
    get lengths() {
      return store.lengths
    },
    catchUp: () => store.catchUp(),
    get: async (key) => down(await store.get(key)),
    changedAt: (collection) => store.changedAt(collection) - offset,
    range: async (prefix, options) => {
      const range = await store.range(prefix, atUp(options))
      return { ...range, revision: range.revision - offset, entries: range.entries.map(down) }
    },
    count: (prefix, options) => store.count(prefix, atUp(options)),
    commit: async (writes, traceparent) => {
      const isSensible = (write: StoreWrite) => Number.isSafeInteger(write.expectedRevision)
      const result = await store.commit(
        writes.map((write) => (isSensible(write) ? up(write) : write)),
        traceparent,
      )
      if (result.kind === 'committed') return { ...result, revision: result.revision - offset }
      return { ...result, current: down(result.current) }
    },
    watch: (prefix, afterRevision, onEvents, options) => {
      const watch = store.watch(prefix, afterRevision + offset, (events) => onEvents(events.map(downEvent)), options)
      return {
        get revision() {
          return watch.revision - offset
        },
        close: () => watch.close(),
      }
    },
    backup: (path) => store.backup(path),
    compact: (revision) => store.compact(revision + offset),
    close: () => store.close(),
  }
}
