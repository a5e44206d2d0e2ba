import { readUint32, writeUint32 } from '../wire/bytes.ts'
import { flag, rcode, recordType } from '../wire/codes.ts'
import type { MessagePlan, RecordPlace } from '../wire/message.ts'
import { isUnder } from '../wire/name.ts'
import type { CacheSettings, CacheSide } from './settings.ts'

export type CacheKind = 'success' | 'denial'

export interface Lifetime {
  readonly kind: CacheKind
  readonly ms: number
}

/**
 * For how long an upstream's message may be given again; undefined where it may not be kept: truncated, a failure, a denial
 * without SOA, or TTL 0. A denial holds for the lesser of its SOA's TTL and minimum (RFC 2308 5).
 */
export function lifetimeOf(message: Buffer, plan: MessagePlan, settings: CacheSettings): Lifetime | undefined {
  if ((plan.flags & flag.TC) !== 0 || plan.questionName === undefined || plan.extendedRcode !== 0) return undefined
  if (plan.questionType === recordType.AXFR || plan.questionType === recordType.IXFR) return undefined
  if (plan.rcode === rcode.SERVFAIL && settings.servfailMs > 0) return { kind: 'denial', ms: settings.servfailMs }
  if (plan.rcode === rcode.NXDOMAIN || (plan.rcode === rcode.NOERROR && !hasAnswer(plan)))
    return bounded('denial', denialSeconds(message, plan), plan, settings.denial)
  if (plan.rcode !== rcode.NOERROR) return undefined
  return bounded('success', leastTtl(plan.records), plan, settings.success)
}

/** A chain of aliases that ends in nothing is a denial of its end. */
function hasAnswer({ records, questionType }: MessagePlan): boolean {
  return records.some(
    ({ section, type }) => section === 'answer' && (type === questionType || questionType === recordType.ANY),
  )
}

function denialSeconds(message: Buffer, { records }: MessagePlan): number | undefined {
  const soa = records.find(({ section, type }) => section === 'authority' && type === recordType.SOA)
  if (soa === undefined) return undefined
  const minimum = readUint32(message, soa.end - 4)
  return Math.min(minimum, leastTtl(records.filter(({ section }) => section !== 'additional')) ?? 0)
}

function leastTtl(records: readonly RecordPlace[]): number | undefined {
  const ttls = records.filter(({ type }) => type !== recordType.OPT).map(({ ttl }) => ttl)
  return ttls.length === 0 ? undefined : Math.min(...ttls)
}

/**
 * No record holds longer than the side allows, or shorter: else clients would keep for longer what is kept here for 30 s. Changes the TTLs in
 * the message, and gives its plan with them.
 */
export function boundTtls(
  message: Buffer,
  plan: MessagePlan,
  { minTtlSeconds, maxTtlSeconds }: CacheSide,
): MessagePlan {
  const records = plan.records.map((record) => {
    if (record.type === recordType.OPT) return record
    const ttl = Math.min(maxTtlSeconds, Math.max(minTtlSeconds, record.ttl))
    writeUint32(message, record.ttlAt, ttl)
    return { ...record, ttl }
  })
  return { ...plan, records }
}

function bounded(
  kind: CacheKind,
  seconds: number | undefined,
  { questionName }: MessagePlan,
  side: CacheSide,
): Lifetime | undefined {
  if (seconds === undefined || questionName === undefined) return undefined
  if (side.disabledZones.some((zone) => isUnder(questionName, zone))) return undefined
  const held = Math.min(side.maxTtlSeconds, Math.max(side.minTtlSeconds, seconds))
  return held > 0 ? { kind, ms: held * 1000 } : undefined
}
