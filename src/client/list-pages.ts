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

/** `metadata`: objects come as PartialObjectMetadata, without spec and status. */
export type Content = 'whole' | 'metadata'

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

const defaultLimit = 500
const defaultIdleTimeoutMs = 30_000
/** How often pages may expire under us before all is asked for at once, which cannot expire. */
const maxRestarts = 2

/**
 * The whole collection at one resourceVersion, page by page, starting again when the pages expire (410). Work on the event
 * loop comes in slices of a few milliseconds, also when the server answers with one large body.
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
  const found: FoundItems = { items: [], leftOut: [] }
  const slice = new TimeSlice()
  const limit = options.limit ?? defaultLimit
  const query = { ...(limit === 0 ? {} : { limit: String(limit) }), ...selectorQuery(options) }
  let page = await listPage(client, collection, query, options, found, slice)
  while (page.continue !== undefined && page.continue !== '') {
    page = await listPage(client, collection, { ...query, continue: page.continue }, options, found, slice)
  }
  return { ...found, resourceVersion: page.resourceVersion }
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

function listPage(
  client: ApiClient,
  collection: Collection,
  query: Record<string, string>,
  options: ListOptions,
  found: FoundItems,
  slice: TimeSlice,
) {
  const timeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs
  const limits = { signal: options.signal, timeoutMs, bounds: 'silence' } as const
  const request = { path: collectionPath(collection), query, accept: acceptOf(options, 'PartialObjectMetadataList') }
  return client.stream(request, limits, async (chunks) => {
    const splitter = new ItemSplitter()
    for await (const chunk of chunks) {
      for (const item of splitter.push(chunk)) {
        takeItem(item, found, options.reduce)
        if (slice.spent) await slice.pause()
      }
      if (slice.spent) await slice.pause()
    }
    const envelope = parseEnvelope(splitter.end())
    for (const item of envelope.items ?? []) found.items.push(item)
    return envelope.metadata
  })
}

interface FoundItems {
  readonly items: unknown[]
  readonly leftOut: LeftOutObject[]
}

/** Throws for an item that cannot be read and does not say which object it is: whether that is missing could not be known. */
function takeItem(
  item: SplitItem,
  { items, leftOut }: FoundItems,
  reduce: (json: unknown) => unknown = (json) => json,
): void {
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

function parseEnvelope(text: string): z.infer<typeof envelopeSchema> {
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
