import type { Resolution, ResolvedMessage } from '../plugins/resolver-handler.ts'
import { optLength, type Query } from '../wire/query.ts'
import { writeRawReply } from '../wire/raw.ts'
import { writeError } from '../wire/response.ts'

/** The length of an answer's OPT record: 11 bytes and the options of the client that are echoed. */
const maxOptBytes = 11 + 512

/** Writes what a handler gave as the answer to the query, at most `limit` bytes. Returns undefined where the client gets none. */
export function writeResolution(query: Query, resolution: Resolution, limit: number): Buffer | undefined {
  if (resolution.kind === 'message') return writeMessage(query, resolution, limit)
  return resolution.kind === 'code' ? writeCode(query, resolution.rcode) : undefined
}

function writeMessage(
  query: Query,
  { message, layout, ageSeconds, ttlSeconds }: ResolvedMessage,
  limit: number,
): Buffer {
  if (layout.questionName === undefined) return writeCode(query, layout.rcode)
  const out = Buffer.allocUnsafe(Math.min(limit, message.length + optLength(query)))
  return out.subarray(0, writeRawReply(query, message, layout, out, { limit, ageSeconds, ttlSeconds }))
}

/** Writes an answer that is only an rcode. */
export function writeCode(query: Query, rcode: number): Buffer {
  const out = Buffer.allocUnsafe(query.questionEnd + maxOptBytes)
  return out.subarray(0, writeError(query, out, rcode))
}
