import { z } from 'zod'
import { TimeSlice } from '../loop/time-slice.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'
import { IdentityScanner, type ObjectIdentity } from './identity-scanner.ts'
import { ItemSplitter, type SplitItem } from './item-splitter.ts'
import { type Collection, collectionPath } from './resource-path.ts'
import { resourceVersionSchema } from './wire-object.ts'

export interface ListOptions {
  readonly signal?: AbortSignal | undefined
  /** Items a page; a server may ignore it. */
  readonly limit?: number
  /** Silence that long within a page is ApiError `timeout`. */
  readonly idleTimeoutMs?: number
  /** Only those objects: `spec.nodeName=node-1`. */
  readonly fieldSelector?: string | undefined
  readonly content?: Content | undefined
  /** Replaces each object as soon as it is parsed by what the caller needs of it, identity included. */
  readonly reduce?: ((json: unknown) => unknown) | undefined
}

/**
 * `metadata`: objects come as PartialObjectMetadata, without spec and status. `unmanaged`: objects of a list come without managed fields, which are a third
 * of their bytes, from a server that knows `omitManagedFields`; others ignore it.
 */
export type Content = 'whole' | 'metadata' | 'unmanaged'

export interface ObjectList {
  /** The parsed JSON, not validated. */
  readonly items: readonly unknown[]
  /** Objects that are there and are not among the items. */
  readonly leftOut: readonly LeftOutObject[]
  readonly resourceVersion: string
}

/** An object that is too large or no JSON. */
interface LeftOutObject {
  readonly identity: ObjectIdentity
  readonly fault: string
}

const envelopeSchema = z.object({
  metadata: z.object({ resourceVersion: resourceVersionSchema, continue: z.string().optional() }),
  items: z.array(z.unknown()).nullish(),
})

type Envelope = z.infer<typeof envelopeSchema>

const defaultLimit = 500
/** A page up to this size, as an ordinary one is, is parsed in one go, in a few milliseconds: that is less work than to cut it into items. */
const maxWholeBytes = 1024 * 1024
const defaultIdleTimeoutMs = 30_000
/** How often pages may expire under us before all is asked for at once, which cannot expire. */
const maxRestarts = 2

/**
 * The whole collection at one resourceVersion, page by page, starting again when the pages expire (410). Work on the event
 * loop comes in slices of a few milliseconds: a larger body is cut into its items while it comes.
 */
export async function listPages(
  client: ApiClient,
  collection: Collection,
  options: ListOptions = {},
): Promise<ObjectList> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await listOnce(client, collection, restarts < maxRestarts ? options : { ...options, limit: 0 })
    } catch (error) {
      const expired = error instanceof ApiError && error.code === 'expired'
      if (!expired || restarts === maxRestarts) throw error
    }
  }
}

/** The resourceVersion of the newest state, at the price of one object. Throws ApiError. */
export async function readNewestVersion(
  client: ApiClient,
  collection: Collection,
  options: Pick<ListOptions, 'signal' | 'fieldSelector'>,
): Promise<string> {
  const accept = acceptOf({ content: 'metadata' }, 'PartialObjectMetadataList')
  const query = new URLSearchParams({ limit: '1', ...selectorQuery(options) })
  const { signal } = options
  const list = await client.getDocument(`${collectionPath(collection)}?${query}`, { signal, accept })
  const parsed = envelopeSchema.safeParse(list)
  if (!parsed.success) throw new ApiError('bad-response', 'a list has no resourceVersion')
  return parsed.data.metadata.resourceVersion
}

async function listOnce(client: ApiClient, collection: Collection, options: ListOptions): Promise<ObjectList> {
  const { reduce = (json: unknown) => json } = options
  const found: FoundItems = { items: [], leftOut: [], reduce, slice: new TimeSlice() }
  const limit = options.limit ?? defaultLimit
  const query = {
    ...(limit === 0 ? {} : { limit: String(limit) }),
    ...selectorQuery(options),
    ...(options.content === 'unmanaged' && { omitManagedFields: 'true' }),
  }
  const readPage = (more: Record<string, string>) => listPage(client, collection, { ...query, ...more }, options, found)
  let page = await readPage({})
  for (;;) {
    // The next page travels while the items of this one are reduced.
    const next = page.continue ? readPage({ continue: page.continue }) : undefined
    next?.catch(() => {})
    await takeParsed(page.items, found)
    const { items, leftOut } = found
    if (next === undefined) return { items, leftOut, resourceVersion: page.resourceVersion }
    page = await next
  }
}

