import { TimeSlice } from '../../loop/time-slice.ts'
import type { ListOptions } from '../decode/query.ts'
import type { Answer, Target } from '../request/request.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Resource } from '../resources/resource.ts'
import { parseStored, toItemText } from '../resources/stored-text.ts'
import { withoutManagedFields } from '../resources/without-managed-fields.ts'
import { expired, StatusError } from '../status.ts'
import { type Range, type Store, type StoredEntry, StoreError } from '../store/index.ts'
import { waitForRevision } from '../store/wait-for-revision.ts'
import { type ContinueToken, formatContinueToken, parseContinueToken } from './continue-token.ts'
import { assertListRules } from './list-rules.ts'
import { parseSelection, type Selection, selectionPrefix } from './selection.ts'
import type { VerbContext } from './verb-context.ts'

/** The number of entries that one read of the store returns while a selector filters them. */
const selectionBatch = 500
const longLength = 256 * 1024

/** Returns one page in key order, as of one revision; every further page shows the revision of the first. */
export async function listObjects(
  { store, aside }: VerbContext,
  target: Target,
  options: ListOptions,
): Promise<Answer> {
  assertListRules(options)
  const selection = parseSelection(target.resource, options.labelSelector, options.fieldSelector)
  const { resource } = target
  const prefix = collectionPrefix(resource, target.namespace)
  const scope = selectionPrefix(resource, target.namespace, selection)
  const token = options.continue === undefined ? undefined : parseContinueToken(options.continue)
  const start = startOf(options, token)
  if (token === undefined) await waitForRevision(store, options.resourceVersion, aside)
  // A page of a revision that this server has is the same everywhere.
  else if (start.atRevision === undefined || start.atRevision > store.revision) await store.catchUp()
  const page = await readPage(store, {
    resource,
    prefix,
    scope,
    selection,
    limit: options.limit,
    ...start,
  })
  return {
    kind: 'list',
    resource: target.resource,
    revision: page.revision,
    continueToken: page.lastKey && formatContinueToken({ revision: page.revision, lastKey: page.lastKey }),
    remainingItemCount: page.remaining,
    items: { [Symbol.iterator]: () => itemTexts(resource, page.entries, options.omitManagedFields) },
    isLong: isLong(page.entries),
  }
}

/** Checks whether rendering the texts takes more than a moment. */
function isLong(entries: readonly StoredEntry[]): boolean {
  let length = 0
  return entries.some(({ value }) => {
    length += value.length
    return length > longLength
  })
}

function* itemTexts(
  resource: Resource,
  entries: readonly StoredEntry[],
  omitManagedFields: boolean,
): Generator<string, void> {
  for (const entry of entries) {
    const text = toItemText(resource, entry)
    yield omitManagedFields ? withoutManagedFields(text) : text
  }
}

interface PageQuery {
  readonly resource: Resource
  readonly prefix: string
  /** A prefix of all keys that can match. */
  readonly scope: string
  readonly selection: Selection
  readonly limit: number | undefined
  readonly atRevision: number | undefined
  readonly afterKey: string | undefined
}

interface Page {
  readonly revision: number
  readonly entries: readonly StoredEntry[]
  /** The last key, without the prefix; absent on the last page. */
  readonly lastKey: string | undefined
  /**
   * The number of entries after this page; unknown on the last page, and with a selector, because counting would read
   * all entries.
   */
  readonly remaining: number | undefined
}

function startOf(options: ListOptions, token: ContinueToken | undefined): Pick<PageQuery, 'atRevision' | 'afterKey'> {
  if (token !== undefined) {
    return { atRevision: token.revision === -1 ? undefined : token.revision, afterKey: token.lastKey }
  }
  const isExact = options.resourceVersionMatch === 'Exact'
  return { atRevision: isExact ? options.resourceVersion : undefined, afterKey: undefined }
}

async function readPage(store: Store, query: PageQuery): Promise<Page> {
  try {
    return await collectPage(store, query)
  } catch (thrown) {
    if (!isUnreadable(thrown)) throw thrown
    if (query.afterKey === undefined) throw expired(query.atRevision ?? 0, store.compactRevision)
    throw new StatusError(
      'Expired',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      { continueToken: formatContinueToken({ revision: -1, lastKey: query.afterKey }) },
    )
  }
}

/** Checks for a revision that is too old or from another store: in both cases the client may continue from the present. */
function isUnreadable(thrown: unknown): boolean {
  return thrown instanceof StoreError && (thrown.code === 'compacted' || thrown.code === 'future-revision')
}

async function collectPage(store: Store, query: PageQuery): Promise<Page> {
  const { prefix, scope } = query
  const found: StoredEntry[] = []
  let revision = query.atRevision
  let after = query.afterKey === undefined ? undefined : `${prefix}${query.afterKey}`
  const slice = new TimeSlice()
  for (;;) {
    const range = await store.range(scope, rangeOptions(query, revision, after))
    revision ??= range.revision
    const last = await takeMatching(range, query, found, slice)
    if (last !== undefined) {
      const remaining = query.selection.isEverything
        ? await store.count(scope, { atRevision: revision, after: last })
        : undefined
      return { revision, entries: found, lastKey: last.slice(prefix.length), remaining }
    }
    after = range.entries.at(-1)?.key
    if (!range.more || after === undefined) {
      return { revision, entries: found, lastKey: undefined, remaining: undefined }
    }
  }
}

/** Adds matching entries to `found`; returns the last key when the page is full and more may follow. */
async function takeMatching(
  range: Range,
  { resource, selection, limit }: PageQuery,
  found: StoredEntry[],
  slice: TimeSlice,
): Promise<string | undefined> {
  for (const [index, entry] of range.entries.entries()) {
    if (!selection.isEverything) {
      if (slice.spent) await slice.pause()
      if (!selection.matches(parseStored(resource, entry))) continue
    }
    found.push(entry)
    if (found.length === limit) return range.more || index < range.entries.length - 1 ? entry.key : undefined
  }
  return undefined
}

function rangeOptions({ limit, selection }: PageQuery, atRevision: number | undefined, after: string | undefined) {
  const batch = limit === undefined ? undefined : selection.isEverything ? limit : Math.max(limit, selectionBatch)
  return {
    ...(atRevision === undefined ? {} : { atRevision }),
    ...(after === undefined ? {} : { after }),
    ...(batch === undefined ? {} : { limit: batch }),
  }
}
