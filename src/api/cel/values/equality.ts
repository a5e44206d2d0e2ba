import { isDeepStrictEqual } from 'node:util'
import type { WorkMeter } from './cost-meter.ts'
import { JsonList, UnorderedList } from './lists.ts'
import { JsonMap } from './maps.ts'
import { CelType } from './types.ts'
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  noSuchOverload,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  Uint,
  type Value,
} from './values.ts'

type Answer = boolean | CelError

/** The work of a look-up in a map, in items of a list. */
const workOfMap = 4

/** Checks whether two values are equal, as Kubernetes compares them: the type of the left one decides. */
export function areEqual(left: Value, right: Value, meter: WorkMeter): Answer {
  if (left === null || right === null) return left === right
  return equalTo(left, right, meter)
}

/** Compares parts of objects. A null there cannot be compared with every type. */
function equalTo(left: Value, right: Value, meter: WorkMeter): Answer {
  if (typeof left === 'string' || typeof left === 'boolean' || left === null) return left === right
  if (typeof left === 'bigint' && typeof right === 'bigint') return left === right
  if (isNumber(left)) return isNumber(right) && compareNumbers(left, right) === 0
  if (left instanceof ListValue) return equalLists(left, right, meter)
  if (left instanceof MapValue) return equalMaps(left, right, meter)
  if (left instanceof CelError) return left
  return equalScalars(left, right, meter)
}

function equalScalars(left: Value, right: Value, meter: WorkMeter): Answer {
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos
  if (left instanceof CelType) return right instanceof CelType && left.name === right.name
  if (left instanceof OpaqueValue) return right instanceof OpaqueValue && left.equals(right)
  if (!(left instanceof OptionalValue && right instanceof OptionalValue)) return false
  if (left.value === undefined || right.value === undefined) return left.value === right.value
  return areEqual(left.value, right.value, meter)
}

function ofSchema(value: ListValue | MapValue): boolean {
  return (value instanceof JsonList || value instanceof JsonMap) && !value.isPlain
}

function equalLists(left: ListValue, right: Value, meter: WorkMeter): Answer {
  if (!(right instanceof ListValue)) return ofSchema(left) ? noSuchOverload : false
  if (left.size !== right.size) return false
  if (left instanceof UnorderedList) return equalUnordered(left, right, meter)
  meter.work(left.size)
  const isJson = ofSchema(left)
  for (let index = 0; index < left.size; index++) {
    const answer = isJson
      ? equalTo(left.at(index), right.at(index), meter)
      : areEqual(left.at(index), right.at(index), meter)
    if (isJson ? answer !== true : answer === false) return answer
  }
  return true
}

function equalUnordered(left: UnorderedList, right: ListValue, meter: WorkMeter): Answer {
  meter.work(left.size)
  for (const item of right) {
    const mine = left.find(left.keyOf(left.parts.nativeOf(item)))
    if (mine === undefined) return false
    const answer = left.isSet || equalTo(left.read(mine), item, meter)
    if (answer !== true) return answer
  }
  return true
}

function equalMaps(left: MapValue, right: Value, meter: WorkMeter): Answer {
  if (!(right instanceof MapValue)) return ofSchema(left) ? noSuchOverload : false
  if (left.size !== right.size) return false
  if (left instanceof JsonMap && ofSchema(left)) return equalJson(left, right, meter)
  meter.work(workOfMap + left.size)
  for (const key of left.keys()) {
    const other = right.find(key)
    if (other === undefined || areEqual(left.find(key) ?? null, other, meter) === false) return false
  }
  return true
}

/** Compares objects. Fields that the schema does not declare count where both have them. */
function equalJson(left: JsonMap, right: MapValue, meter: WorkMeter): Answer {
  meter.work(workOfMap + left.size)
  for (const name of left.names) {
    if (left.schemaOf(name) === undefined) {
      if (!(right instanceof JsonMap)) return noSuchOverload
      if (Object.hasOwn(right.value, name) && !isDeepStrictEqual(left.value[name], right.value[name])) return false
      continue
    }
    const [mine, other] = [left.find(name), right.find(name)]
    if ((mine === undefined) !== (other === undefined)) return false
    const answer = mine === undefined || other === undefined || equalTo(mine, other, meter)
    if (answer !== true) return answer
  }
  return true
}

export type CelNumber = bigint | Uint | number

export function isNumber(value: Value): value is CelNumber {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint
}

/** Returns a number below, equal to or above 0; NaN for numbers without an order. */
export function compareNumbers(left: CelNumber, right: CelNumber): number {
  const [first, second] = [plain(left), plain(right)]
  if (typeof first === 'bigint' && typeof second === 'bigint') return first < second ? -1 : Number(first > second)
  const [one, two] = [Number(first), Number(second)]
  if (Number.isNaN(one) || Number.isNaN(two)) return Number.NaN
  return one < two ? -1 : Number(one > two)
}

function plain(value: CelNumber): bigint | number {
  return value instanceof Uint ? value.value : value
}
