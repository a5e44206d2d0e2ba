import type { Resolution, ResolvedMessage } from '../plugins/resolver-handler.ts'
import { optLength, type Query } from '../wire/query.ts'
import { writeRawReply } from '../wire/raw.ts'
import { writeError } from '../wire/response.ts'

/** The length of an answer's OPT record: 11 bytes and the options of the client that are echoed. */
const maxOptBytes = 11 + 512

/** Returns what a handler gave as the answer to the query, at most `limit` bytes; undefined where the client gets none. */
export function makeAnswer(query: Query, resolution: Resolution, limit: number): Buffer | undefined {
  if (resolution.kind === 'code') return makeCode(query, resolution.rcode)
  if (resolution.kind === 'silence') return undefined
  if (!resolution.layout.hasQuestion) return makeCode(query, resolution.layout.rcode)
  const out = Buffer.allocUnsafe(Math.min(limit, resolution.message.length + optLength(query)))
  return out.subarray(0, writeMessage(query, resolution, out, limit))
}

/** Returns an answer that is only an rcode. */
export function makeCode(query: Query, rcode: number): Buffer {
  const out = Buffer.allocUnsafe(query.questionEnd + maxOptBytes)
  return out.subarray(0, writeError(query, out, rcode))
}

/** Writes what a handler gave as the answer to the query, at most `limit` bytes. Returns its length, 0 where the client gets none. */
export function writeAnswer(query: Query, resolution: Resolution, out: Buffer, limit: number): number {
  if (resolution.kind === 'code') return writeError(query, out, resolution.rcode)
  if (resolution.kind === 'silence') return 0
  if (!resolution.layout.hasQuestion) return writeError(query, out, resolution.layout.rcode)
  return writeMessage(query, resolution, out, limit)
}

function writeMessage(query: Query, resolved: ResolvedMessage, out: Buffer, limit: number): number {
  const { message, layout, ageSeconds, ttlSeconds } = resolved
  return writeRawReply(query, message, layout, out, { limit, ageSeconds, ttlSeconds })
}
