import type { WorkMeter } from '../values/cost-meter.ts'
import { areEqual, type CelNumber, compareNumbers, isNumber } from '../values/equality.ts'
import { GrowingList, JsonList } from '../values/lists.ts'
import { toDuration, toTimestamp } from '../values/times.ts'
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  noSuchOverload,
  Timestamp,
  Uint,
  type Value,
} from '../values/values.ts'
import type { SharedFunction } from './declarations.ts'

const [minInt, maxInt, maxUint] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n]

function integer(value: bigint): Value {
  return value < minInt || value > maxInt ? new CelError('integer overflow') : value
}

function unsigned(value: bigint): Value {
  return value < 0n || value > maxUint ? new CelError('unsigned integer overflow') : new Uint(value)
}

interface Arithmetic {
  readonly integers: (left: bigint, right: bigint) => bigint | CelError
  readonly doubles?: (left: number, right: number) => number
}

/** Declares an arithmetic operator on two numbers of one type. */
function arithmetic(name: string, { integers, doubles }: Arithmetic) {
  return (left: Value, right: Value): Value => {
    if (typeof left === 'bigint' && typeof right === 'bigint') return within(integers(left, right), integer)
    if (left instanceof Uint && right instanceof Uint) return within(integers(left.value, right.value), unsigned)
    if (typeof left === 'number' && typeof right === 'number' && doubles !== undefined) return doubles(left, right)
    const isNumeric = isNumber(left) && (typeof left !== 'number' || doubles !== undefined)
    return isNumeric ? noSuchOverload : new CelError(`no such overload: ${name}`)
  }
}

function within(value: bigint | CelError, check: (value: bigint) => Value): Value {
  return typeof value === 'bigint' ? check(value) : value
}

const addNumbers = arithmetic('_+_', {
  integers: (left, right) => left + right,
  doubles: (left, right) => left + right,
})
const subtractNumbers = arithmetic('_-_', {
  integers: (left, right) => left - right,
  doubles: (left, right) => left - right,
})
const multiply = arithmetic('_*_', { integers: (left, right) => left * right, doubles: (left, right) => left * right })
const divide = arithmetic('_/_', {
  integers: (left, right) => (right === 0n ? new CelError('division by zero') : left / right),
  doubles: (left, right) => left / right,
})
const remainder = arithmetic('_%_', {
  integers: (left, right) => (right === 0n ? new CelError('modulus by zero') : left % right),
})

export function add(left: Value, right: Value, meter: WorkMeter): Value {
  if (typeof left === 'string') return typeof right === 'string' ? left + right : noSuchOverload
  if (left instanceof ListValue) return addLists(left, right, meter)
  if (left instanceof Duration) return addDuration(left, right)
  if (left instanceof Timestamp) {
    return right instanceof Duration ? moved(left, right.nanos) : noSuchOverload
  }
  if (left instanceof Uint8Array) return right instanceof Uint8Array ? Buffer.concat([left, right]) : noSuchOverload
  return addNumbers(left, right)
}

function addLists(left: ListValue, right: Value, meter: WorkMeter): Value {
  if (!(right instanceof ListValue)) return noSuchOverload
  if (left instanceof GrowingList) meter.work(right.size)
  if (left instanceof JsonList) meter.work(left.size + right.size)
  return left.concat(right)
}

function addDuration({ nanos }: Duration, right: Value): Value {
  if (right instanceof Duration) return duration(nanos + right.nanos)
  return right instanceof Timestamp ? moved(right, nanos) : noSuchOverload
}

function duration(nanos: bigint): Value {
  return toDuration(nanos) ?? new CelError('duration overflow')
}

function moved({ nanos, offsetMinutes }: Timestamp, by: bigint): Value {
  return toTimestamp(nanos + by, offsetMinutes) ?? new CelError('timestamp overflow')
}

function subtract(left: Value, right: Value): Value {
  if (left instanceof Timestamp) {
    if (right instanceof Timestamp) return duration(left.nanos - right.nanos)
    return right instanceof Duration ? moved(left, -right.nanos) : noSuchOverload
  }
  if (left instanceof Duration) return right instanceof Duration ? duration(left.nanos - right.nanos) : noSuchOverload
  return subtractNumbers(left, right)
}

function negate(value: Value): Value {
  if (typeof value === 'bigint') return integer(-value)
  if (typeof value === 'number') return -value
  if (value instanceof Duration) return duration(-value.nanos)
  return typeof value === 'boolean' ? noSuchOverload : new CelError('no such overload: -_')
}

/** Returns a number below, equal to or above 0, or the error for values without an order. */
export function compare(left: Value, right: Value): number | CelError {
  if (isNumber(left) && isNumber(right)) return compareOrdered(left, right)
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  const areTimes = left instanceof Timestamp && right instanceof Timestamp
  if (areTimes || (left instanceof Duration && right instanceof Duration)) {
    return compareNumbers(left.nanos, (right as Timestamp | Duration).nanos)
  }
  return left instanceof Uint8Array && right instanceof Uint8Array ? Buffer.compare(left, right) : noSuchOverload
}

