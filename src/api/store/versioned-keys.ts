import { countLeading } from '../../model/binary-search.ts'
import { PageCounts } from './page-counts.ts'
import { SortedKeys } from './sorted-keys.ts'
import type { Range, StoredEntry, StoreEvent } from './store-entries.ts'

/** The changes of one commit. */
export interface CommitRecord {
  readonly revision: number
  readonly events: readonly StoreEvent[]
}

/** One key at one revision; without an entry it is the key's deletion. */
interface Version {
  readonly revision: number
  readonly entry: StoredEntry | undefined
}

export interface RangeOptions {
  readonly atRevision?: number
  readonly after?: string
  readonly limit?: number
}

/** Every key with its versions since the compact revision: the present state and the past ones. */
export class VersionedKeys {
  readonly #versions = new Map<string, Version[]>()
  readonly #keys = new SortedKeys()
  readonly #pageCounts = new PageCounts()
  /** The number of keys of each collection, and its newest change. Admission asks for collections that hardly change. */
  readonly #collections = new Map<string, { keys: number; changedAt: number }>()

  get(key: string): StoredEntry | undefined {
    return this.#versions.get(key)?.at(-1)?.entry
  }

  apply(record: CommitRecord): void {
    for (const event of record.events) {
      if (event.kind === 'put') this.#append(event.entry.key, { revision: record.revision, entry: event.entry })
      else this.#append(event.key, { revision: record.revision, entry: undefined })
    }
  }

  /** Returns the revision of the newest change to a collection, `/registry/pods/`; 0 for one that never had a key. */
  changedAt(collection: string): number {
    return this.#collections.get(collection)?.changedAt ?? 0
  }

  /** Returns the entries of the range at `revision`. */
  range(prefix: string, revision: number, { after, limit = Number.POSITIVE_INFINITY }: RangeOptions): Range {
    const entries: StoredEntry[] = []
    if (this.#isEmpty(prefix)) return { revision, entries, more: false }
    for (const entry of this.#entries(prefix, revision, after)) {
      if (entries.length >= limit) return { revision, entries, more: true }
      entries.push(entry)
    }
    return { revision, entries, more: false }
  }

  /** Counts the entries, or those after a page of a list: the next page counts only what stands between both. */
  count(prefix: string, revision: number, after: string | undefined): number {
    if (after === undefined) return this.#countBetween(prefix, revision, undefined, undefined)
    const known = this.#pageCounts.nearest(prefix, revision, after)
    const count =
      known === undefined
        ? this.#countBetween(prefix, revision, after, undefined)
        : known.count - this.#countBetween(prefix, revision, known.after, after)
    this.#pageCounts.add(prefix, revision, { after, count })
    return count
  }

  #countBetween(prefix: string, revision: number, after: string | undefined, through: string | undefined): number {
    let count = 0
    for (const { key } of this.#entries(prefix, revision, after)) {
      if (through !== undefined && key > through) break
      count += 1
    }
    return count
  }

  /** Forgets versions of the key that no revision from `revision` on can show. */
  compact(key: string, revision: number): void {
    const versions = this.#versions.get(key)
    if (versions === undefined) return
    const newest = countLeading(versions, (version) => version.revision <= revision) - 1
    if (newest < 0) return
    versions.splice(0, versions[newest]?.entry === undefined ? newest + 1 : newest)
    if (versions.length > 0) return
    this.#versions.delete(key)
    this.#keys.delete(key)
    this.#dropKey(key)
  }

  /** Yields the entries after `after` in key order. The keys must not change meanwhile. */
  *#entries(prefix: string, revision: number, after: string | undefined): Generator<StoredEntry, void> {
    for (const key of this.#keys.from(after !== undefined && after > prefix ? after : prefix)) {
      if (!key.startsWith(prefix)) return
      const entry = key === after ? undefined : this.#at(key, revision)
      if (entry !== undefined) yield entry
    }
  }

  #append(key: string, version: Version): void {
    const versions = this.#versions.get(key)
    this.#touchCollection(key, version.revision, versions === undefined ? 1 : 0)
    if (versions !== undefined) {
      versions.push(version)
      return
    }
    this.#versions.set(key, [version])
    this.#keys.add(key)
  }

  #isEmpty(prefix: string): boolean {
    const collection = collectionOf(prefix)
    return collection !== undefined && (this.#collections.get(collection)?.keys ?? 0) === 0
  }

  #touchCollection(key: string, revision: number, newKeys: 0 | 1): void {
    const name = collectionOf(key)
    if (name === undefined) return
    const collection = this.#collections.get(name)
    if (collection === undefined) this.#collections.set(name, { keys: newKeys, changedAt: revision })
    else {
      collection.keys += newKeys
      collection.changedAt = revision
    }
  }

  /** A collection without keys stays known: its newest change is one that earlier readers may not have seen. */
  #dropKey(key: string): void {
    const collection = this.#collections.get(collectionOf(key) ?? '')
    if (collection !== undefined) collection.keys--
  }

  #at(key: string, revision: number): StoredEntry | undefined {
    const versions = this.#versions.get(key) ?? []
    const newest = versions.at(-1)
    if (newest !== undefined && newest.revision <= revision) return newest.entry
    return versions[countLeading(versions, (version) => version.revision <= revision) - 1]?.entry
  }
}

/** Returns `/registry/pods/` of `/registry/pods/default/web`; undefined for a text with fewer than three slashes. */
function collectionOf(key: string): string | undefined {
  const second = key.indexOf('/', 1)
  const third = second === -1 ? -1 : key.indexOf('/', second + 1)
  return third === -1 ? undefined : key.slice(0, third + 1)
}
