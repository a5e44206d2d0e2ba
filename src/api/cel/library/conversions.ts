import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, toTimestamp } from '../values/times.ts'
import { CelType, listType, mapType, optionalType, types } from '../values/types.ts'
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  textLength,
  Uint,
  type Value,
} from '../values/values.ts'
import type { CelFunction, SharedFunction } from './declarations.ts'

const [minInt, maxInt, maxUint] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n]
const second = 1_000_000_000n
const list = listType(types.dyn)
const map = mapType(types.dyn, types.dyn)
const optional = optionalType(types.dyn)

/** Returns the type that the function `type` returns for a value. */
export function runtimeType(value: Value): CelType {
  switch (typeof value) {
    case 'string':
      return types.string
    case 'bigint':
      return types.int
    case 'number':
      return types.double
    case 'boolean':
      return types.bool
    default:
      return value === null ? types.null : typeOfObject(value)
  }
}

function typeOfObject(value: Exclude<Value, null | string | bigint | number | boolean>): CelType {
  if (value instanceof ListValue) return list
  if (value instanceof MapValue) return map
  if (value instanceof Timestamp) return types.timestamp
  if (value instanceof Duration) return types.duration
  if (value instanceof Uint8Array) return types.bytes
  if (value instanceof Uint) return types.uint
  if (value instanceof OptionalValue) return optional
  if (value instanceof OpaqueValue) return value.type
  return value instanceof CelType ? types.type : types.error
}

function failure(from: string, to: string): CelError {
  return new CelError(`type conversion error from '${from}' to '${to}'`)
}

function toInt(value: bigint): Value {
  return value < minInt || value > maxInt ? new CelError('integer overflow') : value
}

function doubleToInt(value: number): Value {
  const isWithin = value > -(2 ** 63) && value < 2 ** 63
  return isWithin ? BigInt(Math.trunc(value)) : new CelError('integer overflow')
}

function doubleToUint(value: number): Value {
  const isWithin = value >= 0 && value < 2 ** 64
  return isWithin ? new Uint(BigInt(Math.trunc(value))) : new CelError('unsigned integer overflow')
}

function textToInt(text: string): Value {
  if (!/^[+-]?\d{1,30}$/.test(text)) return failure('string', 'int')
  const value = BigInt(text.replace(/^\+/, ''))
  return value < minInt || value > maxInt ? failure('string', 'int') : value
}

function textToUint(text: string): Value {
  const value = /^\d{1,30}$/.test(text) ? BigInt(text) : -1n
  return value < 0n || value > maxUint ? failure('string', 'uint') : new Uint(value)
}

const numberText = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)$/i

function textToDouble(text: string): Value {
  if (!numberText.test(text)) return failure('string', 'double')
  if (/nan/i.test(text)) return Number.NaN
  if (/inf/i.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const value = Number(text)
  return Number.isFinite(value) ? value : failure('string', 'double')
}

const [trueTexts, falseTexts] = [
  new Set(['1', 't', 'T', 'TRUE', 'true', 'True']),
  new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']),
]

function textToBool(text: string): Value {
  return trueTexts.has(text) || (falseTexts.has(text) ? false : failure('string', 'bool'))
}

function bytesToText(bytes: Uint8Array): Value {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

/** Formats like Go's `%g`: with an exponent for numbers below 0.0001 and from 10^21 on. */
export function doubleToText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power < -4 || power >= 21) return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  return Object.is(value, -0)
    ? '-0'
    : value.toLocaleString('en-US', {
        useGrouping: false,
        maximumSignificantDigits: 21,
        roundingPriority: 'morePrecision',
      })
}

const same = <T extends Value>(value: T): T => value

function sizeOf(value: Value): bigint | undefined {
  if (typeof value === 'string') return BigInt(textLength(value))
  if (value instanceof Uint8Array) return BigInt(value.length)
  return value instanceof ListValue || value instanceof MapValue ? BigInt(value.size) : undefined
}

const sized = ['bytes', 'list(A)', 'map(A, B)', 'string']

export const sharedConversions: readonly SharedFunction[] = [
  {
    name: 'size',
    run: (value: Value) => sizeOf(value) ?? new CelError('no such overload: size'),
    forms: sized.flatMap((type) => [`(${type}): int`, `${type}.(): int`]),
  },
  { name: 'type', run: runtimeType, forms: ['(A): type(A)'] },
  { name: 'dyn', run: same, forms: ['(A): dyn'] },
]

/** The conversions between types. */
export const conversionFunctions: readonly CelFunction[] = [
  ['bool(bool): bool', same],
  ['bool(string): bool', textToBool],
  ['bytes(bytes): bytes', same],
  ['bytes(string): bytes', (text: string) => Buffer.from(text)],
  ['double(double): double', same],
  ['double(int): double', Number],
  ['double(string): double', textToDouble],
  ['double(uint): double', ({ value }: Uint) => Number(value)],
  ['duration(duration): duration', same],
  ['duration(int): duration', (nanos: bigint) => new Duration(nanos)],
  ['duration(string): duration', (text: string) => parseDuration(text) ?? failure('string', types.duration.name)],
  ['int(int): int', same],
  ['int(double): int', doubleToInt],
  ['int(duration): int', ({ nanos }: Duration) => nanos],
  ['int(string): int', textToInt],
  ['int(timestamp): int', ({ nanos }: Timestamp) => floorDivide(nanos, second)],
  ['int(uint): int', ({ value }: Uint) => toInt(value)],
  ['string(string): string', same],
  ['string(bool): string', String],
  ['string(bytes): string', bytesToText],
  ['string(double): string', doubleToText],
  ['string(duration): string', formatDuration],
  ['string(int): string', String],
  ['string(timestamp): string', formatTimestamp],
  ['string(uint): string', ({ value }: Uint) => String(value)],
  ['timestamp(timestamp): timestamp', same],
  [
    'timestamp(int): timestamp',
    (seconds: bigint) => toTimestamp(seconds * second) ?? new CelError('timestamp overflow'),
  ],
  ['timestamp(string): timestamp', (text: string) => parseTimestamp(text) ?? failure('string', types.timestamp.name)],
  ['uint(uint): uint', same],
  ['uint(double): uint', doubleToUint],
  ['uint(int): uint', (value: bigint) => (value < 0n ? new CelError('unsigned integer overflow') : new Uint(value))],
  ['uint(string): uint', textToUint],
]

function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value % divisor < 0n ? quotient - 1n : quotient
}
