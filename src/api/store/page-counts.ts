/** How many entries of a range stand after a key. */
export interface PageCount {
  readonly after: string
  readonly count: number
}

/** Lists that are read in pages at one time, and pages of each that are remembered. */
const maxLists = 64
const maxPages = 256

/**
 * Remembers how many entries stood after the pages of lists. What stood at a revision never changes, so a count stays right, and the clients that list at one
 * revision share it.
 */
export class PageCounts {
  /** Counts by key, of each revision and prefix; what was not used for longest comes first. */
  readonly #lists = new Map<string, Map<string, number>>()

  /** Returns the count of the last known page that ends at this key or before it. */
  nearest(prefix: string, revision: number, key: string): PageCount | undefined {
    const pages = this.#lists.get(nameOf(prefix, revision))
    if (pages === undefined) return undefined
    const exact = pages.get(key)
    if (exact !== undefined) return { after: key, count: exact }
    let nearest: PageCount | undefined
    for (const [after, count] of pages)
      if (after < key && (nearest === undefined || after > nearest.after)) nearest = { after, count }
    return nearest
  }

  add(prefix: string, revision: number, { after, count }: PageCount): void {
    const name = nameOf(prefix, revision)
    const pages = this.#lists.get(name) ?? new Map<string, number>()
    this.#lists.delete(name)
    this.#lists.set(name, pages)
    dropOldest(this.#lists, maxLists)
    pages.set(after, count)
    dropOldest(pages, maxPages)
  }
}

function nameOf(prefix: string, revision: number): string {
  return `${revision} ${prefix}`
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
