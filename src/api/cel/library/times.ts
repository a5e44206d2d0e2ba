import { Duration } from '@marcbachmann/cel-js/evaluator'
import type { CelFunction } from '../environment.ts'
import { CelFailure } from './failure.ts'

const nanosecondsOf: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  ns: 1n,
}
const durationText = /^([+-]?)((?:\d{1,18}(?:\.\d{1,18})?(?:ns|us|µs|ms|s|m|h))+|0)$/
const durationPart = /(\d+)(?:\.(\d+))?(ns|us|µs|ms|s|m|h)/g
const timeText = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

function conversionFailure(type: string): CelFailure {
  return new CelFailure(`type conversion error from 'string' to 'google.protobuf.${type}'`)
}

/** Go's time.ParseDuration: `1h30m`, `-1.5s`. */
export function toDuration(text: string): Duration {
  const [, sign, parts = ''] = durationText.exec(text) ?? []
  if (sign === undefined) throw conversionFailure('Duration')
  let total = 0n
  for (const [, whole = '0', fraction = '', unit = ''] of parts.matchAll(durationPart)) {
    const size = nanosecondsOf[unit] ?? 0n
    total += BigInt(whole) * size + (fraction === '' ? 0n : (BigInt(fraction) * size) / 10n ** BigInt(fraction.length))
  }
  const signed = sign === '-' ? -total : total
  return new Duration(signed / 1_000_000_000n, Number(signed % 1_000_000_000n))
}

/** RFC 3339. */
export function toTimestamp(text: string): Date {
  const time = timeText.test(text) ? new Date(text.toUpperCase()) : undefined
  if (time === undefined || Number.isNaN(time.getTime())) throw conversionFailure('Timestamp')
  return time
}

/** In place of the library's own, which take other texts than Go does; they are called by these names after parsing. */
export const timeFunctions: readonly CelFunction[] = [
  ['durationOf(string): google.protobuf.Duration', toDuration],
  ['timestampOf(string): google.protobuf.Timestamp', toTimestamp],
  ['timestampOf(int): google.protobuf.Timestamp', (seconds: bigint) => new Date(Number(seconds) * 1000)],
  ['string(google.protobuf.Timestamp): string', (time: Date) => time.toISOString().replace('.000Z', 'Z')],
  ['string(google.protobuf.Duration): string', String],
  ['int(google.protobuf.Timestamp): int', (time: Date) => BigInt(Math.floor(time.getTime() / 1000))],
]
