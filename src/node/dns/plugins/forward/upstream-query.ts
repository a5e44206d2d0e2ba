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
export function makeUpstreamQuery({ bytes, questionEnd, flags: asked, dnssecOk }: Query, withEdns: boolean): Buffer {
  const message = Buffer.allocUnsafe(questionEnd + (withEdns ? optBytes : 0))
  // A call of fill() would cost as much as all of this.
  for (let at = 0; at < headerLength; at += 1) message[at] = 0
  writeUint16(message, 2, asked & (flag.RD | flag.CD))
  message[5] = 1
  for (let at = headerLength; at < questionEnd; at += 1) message[at] = bytes[at] ?? 0
  if (!withEdns) return message
  message[11] = 1
  for (let at = questionEnd; at < message.length; at += 1) message[at] = 0
  writeUint16(message, questionEnd + 1, recordType.OPT)
  writeUint16(message, questionEnd + 3, upstreamUdpSize)
  writeUint16(message, questionEnd + 7, dnssecOk ? 0x8000 : 0)
  return message
}
