import type { WorkMeter } from '../values/cost-meter.ts'
import { ItemList } from '../values/lists.ts'
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  none,
  OptionalValue,
  Timestamp,
  Uint,
  type Value,
} from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

const some = (value: Value) => new OptionalValue(value)

function isZero(value: Value): boolean {
  if (value === null || value === '' || value === false || value === 0n || value === 0) return true
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof OptionalValue) return value.value === undefined || isZero(value.value)
  if (value instanceof Timestamp) return value.nanos === -62_135_596_800_000_000_000n
  return value instanceof Uint8Array && value.length === 0
}

function unwrap(list: ListValue, meter: WorkMeter): Value {
  meter.work(list.size)
  const values: Value[] = []
  for (const item of list) {
    if (!(item instanceof OptionalValue)) return new CelError(`value ${String(item)} is not optional`)
    if (item.value !== undefined) values.push(item.value)
  }
  return new ItemList(values)
}

const notEvaluatedHere = (): Value => new CelError('no such overload')

/** The functions of optional values. */
export const optionalFunctions: readonly CelFunction[] = [
  ['optional.of(V): optional_type(V)', some],
  ['optional.ofNonZeroValue(V): optional_type(V)', (value: Value) => (isZero(value) ? none : some(value))],
  ['optional.none(): optional_type(V)', () => none],
  [
    'optional_type(V).value(): V',
    ({ value }: OptionalValue) => (value === undefined ? new CelError('optional.none() dereference') : value),
  ],
  ['optional_type(V).hasValue(): bool', ({ value }: OptionalValue) => value !== undefined],
  ['optional_type(V).or(optional_type(V)): optional_type(V)', notEvaluatedHere],
  ['optional_type(V).orValue(V): V', notEvaluatedHere],
  ['list(V).first(): optional_type(V)', (list: ListValue) => (list.size === 0 ? none : some(list.at(0)))],
  ['list(V).last(): optional_type(V)', (list: ListValue) => (list.size === 0 ? none : some(list.at(list.size - 1)))],
  ['optional.unwrap(list(optional_type(V))): list(V)', unwrap],
  ['list(optional_type(V)).unwrapOpt(): list(V)', unwrap],
]
