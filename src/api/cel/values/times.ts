import { parseGoNanos } from '../../../model/go-duration.ts'
import { Duration, Timestamp } from './values.ts'

const second = 1_000_000_000n
const maxLength = 200

/** Parses a duration like Go's time.ParseDuration: `1h30m`, `-1.5s`. */
export function parseDuration(text: string): Duration | undefined {
  const nanos = text.length <= maxLength ? parseGoNanos(text) : ''
  return typeof nanos === 'bigint' ? new Duration(nanos) : undefined
}

/** Returns a duration; undefined where it exceeds 64 bits of nanoseconds. */
export function toDuration(nanos: bigint): Duration | undefined {
  return BigInt.asIntN(64, nanos) === nanos ? new Duration(nanos) : undefined
}

const day = 24n * 3_600_000_000_000n
/** The words of OpenAPI's durations; the last of each begins what is written for it. */
const wordUnits: readonly (readonly [words: readonly string[], nanos: bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1_000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], second],
  [['m', 'min'], 60n * second],
  [['h', 'hr', 'hour'], 3_600n * second],
  [['d', 'day'], day],
  [['w', 'wk', 'week'], 7n * day],
]

/** Parses a `format: duration`: Go's form, or `3 days 2 hours`. */
export function parseSchemaDuration(text: string): Duration | undefined {
  const plain = parseDuration(text)
  if (plain !== undefined || text.length > maxLength) return plain
  let total: bigint | undefined
  for (const [, count = '', word = ''] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    const unit = wordUnits.find(([words]) => isWordOf(words, word.toLowerCase()))
    if (unit !== undefined) total = (total ?? 0n) + BigInt(count) * unit[1]
  }
  return total === undefined ? undefined : toDuration(total)
}

function isWordOf(words: readonly string[], word: string): boolean {
  return words.includes(word) || word.startsWith(words.at(-1) ?? word)
}

const timeText = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))$/
/** The range of times: the years 1 to 9999. */
const [minTime, maxTime] = [-62_135_596_800n * second, 253_402_300_799n * second + 999_999_999n]

/** Parses a time of RFC 3339. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const [, date, time, fraction = '', zulu, sign, hours = '0', minutes = '0'] = timeText.exec(text) ?? []
  if (date === undefined || time === undefined || Number(hours) > 23 || Number(minutes) > 59) return undefined
  const seconds = secondsOf(date, time)
  if (seconds === undefined) return undefined
  const offset = zulu === undefined ? (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1) : 0
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  return toTimestamp((BigInt(seconds) - BigInt(offset * 60)) * second + nanos, offset)
}

/** Returns the seconds since 1970; undefined for a day that does not exist. */
function secondsOf(date: string, time: string): number | undefined {
  const read = new Date(`${date}T${time}Z`)
  const isThere = !Number.isNaN(read.getTime()) && read.toISOString().startsWith(`${date}T${time}`)
  return isThere ? read.getTime() / 1000 : undefined
}

export function toTimestamp(nanos: bigint, offsetMinutes = 0): Timestamp | undefined {
  return nanos < minTime || nanos > maxTime ? undefined : new Timestamp(nanos, offsetMinutes)
}

/** Parses a `format: date`. */
export function parseDate(text: string): Timestamp | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? parseTimestamp(`${text}T00:00:00Z`) : undefined
}

/** Parses a `format: date-time`, also without a zone. */
export function parseDateTime(text: string): Timestamp | undefined {
  if (text === '') return new Timestamp(0n)
  return parseTimestamp(text) ?? parseTimestamp(`${text}Z`)
}

/** Formats a time: `2024-05-06T07:08:09.5+02:00`. */
export function formatTimestamp({ nanos, offsetMinutes }: Timestamp): string {
  const { date, fraction } = partsOf(nanos + BigInt(offsetMinutes * 60) * second)
  const digits = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`
  return `${date.toISOString().slice(0, 19)}${digits}${formatOffset(offsetMinutes)}`
}

function formatOffset(minutes: number): string {
  if (minutes === 0) return 'Z'
  const pad = (part: number) => String(Math.trunc(Math.abs(part))).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${pad(minutes / 60)}:${pad(minutes % 60)}`
}

/** Returns a time to the second, and the remaining nanoseconds. */
export function partsOf(nanos: bigint): { readonly date: Date; readonly fraction: bigint } {
  const fraction = ((nanos % second) + second) % second
  return { date: new Date(Number((nanos - fraction) / 1_000_000n)), fraction }
}

/** Formats a duration in seconds, with the digits that it needs: `1.5s`. */
export function formatDuration({ nanos }: Duration): string {
  const seconds = Number(nanos / second) + Number(nanos % second) / 1e9
  return `${formatPlain(seconds)}s`
}

/** Formats a number with the shortest digits that identify it, never with an exponent. */
function formatPlain(value: number): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential()) ?? []
  const digits = whole + fraction
  const point = 1 + Number(exponent)
  if (point <= 0) return trimFraction(`${sign}0.${'0'.repeat(-point)}${digits}`)
  return trimFraction(`${sign}${digits.slice(0, point).padEnd(point, '0')}.${digits.slice(point)}`)
}

function trimFraction(text: string): string {
  return text.replace(/\.?0*$/, '')
}
