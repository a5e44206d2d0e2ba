import type { WorkMeter } from '../values/cost-meter.ts'
import { formatDuration, formatTimestamp } from '../values/times.ts'
import { CelType } from '../values/types.ts'
import { CelError, Duration, ListValue, MapValue, Timestamp, Uint, type Value } from '../values/values.ts'
import { doubleToText, runtimeType } from './conversions.ts'

/** An operand that its clause cannot show. */
class FormatProblem extends Error {}

const defaultPrecision = 6
const clausePattern = /%(?:(%)|(?:\.(\d{0,9}))?([\s\S]?))/g

/** Formats `"%s is %d".format([…])`: `%s`, `%d`, `%f`, `%.2f`, `%e`, `%b`, `%x`, `%X`, `%o`, `%%`. */
export function formatText(format: string, values: ListValue, meter: WorkMeter): Value {
  countParts(values, meter)
  let next = 0
  const clause = (_: string, percent?: string, precision?: string, verb = '') => {
    if (percent !== undefined) return percent
    if (next >= values.size) throw new FormatProblem(`index ${next} out of range`)
    if (verb === '') throw new FormatProblem('unexpected end of string')
    return formatClause(verb, values.at(next++), precision)
  }
  try {
    return format.replaceAll(clausePattern, clause)
  } catch (thrown) {
    if (thrown instanceof FormatProblem) return new CelError(thrown.message)
    throw thrown
  }
}

function countParts(value: Value, meter: WorkMeter): void {
  if (value instanceof ListValue) {
    meter.work(value.size)
    for (const item of value) countParts(item, meter)
  } else if (value instanceof MapValue) {
    meter.work(value.size)
    for (const key of value.keys()) countParts(value.find(key) ?? null, meter)
  }
}

function formatClause(verb: string, value: Value, precision: string | undefined): string {
  if (value instanceof CelError) throw new FormatProblem(value.message)
  const show = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (show === undefined) {
    throw new FormatProblem(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
  return show(value, precision === undefined || precision === '' ? defaultPrecision : Number(precision))
}

const verbs: Readonly<Record<string, (value: Value, precision: number) => string>> = {
  s: (value) => shown(value),
  d: (value) => String(integerOf(value, 'decimal clause can only be used on integers')),
  f: (value, precision) => fixed(doubleOf(value, 'fixed-point'), precision),
  e: (value, precision) => scientific(doubleOf(value, 'scientific'), precision),
  b: (value) => {
    if (typeof value === 'boolean') return value ? '1' : '0'
    return integerOf(value, 'only integers and bools can be formatted as binary').toString(2)
  },
  o: (value) => integerOf(value, 'octal clause can only be used on integers').toString(8),
  x: hexadecimal,
  X: (value) => hexadecimal(value).toUpperCase(),
}

function wrong(what: string, value: Value): FormatProblem {
  return new FormatProblem(`error during formatting: ${what}, was given ${runtimeType(value).name}`)
}

function integerOf(value: Value, otherwise: string): bigint {
  if (typeof value === 'bigint') return value
  if (value instanceof Uint) return value.value
  throw wrong(otherwise, value)
}

function doubleOf(value: Value, clause: string): number {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  throw wrong(`${clause} clause can only be used on doubles`, value)
}

function special(value: number): string | undefined {
  if (Number.isFinite(value)) return undefined
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞'
}

function fixed(value: number, precision: number): string {
  const options = { minimumFractionDigits: precision, maximumFractionDigits: precision }
  return special(value) ?? value.toLocaleString('en-US', { ...options, useGrouping: true })
}

/** Formats like Go's printer, `1.500000×10⁰³`: the digits of the clause are the least width. */
function scientific(value: number, width: number): string {
  const [digits = '', exponent = '0'] = value.toExponential(defaultPrecision).split('e')
  const power = String(Math.abs(Number(exponent))).padStart(2, '0')
  const raised = [...power].map((digit) => superscripts[Number(digit)]).join('')
  const text = special(value) ?? `${digits}×10${Number(exponent) < 0 ? '⁻' : ''}${raised}`
  return text.padStart(Math.min(width, maxWidth))
}

const maxWidth = 1_000
const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

function hexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return integerOf(value, 'only integers, byte buffers, and strings can be formatted as hex').toString(16)
}

/** Returns the text of a value for `%s`. */
function shown(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return doubleToText(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return shownStructure(value)
}

function shownStructure(value: Value): string {
  if (value instanceof CelType) return value.name
  if (value instanceof ListValue) return `[${[...value].map(nested).join(', ')}]`
  if (value instanceof MapValue) return shownMap(value)
  throw wrong(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
    value,
  )
}

function shownMap(map: MapValue): string {
  const entries = [...map.keys()].map((key) => [nested(key), nested(map.find(key) ?? null)] as const)
  const sorted = entries.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)))
  return `{${sorted.map(([key, value]) => `${key}:${value}`).join(', ')}}`
}

/** Returns the text of a value inside a list or map, which is written as CEL. */
function nested(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(formatTimestamp(value))})`
  if (value instanceof Duration) return `duration(${JSON.stringify(formatDuration(value))})`
  if (value instanceof CelError) throw new FormatProblem(value.message)
  if (typeof value !== 'number') return shown(value)
  return Number.isFinite(value) ? value.toFixed(defaultPrecision) : JSON.stringify(doubleToText(value))
}
