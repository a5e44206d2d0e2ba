import { flag } from './codes.ts'
import { foldByte, maxNameLength } from './name.ts'
import { headerLength, type Query } from './query.ts'

const fixedBytes = 5
const key = Buffer.allocUnsafeSlow(fixedBytes + maxNameLength)

/** Returns the key under which an answer is cached: DO and CD, class, type and the name in lower case, a byte a character. */
export function questionKey(query: Query): string {
  if (query.key !== undefined) return query.key
  const { bytes, nameEnd } = query
  key[0] = (query.dnssecOk ? 1 : 0) + ((query.flags & flag.CD) === 0 ? 0 : 2)
  for (let at = 0; at < 4; at += 1) key[1 + at] = bytes[nameEnd + at] ?? 0
  let length = fixedBytes
  for (let at = headerLength; at < nameEnd; at += 1) {
    key[length] = foldByte(bytes[at] ?? 0)
    length += 1
  }
  query.key = key.toString('latin1', 0, length)
  return query.key
}
