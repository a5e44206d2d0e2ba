import { writeUint16 } from '../../wire/bytes.ts'
import { flag, recordType } from '../../wire/codes.ts'
import { headerLength, type Query } from '../../wire/query.ts'

/** The size that we accept from an upstream over UDP without fragments (DNS flag day 2020). */
const upstreamUdpSize = 1232

const optBytes = 11

/**
 * Makes the query for an upstream: the client's question, RD and CD, and an OPT record of our own, because cookies and the like are between
 * neighbours. The ID is set when the query is sent.
 */
export function makeUpstreamQuery(query: Query, withEdns = true): Buffer {
  const question = query.bytes.subarray(headerLength, query.questionEnd)
  const message = Buffer.allocUnsafe(headerLength + question.length + (withEdns ? optBytes : 0))
  message.fill(0, 0, headerLength)
  writeUint16(message, 2, query.flags & (flag.RD | flag.CD))
  writeUint16(message, 4, 1)
  question.copy(message, headerLength)
  if (!withEdns) return message
  writeUint16(message, 10, 1)
  const at = headerLength + question.length
  message.fill(0, at)
  writeUint16(message, at + 1, recordType.OPT)
  writeUint16(message, at + 3, upstreamUdpSize)
  writeUint16(message, at + 7, query.dnssecOk ? 0x8000 : 0)
  return message
}
