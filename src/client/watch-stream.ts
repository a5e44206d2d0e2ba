import { z } from 'zod'
import { TimeSlice } from '../loop/time-slice.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'
import { IdentityScanner, type ObjectIdentity } from './identity-scanner.ts'
import { acceptOf, type Content, selectorQuery } from './list-pages.ts'
import { type Collection, collectionPath } from './resource-path.ts'
import { resourceVersionSchema } from './wire-object.ts'

/** One line of a watch. The object of an ERROR is a Status, that of a BOOKMARK only a resourceVersion; none is checked further. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Readonly<Record<string, unknown>>
  /** The place of the change in its trace as the server sent it; not checked further. */
  readonly traceparent?: string | undefined
}

/** A change of an object that cannot be taken: what names the object is known, its content is not. */
export interface LeftOutEvent {
  readonly type: 'LEFT_OUT'
  readonly change: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly identity: ObjectIdentity
  readonly fault: string
}

/** An object is at most 3 MiB when the server takes it; this leaves room for its other spelling. */
const maxLineBytes = 8 * 1024 * 1024

const eventSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.record(z.string(), z.unknown()),
  traceparent: z.string().optional().catch(undefined),
})

/**
 * Decodes newline-delimited JSON from chunks cut anywhere. Lines are split as bytes (a newline byte is never part of a
 * longer UTF-8 character) and each is joined once, when it is whole. Of a line that is too long only the identity of its object is read, while
 * its bytes pass.
 */
export class WatchDecoder {
  readonly #maxLineBytes: number
  #parts: Uint8Array[] = []
  #partBytes = 0
  /** Reads the present line where that is too long to keep. */
  #scanner: IdentityScanner | undefined

  constructor(options: { maxLineBytes?: number } = {}) {
    this.#maxLineBytes = options.maxLineBytes ?? maxLineBytes
  }

  /** The events that end in this chunk. Throws ApiError `bad-response` at a line that is no event and names no object. */
  *push(chunk: Uint8Array): Generator<WatchEvent | LeftOutEvent> {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      this.#keep(chunk.subarray(start, end))
      start = end + 1
      const event = this.#takeEvent()
      if (event !== undefined) yield event
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return
    this.#partBytes += part.length
    if (this.#scanner === undefined && this.#partBytes > this.#maxLineBytes) {
      this.#scanner = newScanner()
      for (const kept of this.#parts) this.#scanner.push(kept)
      this.#parts = []
    }
    if (this.#scanner === undefined) this.#parts.push(part)
    else this.#scanner.push(part)
  }

  /** Undefined for a line without content. */
  #takeEvent(): WatchEvent | LeftOutEvent | undefined {
    const [parts, bytes, scanner] = [this.#parts, this.#partBytes, this.#scanner]
    this.#parts = []
    this.#partBytes = 0
    this.#scanner = undefined
    const tooLong = `its line of the watch has ${bytes} bytes; at most ${this.#maxLineBytes} are read`
    if (scanner !== undefined) return leftOut(scanner, new ApiError('bad-response', tooLong))
    const line = Buffer.concat(parts).toString('utf8')
    return line.trim() === '' ? undefined : parseEvent(line)
  }
}

function parseEvent(line: string): WatchEvent | LeftOutEvent {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch {
    const scanner = newScanner()
    scanner.push(Buffer.from(line))
    return leftOut(scanner, new ApiError('bad-response', `a line of the watch is not JSON: ${quote(line)}`))
  }
  const parsed = eventSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new ApiError('bad-response', `a line of the watch: ${issue?.path.join('.')}: ${issue?.message}: ${quote(line)}`)
}

/** The object is named by its key and resourceVersion, which is enough to go on after it; without these the error is thrown. */
function leftOut(scanner: IdentityScanner, error: ApiError): LeftOutEvent {
  const change = changeSchema.safeParse(scanner.textAt('type'))
  const identity = scanner.identity()
  if (!change.success || identity === undefined) throw error
  return { type: 'LEFT_OUT', change: change.data, identity, fault: error.message }
}

function newScanner(): IdentityScanner {
  return new IdentityScanner(['object'])
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line)
}

const changeSchema = z.enum(['ADDED', 'MODIFIED', 'DELETED'])

export interface WatchOptions {
  readonly resourceVersion: string
  /** After this many seconds the server ends the watch. */
  readonly timeoutSeconds: number
  /** Silence that long ends the watch with ApiError `timeout`. */
  readonly idleTimeoutMs: number
  readonly fieldSelector?: string | undefined
  readonly content?: Content | undefined
  /** Asks for the places of changes in their traces; servers that do not know it ignore it. */
  readonly sendTraceparents?: boolean | undefined
  /** The server has taken the request; no event may be due. */
  readonly onOpen?: () => void
  readonly signal: AbortSignal
}

/** Hands over the events after `resourceVersion` until the server ends the watch. Throws ApiError. */
export function watchCollection(
  client: ApiClient,
  collection: Collection,
  options: WatchOptions,
  onEvent: (event: WatchEvent | LeftOutEvent) => void,
): Promise<void> {
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: options.resourceVersion,
    timeoutSeconds: String(options.timeoutSeconds),
    ...(options.sendTraceparents === true && { sendTraceparents: 'true' }),
    ...selectorQuery(options),
  }
  const limits = { signal: options.signal, timeoutMs: options.idleTimeoutMs, bounds: 'silence' } as const
  const request = { path: collectionPath(collection), query, accept: acceptOf(options, 'PartialObjectMetadata') }
  return client.stream(request, limits, async (chunks) => {
    options.onOpen?.()
    const decoder = new WatchDecoder()
    const slice = new TimeSlice()
    for await (const chunk of chunks) {
      for (const event of decoder.push(chunk)) {
        options.signal.throwIfAborted()
        onEvent(event)
      }
      if (slice.spent) await slice.pause()
    }
  })
}

const metaSchema = z.object({ metadata: z.object({ resourceVersion: resourceVersionSchema }) })

/** The resourceVersion a bookmark carries. */
export function bookmarkVersion(event: WatchEvent): string | undefined {
  const parsed = metaSchema.safeParse(event.object)
  return parsed.success ? parsed.data.metadata.resourceVersion : undefined
}

/** 300 to 600 s, as clients do, so that the watches of many nodes do not end together. */
export function randomTimeoutSeconds(): number {
  return 300 + Math.floor(Math.random() * 301)
}
