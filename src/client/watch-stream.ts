import { z } from 'zod'
import { TimeSlice } from '../loop/time-slice.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'
import { acceptOf, type Content, selectorQuery } from './list-pages.ts'
import { type Collection, collectionPath } from './resource-path.ts'
import { resourceVersionSchema } from './wire-object.ts'

/** One line of a watch. The object of an ERROR is a Status, that of a BOOKMARK only a resourceVersion; none is checked further. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Readonly<Record<string, unknown>>
}

/** An object is at most 3 MiB when the server takes it; this leaves room for its other spelling. */
const maxLineBytes = 8 * 1024 * 1024

const eventSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.record(z.string(), z.unknown()),
})

/**
 * Decodes newline-delimited JSON from chunks cut anywhere. Lines are split as bytes (a newline byte is never part of a
 * longer UTF-8 character) and each is joined once, when it is whole.
 */
export class WatchDecoder {
  readonly #maxLineBytes: number
  #parts: Uint8Array[] = []
  #partBytes = 0

  constructor(options: { maxLineBytes?: number } = {}) {
    this.#maxLineBytes = options.maxLineBytes ?? maxLineBytes
  }

  /** The events that end in this chunk. Throws ApiError `bad-response` at a line that is no event or is too long. */
  *push(chunk: Uint8Array): Generator<WatchEvent> {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      this.#keep(chunk.subarray(start, end))
      start = end + 1
      const line = this.#takeLine()
      if (line.trim() !== '') yield parseEvent(line)
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return
    this.#partBytes += part.length
    if (this.#partBytes > this.#maxLineBytes) {
      throw new ApiError('bad-response', `a line of the watch is longer than ${this.#maxLineBytes} bytes`)
    }
    this.#parts.push(part)
  }

  #takeLine(): string {
    const line = Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    this.#partBytes = 0
    return line
  }
}

function parseEvent(line: string): WatchEvent {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch {
    throw new ApiError('bad-response', `a line of the watch is not JSON: ${quote(line)}`)
  }
  const parsed = eventSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new ApiError('bad-response', `a line of the watch: ${issue?.path.join('.')}: ${issue?.message}: ${quote(line)}`)
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line)
}

export interface WatchOptions {
  readonly resourceVersion: string
  /** After this many seconds the server ends the watch. */
  readonly timeoutSeconds: number
  /** Silence that long ends the watch with ApiError `timeout`. */
  readonly idleTimeoutMs: number
  readonly fieldSelector?: string | undefined
  readonly content?: Content | undefined
  readonly signal: AbortSignal
}

/** Hands over the events after `resourceVersion` until the server ends the watch. Throws ApiError. */
export function watchCollection(
  client: ApiClient,
  collection: Collection,
  options: WatchOptions,
  onEvent: (event: WatchEvent) => void,
): Promise<void> {
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: options.resourceVersion,
    timeoutSeconds: String(options.timeoutSeconds),
    ...selectorQuery(options),
  }
  const limits = { signal: options.signal, timeoutMs: options.idleTimeoutMs, bounds: 'silence' } as const
  const request = { path: collectionPath(collection), query, accept: acceptOf(options) }
  return client.stream(request, limits, async (chunks) => {
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
