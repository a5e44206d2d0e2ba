import { parseGoDuration } from './go-duration.ts'

/**
 * The times that a cron expression names, as Kubernetes reads it (the grammar of robfig/cron, `ParseStandard`): five
 * fields, `@daily` and its like, `@every 90m`. Libraries read more (seconds, `L`, Sunday as 7) and repeat or skip other
 * hours when clocks change, so a schedule would mean something else here than on another cluster.
 */
export interface CronSchedule {
  /** Returns the first time after `afterMs`, in milliseconds since 1970; undefined where none is within five years. */
  next(afterMs: number): number | undefined
}

interface Field {
  readonly values: ReadonlySet<number>
  /** Whether the field is `*` or `?`: then only the other day field counts. */
  readonly isAny: boolean
}

interface Bounds {
  readonly least: number
  readonly most: number
  readonly names?: readonly string[]
}

const monthNames = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const bounds: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: monthNames },
  { least: 0, most: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

class CronError extends Error {}

/** Parses an expression whose fields are wall-clock times of `timeZone`. Returns the error as a text. */
export function parseCron(text: string, timeZone = 'UTC'): CronSchedule | string {
  try {
    return parse(text, timeZone)
  } catch (thrown) {
    if (thrown instanceof CronError) return thrown.message
    throw thrown
  }
}

/** Checks for a name of the time zone database, in its own spelling: `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    return !/^[+-]/.test(name) && new Temporal.ZonedDateTime(0n, name).timeZoneId === name
  } catch {
    return false
  }
}

function parse(text: string, timeZone: string): CronSchedule {
  if (text === '') throw new CronError('empty spec string')
  const zoned = /^(?:CRON_)?TZ=(\S*)\s*(.*)$/s.exec(text)
  if (zoned !== null) return parseZoned(zoned[1] ?? '', (zoned[2] ?? '').trim())
  if (!text.startsWith('@')) return fieldSchedule(text, timeZone)
  const descriptor = Object.hasOwn(descriptors, text) ? descriptors[text] : undefined
  if (descriptor !== undefined) return fieldSchedule(descriptor, timeZone)
  if (!text.startsWith('@every ')) throw new CronError(`unrecognized descriptor: ${text}`)
  return intervalSchedule(text)
}

function parseZoned(zone: string, text: string): CronSchedule {
  if (!isTimeZone(zone)) throw new CronError(`provided bad location ${zone}: unknown time zone ${zone}`)
  return parse(text, zone)
}

/** Returns the schedule of a constant delay of whole seconds, at least one. */
function intervalSchedule(text: string): CronSchedule {
  const parsed = parseGoDuration(text.slice('@every '.length))
  if (typeof parsed === 'string') throw new CronError(`failed to parse duration ${text}: ${parsed}`)
  const delayMs = Math.max(1000, Math.trunc(parsed / 1000) * 1000)
  return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + delayMs }
}

function fieldSchedule(text: string, timeZone: string): CronSchedule {
  const parts = text.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== bounds.length)
    throw new CronError(`expected exactly ${bounds.length} fields, found ${parts.length}: [${parts.join(' ')}]`)
  const [minute, hour, day, month, weekday] = bounds.map((each, index) => parseField(parts[index] ?? '', each)) as [
    ...[Field, Field, Field, Field, Field],
  ]
  return { next: (afterMs) => findNext({ minute, hour, day, month, weekday }, timeZone, afterMs) }
}

function parseField(text: string, field: Bounds): Field {
  const ranges = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => parseRange(part, field))
  return {
    values: new Set(ranges.flatMap(({ values }) => values)),
    isAny: ranges.some(({ isAny }) => isAny),
  }
}

function parseRange(text: string, { least, most, names }: Bounds): { values: readonly number[]; isAny: boolean } {
  const [range = '', stepText, ...moreSteps] = text.split('/')
  const [low = '', high, ...moreEnds] = range.split('-')
  const isStar = low === '*' || low === '?'
  if (!isStar && moreEnds.length > 0) throw new CronError(`too many hyphens: ${text}`)
  const start = isStar ? least : parseNumber(low, names)
  const single = isStar ? most : start
  const end = isStar || high === undefined ? single : parseNumber(high, names)
  if (moreSteps.length > 0) throw new CronError(`too many slashes: ${text}`)
  const step = stepText === undefined ? 1 : parseNumber(stepText)
  const last = stepText !== undefined && high === undefined ? most : end
  assertRange({ start, last, step }, { least, most }, text)
  const values = Array.from({ length: Math.floor((last - start) / step) + 1 }, (_, index) => start + index * step)
  return { values, isAny: isStar && step <= 1 }
}

function assertRange(
  { start, last, step }: { readonly start: number; readonly last: number; readonly step: number },
  { least, most }: Bounds,
  text: string,
): void {
  if (start < least) throw new CronError(`beginning of range (${start}) below minimum (${least}): ${text}`)
  if (last > most) throw new CronError(`end of range (${last}) above maximum (${most}): ${text}`)
  if (start > last) throw new CronError(`beginning of range (${start}) beyond end of range (${last}): ${text}`)
  if (step === 0) throw new CronError(`step of range should be a positive number: ${text}`)
}

function parseNumber(text: string, names: readonly string[] = []): number {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase())
  if (named >= 0) return named
  const quoted = JSON.stringify(text)
  if (!/^[+-]?\d+$/.test(text))
    throw new CronError(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted}: invalid syntax`)
  const number = Number(text)
  if (Math.abs(number) >= 2 ** 63)
    throw new CronError(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted}: value out of range`)
  if (number < 0) throw new CronError(`negative number (${number}) not allowed: ${text}`)
  return number
}

interface Fields {
  readonly minute: Field
  readonly hour: Field
  readonly day: Field
  readonly month: Field
  readonly weekday: Field
}

const searchedYears = 5

/**
 * Goes forward from field to field until all match. Hours and minutes are steps of elapsed time: an hour that clocks
 * skip does not occur, and one that they repeat occurs twice.
 */
function findNext(fields: Fields, timeZone: string, afterMs: number): number | undefined {
  const startMs = (Math.floor(afterMs / 1000) + 1) * 1000
  let time = Temporal.Instant.fromEpochMilliseconds(startMs).toZonedDateTimeISO(timeZone)
  const lastYear = time.year + searchedYears
  while (time.year <= lastYear) {
    const later = advance(fields, time)
    if (later === undefined) return time.epochMilliseconds
    time = later
  }
  return undefined
}

/** Returns a later time no match is before; undefined where the time itself matches. */
function advance(fields: Fields, time: Temporal.ZonedDateTime): Temporal.ZonedDateTime | undefined {
  if (!fields.month.values.has(time.month)) return time.with({ day: 1 }).add({ months: 1 }).startOfDay()
  if (!matchesDay(fields, time)) return time.add({ days: 1 }).startOfDay()
  const { minute, second } = time
  if (!fields.hour.values.has(time.hour)) return time.add({ seconds: 3600 - minute * 60 - second })
  if (!fields.minute.values.has(minute) || second !== 0) return time.add({ seconds: 60 - second })
  return undefined
}

/** Where both day fields are restricted, one of them suffices. */
function matchesDay({ day, weekday }: Fields, time: Temporal.ZonedDateTime): boolean {
  const [isDay, isWeekday] = [day.values.has(time.day), weekday.values.has(time.dayOfWeek % 7)]
  return day.isAny || weekday.isAny ? isDay && isWeekday : isDay || isWeekday
}
