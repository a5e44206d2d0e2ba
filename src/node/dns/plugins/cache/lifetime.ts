import { followAliases } from '../../wire/aliases.ts'
import { readUint32, writeUint32 } from '../../wire/bytes.ts'
import { flag, rcode, recordType } from '../../wire/codes.ts'
import { type MessageLayout, type RecordLocation, readLayout } from '../../wire/message.ts'
import { isUnder } from '../../wire/name.ts'
import type { CacheSettings, CacheSide } from './settings.ts'

export type CacheKind = 'success' | 'denial'

export interface Lifetime {
  readonly kind: CacheKind
  readonly ms: number
}

/**
 * Returns how long an upstream's message may be given again. It may not be cached, and the result is undefined, where it is truncated, a
 * failure, a denial without SOA, has TTL 0, or is signed for another time than now (`nowSeconds` since 1970). A denial is valid for the lesser
 * of its SOA's TTL and minimum (RFC 2308 5); a chain of aliases without records at its end is a denial of that end.
 */
export function lifetimeOf(
  message: Buffer,
  layout: MessageLayout,
  settings: CacheSettings,
  nowSeconds: number,
): Lifetime | undefined {
  if ((layout.flags & flag.TC) !== 0 || !layout.hasQuestion || layout.extendedRcode !== 0) return undefined
  if (layout.questionType === recordType.AXFR || layout.questionType === recordType.IXFR) return undefined
  if (isFailure(layout.rcode) && settings.servfailMs > 0) return { kind: 'denial', ms: settings.servfailMs }
  if (layout.rcode !== rcode.NXDOMAIN && layout.rcode !== rcode.NOERROR) return undefined
  if (!areSignaturesValid(message, layout, nowSeconds)) return undefined
  if (layout.rcode === rcode.NXDOMAIN || !followAliases(message, layout).isAnswered)
    return bounded('denial', denialSeconds(message, layout), layout, settings.denial)
  return bounded('success', leastTtl(layout.records), layout, settings.success)
}

/** Returns whether the rcode only says that the server cannot answer now: SERVFAIL and NOTIMP say nothing of the name. */
export function isFailure(code: number): boolean {
  return code === rcode.SERVFAIL || code === rcode.NOTIMP
}

/** The offsets of a signature's times in its data (RFC 4034 3.1). The times are compared in serial number arithmetic (RFC 1982). */
const signatureTimes = { expiration: 8, inception: 12, end: 16 } as const

function areSignaturesValid(message: Buffer, { records }: MessageLayout, nowSeconds: number): boolean {
  for (const record of records)
    if (record.type === recordType.RRSIG && !isSignatureValid(message, record, nowSeconds)) return false
  return true
}

function isSignatureValid(message: Buffer, { dataAt, end }: RecordLocation, nowSeconds: number): boolean {
  if (end - dataAt < signatureTimes.end) return false
  const isBefore = (a: number, b: number) => ((b - a) | 0) > 0
  const expiration = readUint32(message, dataAt + signatureTimes.expiration)
  const inception = readUint32(message, dataAt + signatureTimes.inception)
  return !isBefore(nowSeconds, inception) && !isBefore(expiration, nowSeconds)
}

function denialSeconds(message: Buffer, { records }: MessageLayout): number | undefined {
  const soa = records.find(({ section, type }) => section === 'authority' && type === recordType.SOA)
  if (soa === undefined) return undefined
  const minimum = readUint32(message, soa.end - 4)
  return Math.min(minimum, leastTtl(records.filter(({ section }) => section !== 'additional')) ?? 0)
}

function leastTtl(records: readonly RecordLocation[]): number | undefined {
  let least: number | undefined
  for (const { type, ttl } of records) if (type !== recordType.OPT && (least === undefined || ttl < least)) least = ttl
  return least
}

/**
 * Brings the TTLs in the message within the bounds of the side: else clients would keep an answer for longer than the cache does. Returns its
 * layout with these TTLs.
 */
export function boundTtls(
  message: Buffer,
  layout: MessageLayout,
  { minTtlSeconds, maxTtlSeconds }: CacheSide,
): MessageLayout {
  let isChanged = false
  for (const { type, ttl, ttlAt } of layout.records) {
    if (type === recordType.OPT || (ttl >= minTtlSeconds && ttl <= maxTtlSeconds)) continue
    writeUint32(message, ttlAt, Math.min(maxTtlSeconds, Math.max(minTtlSeconds, ttl)))
    isChanged = true
  }
  return isChanged ? readLayout(message, message.length) : layout
}

function bounded(
  kind: CacheKind,
  seconds: number | undefined,
  layout: MessageLayout,
  side: CacheSide,
): Lifetime | undefined {
  if (seconds === undefined || isDisabled(layout, side)) return undefined
  const held = Math.min(side.maxTtlSeconds, Math.max(side.minTtlSeconds, seconds))
  return held > 0 ? { kind, ms: held * 1000 } : undefined
}

function isDisabled(layout: MessageLayout, { disabledZones }: CacheSide): boolean {
  if (disabledZones.length === 0) return false
  const { questionName } = layout
  return questionName !== undefined && disabledZones.some((zone) => isUnder(questionName, zone))
}
