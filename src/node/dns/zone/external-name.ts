import { flag, recordType } from '../wire/codes.ts'
import { type DnsMessage, readMessage } from '../wire/message.ts'
import { headerLength, type Query } from '../wire/query.ts'
import type { DnsRecord } from '../wire/record.ts'
import type { Reply } from '../wire/response.ts'

/** The client's question asked of another name: same type, class, ID, flags and OPT. In a buffer of its own. */
export function askForTarget(query: Query, target: Uint8Array): Buffer {
  const { bytes, length, nameEnd } = query
  return Buffer.concat([bytes.subarray(0, headerLength), target, bytes.subarray(nameEnd, length)])
}

/**
 * The answer for an alias of ours: the CNAME, then what its target's answer holds. The rcode is that of the target (RFC 6604);
 * without an answer for the target (`undefined`: nobody could be asked) the CNAME stands alone.
 */
export function joinAlias(alias: DnsRecord, target: { bytes: Buffer; length: number } | undefined): Reply {
  const message = target === undefined ? undefined : readMessage(target.bytes, target.length)
  return {
    rcode: message?.rcode ?? 0,
    flags: flag.AA | ((message?.flags ?? 0) & (flag.RA | flag.TC)),
    answer: [alias, ...(message?.answer ?? [])],
    authority: message === undefined || !isNegative(message) ? [] : message.authority,
    additional: [],
  }
}

function isNegative({ authority, answer }: DnsMessage): boolean {
  return !answer.some(({ type }) => type !== recordType.CNAME) && authority.length > 0
}