function compareOrdered(left: CelNumber, right: CelNumber): number | CelError {
  const order = compareNumbers(left, right)
  return Number.isNaN(order) ? new CelError('NaN values cannot be ordered') : order
}

/** Compares texts in the order of UTF-8, which is the order of code points. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  for (let index = 0; ; index++) {
    const [one, two] = [left.charCodeAt(index), right.charCodeAt(index)]
    if (one === two) continue
    if (Number.isNaN(one)) return -1
    if (Number.isNaN(two)) return 1
    return rank(one) < rank(two) ? -1 : 1
  }
}

/** Ranks a UTF-16 unit: surrogates come after all characters of one unit. */
function rank(unit: number): number {
  return unit >= 0xd8_00 && unit <= 0xdf_ff ? unit + 0x1_00_00 : unit
}

const ordering =
  (name: string, holds: (order: number) => boolean) =>
  (left: Value, right: Value): Value => {
    if (!isOrdered(left)) return new CelError(`no such overload: ${name}`)
    const order = compare(left, right)
    return typeof order === 'number' ? holds(order) : order
  }

function isOrdered(value: Value): boolean {
  return (
    isNumber(value) ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof Uint8Array
  )
}

function isIn(value: Value, range: Value, meter: WorkMeter): Value {
  if (range instanceof MapValue) {
    const found = range.find(value)
    return found instanceof CelError ? found : found !== undefined
  }
  if (!(range instanceof ListValue)) return noSuchOverload
  meter.work(range.size)
  let failure: CelError | undefined
  for (const item of range) {
    const answer = areEqual(item, value, meter)
    if (answer === true) return true
    if (answer instanceof CelError) failure ??= answer
  }
  return failure ?? false
}

function notStrictlyFalse(value: Value): Value {
  return typeof value === 'boolean' ? value : true
}

const scalars = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration']
const mixed = ['int, double', 'int, uint', 'uint, double', 'uint, int', 'double, int', 'double, uint']
const orderedForms = [...scalars.map((type) => `${type}, ${type}`), ...mixed].map((operands) => `(${operands}): bool`)
const same = (...kinds: readonly string[]) => kinds.map((type) => `(${type}, ${type}): ${type}`)
const never = (): Value => noSuchOverload

/** The operators, by their names in cel-go. Those without an implementation here are evaluated elsewhere. */
export const operators: readonly SharedFunction[] = [
  { name: '_?_:_', run: never, forms: ['(bool, A, A): A'] },
  { name: '_&&_', run: never, forms: ['(bool, bool): bool'] },
  { name: '_||_', run: never, forms: ['(bool, bool): bool'] },
  { name: '_==_', run: never, forms: ['(A, A): bool'] },
  { name: '_!=_', run: never, forms: ['(A, A): bool'] },
  {
    name: '_[_]',
    run: never,
    forms: [
      '(list(A), int): A',
      '(map(A, B), A): B',
      '(optional_type(list(V)), int): optional_type(V)',
      '(optional_type(map(K, V)), K): optional_type(V)',
    ],
  },
  {
    name: '_[?_]',
    run: never,
    forms: [
      '(list(V), int): optional_type(V)',
      '(optional_type(list(V)), int): optional_type(V)',
      '(map(K, V), K): optional_type(V)',
      '(optional_type(map(K, V)), K): optional_type(V)',
    ],
  },
  {
    name: '!_',
    run: (value: Value) => (typeof value === 'boolean' ? !value : noSuchOverload),
    forms: ['(bool): bool'],
  },
  { name: '@not_strictly_false', run: notStrictlyFalse, forms: ['(bool): bool'] },
  { name: '-_', run: negate, forms: ['(double): double', '(int): int'] },
  {
    name: '_+_',
    run: add,
    forms: [
      ...same('bytes', 'double', 'duration'),
      '(duration, timestamp): timestamp',
      '(timestamp, duration): timestamp',
      ...same('int', 'list(A)', 'string', 'uint'),
    ],
  },
  {
    name: '_-_',
    run: subtract,
    forms: [
      ...same('double', 'duration', 'int'),
      '(timestamp, duration): timestamp',
      '(timestamp, timestamp): duration',
      ...same('uint'),
    ],
  },
  { name: '_*_', run: multiply, forms: same('double', 'int', 'uint') },
  { name: '_/_', run: divide, forms: same('double', 'int', 'uint') },
  { name: '_%_', run: remainder, forms: same('int', 'uint') },
  { name: '_<_', run: ordering('_<_', (order) => order < 0), forms: orderedForms },
  { name: '_<=_', run: ordering('_<=_', (order) => order <= 0), forms: orderedForms },
  { name: '_>_', run: ordering('_>_', (order) => order > 0), forms: orderedForms },
  { name: '_>=_', run: ordering('_>=_', (order) => order >= 0), forms: orderedForms },
  { name: '@in', run: isIn, forms: ['(A, list(A)): bool', '(A, map(A, B)): bool'] },
]
