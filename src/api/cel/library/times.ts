import { partsOf } from '../values/times.ts'
import { CelError, type Duration, type Timestamp, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

const second = 1_000_000_000n

/** Returns a part of a time; the UTC fields of the Date are the local time of the zone. */
type Part = (date: Date, milliseconds: number) => number

const parts: Readonly<Record<string, Part>> = {
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - startOfYear(date)) / 86_400_000),
  getFullYear: (date) => date.getUTCFullYear(),
  getHours: (date) => date.getUTCHours(),
  getMilliseconds: (_, milliseconds) => milliseconds,
  getMinutes: (date) => date.getUTCMinutes(),
  getMonth: (date) => date.getUTCMonth(),
  getSeconds: (date) => date.getUTCSeconds(),
}

function startOfYear(date: Date): number {
  const start = new Date(0)
  start.setUTCFullYear(date.getUTCFullYear())
  return start.getTime()
}

/** Returns the time in a zone, `+02:00`, `-8:30` or a name; undefined for an unknown zone. */
function inZone(date: Date, zone: string): Date | undefined {
  const [, sign, hours, minutes] = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(zone) ?? []
  if (hours !== undefined) {
    const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
    return new Date(date.getTime() + (sign === '-' ? -offset : offset))
  }
  return zone === '' || zone === 'UTC' ? date : inNamedZone(date, zone)
}

function inNamedZone(date: Date, timeZone: string): Date | undefined {
  try {
    const text = date.toLocaleString('sv-SE', { timeZone, hourCycle: 'h23' })
    const local = new Date(`${text.replace(' ', 'T')}Z`)
    return Number.isNaN(local.getTime()) ? undefined : local
  } catch {
    return undefined
  }
}

function partOf(part: Part) {
  return ({ nanos }: Timestamp): Value => {
    const { date, fraction } = partsOf(nanos)
    return BigInt(part(date, Number(fraction / 1_000_000n)))
  }
}

function partInZone(part: Part) {
  return ({ nanos }: Timestamp, zone: string): Value => {
    const { date, fraction } = partsOf(nanos)
    const local = inZone(date, zone)
    if (local === undefined) return new CelError(`unknown time zone ${zone}`)
    return BigInt(part(local, Number(fraction / 1_000_000n)))
  }
}

const unitsOf = (size: bigint) => (duration: Duration) => duration.nanos / size

/** The functions that return parts of dates, times and durations. */
export const timeFunctions: readonly CelFunction[] = [
  ...Object.entries(parts).flatMap(([name, part]): readonly CelFunction[] => [
    [`timestamp.${name}(): int`, partOf(part)],
    [`timestamp.${name}(string): int`, partInZone(part)],
  ]),
  ['duration.getHours(): int', unitsOf(3600n * second)],
  ['duration.getMinutes(): int', unitsOf(60n * second)],
  ['duration.getSeconds(): int', unitsOf(second)],
  ['duration.getMilliseconds(): int', unitsOf(1_000_000n)],
]
