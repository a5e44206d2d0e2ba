import { flag, rcode, recordType } from '../../wire/codes.ts'
import { type DnsMessage, readMessage } from '../../wire/message.ts'
import type { DnsRecord } from '../../wire/record.ts'
import type { Reply } from '../../wire/response.ts'

/**
 * Joins the CNAME of an ExternalName Service with the answer for its target. The rcode is that of the target (RFC 6604). Without an answer
 * for the target the CNAME stands alone.
 */
export function joinAlias(alias: DnsRecord, target: { bytes: Buffer; length: number } | undefined): Reply {
  const message = target === undefined ? undefined : readMessage(target.bytes, target.length)
  return {
    rcode: message?.rcode ?? rcode.NOERROR,
    flags: flag.AA | ((message?.flags ?? 0) & (flag.RA | flag.TC)),
    answer: [alias, ...(message?.answer ?? [])],
    authority: message === undefined || !isNegative(message) ? [] : message.authority,
    additional: [],
  }
}

function isNegative({ authority, answer }: DnsMessage): boolean {
  return !answer.some(({ type }) => type !== recordType.CNAME) && authority.length > 0
}