/** The resource name that a list and its watch use. */
export function selectorQuery({
  fieldSelector,
}: {
  readonly fieldSelector?: string | undefined
}): Record<string, string> {
  return fieldSelector === undefined ? {} : { fieldSelector }
}

/** A server that cannot reduce an object sends the whole. kube-apiserver refuses a list the name of one object, and one object that of a list. */
export function acceptOf(
  { content }: { readonly content?: Content | undefined },
  kind: 'PartialObjectMetadata' | 'PartialObjectMetadataList',
): string | undefined {
  return content === 'metadata' ? `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json` : undefined
}

/** A page, with the items that are not among the found ones yet. */
interface Page {
  readonly resourceVersion: string
  readonly continue?: string | undefined
  readonly items: readonly unknown[]
}

function listPage(
  client: ApiClient,
  collection: Collection,
  query: Record<string, string>,
  options: ListOptions,
  found: FoundItems,
): Promise<Page> {
  const timeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs
  const limits = { signal: options.signal, timeoutMs, bounds: 'silence' } as const
  const request = { path: collectionPath(collection), query, accept: acceptOf(options, 'PartialObjectMetadataList') }
  return client.stream(request, limits, async (chunks) => {
    const { metadata, items } = await readEnvelope(chunks, found)
    return { ...metadata, items: items ?? [] }
  })
}

/** Parses a page of ordinary size as a whole. Takes the items of a larger one while it comes: the envelope has none, or the few under another spelling of `items`. */
async function readEnvelope(chunks: AsyncIterable<Buffer>, found: FoundItems): Promise<Envelope> {
  const splitter = new ItemSplitter()
  const waiting: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes > maxWholeBytes) await takeChunks(waiting.splice(0), splitter, found)
  }
  const whole = bytes <= maxWholeBytes ? parseWhole(waiting) : undefined
  if (whole !== undefined) return whole
  await takeChunks(waiting, splitter, found)
  return parseEnvelope(splitter.end())
}

/** Undefined for what is no list: cut into items it says what is wrong, and an item that is wrong alone is left out. */
function parseWhole(parts: readonly Buffer[]): Envelope | undefined {
  try {
    return envelopeSchema.parse(JSON.parse(Buffer.concat(parts).toString('utf8')))
  } catch {
    return undefined
  }
}

async function takeChunks(chunks: readonly Buffer[], splitter: ItemSplitter, found: FoundItems): Promise<void> {
  const { slice } = found
  for (const chunk of chunks) {
    for (const item of splitter.push(chunk)) {
      takeItem(item, found)
      if (slice.spent) await slice.pause()
    }
    if (slice.spent) await slice.pause()
  }
}

async function takeParsed(parsed: readonly unknown[], { items, reduce, slice }: FoundItems): Promise<void> {
  for (const item of parsed) {
    items.push(reduce(item))
    if (slice.spent) await slice.pause()
  }
}

/** Objects that a list has found so far, and how more are taken. */
interface FoundItems {
  readonly items: unknown[]
  readonly leftOut: LeftOutObject[]
  readonly reduce: (json: unknown) => unknown
  readonly slice: TimeSlice
}

/** Throws for an item that cannot be read and does not say which object it is: whether that is missing could not be known. */
function takeItem(item: SplitItem, { items, leftOut, reduce }: FoundItems): void {
  if (item.kind === 'left-out') {
    leftOut.push(
      named(item.identity, new ApiError('bad-response', `an item of the list cannot be read: ${item.fault}`)),
    )
    return
  }
  try {
    items.push(reduce(parseJson(item.text)))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const scanner = new IdentityScanner()
    scanner.push(Buffer.from(item.text))
    leftOut.push(named(scanner.identity(), error))
  }
}

function named(identity: ObjectIdentity | undefined, error: ApiError): LeftOutObject {
  if (identity === undefined) throw error
  return { identity, fault: error.message }
}

function parseEnvelope(text: string): Envelope {
  const parsed = envelopeSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new ApiError('bad-response', `the list: ${issue?.path.join('.')}: ${issue?.message}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('bad-response', `the list is not JSON near ${JSON.stringify(text.slice(0, 120))}`)
  }
}
