import type { WorkMeter } from '../values/cost-meter.ts'
import { areEqual } from '../values/equality.ts'
import { ItemList } from '../values/lists.ts'
import type { EntryMap } from '../values/maps.ts'
import { CelError, Duration, ListValue, MapValue, noSuchOverload, Uint, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'
import { add, compare } from './operators.ts'

function isSorted(list: ListValue, meter: WorkMeter): Value {
  meter.work(list.size)
  let previous: Value | undefined
  for (const item of list) {
    const order = previous === undefined ? 0 : compare(previous, item)
    if (typeof order === 'number' && order > 0) return false
    if (item instanceof CelError || item === null) return noSuchOverload
    previous = item
  }
  return true
}

function extreme(name: string, isBetter: (order: number) => boolean) {
  return (list: ListValue, meter: WorkMeter): Value => {
    meter.work(list.size)
    let best: Value | undefined
    for (const item of list) {
      if (item instanceof CelError || item === null) return noSuchOverload
      const order = best === undefined ? 0 : compare(best, item)
      if (best === undefined || (typeof order === 'number' && isBetter(order))) best = item
    }
    return best ?? new CelError(`${name} called on empty list`)
  }
}

function sum(zero: Value) {
  return (list: ListValue, meter: WorkMeter): Value => {
    meter.work(list.size)
    let total = zero
    for (const item of list) {
      total = add(total, item, meter)
      if (total instanceof CelError) return noSuchOverload
    }
    return total
  }
}

function indexOf(list: ListValue, value: Value, meter: WorkMeter): Value {
  meter.work(list.size)
  let index = 0n
  for (const item of list) {
    if (areEqual(item, value, meter) === true) return index
    index++
  }
  return -1n
}

function lastIndexOf(list: ListValue, value: Value, meter: WorkMeter): Value {
  meter.work(list.size)
  for (let index = list.size - 1; index >= 0; index--) {
    if (areEqual(list.at(index), value, meter) === true) return BigInt(index)
  }
  return -1n
}

function has(list: ListValue, value: Value, meter: WorkMeter): boolean {
  for (const item of list) if (areEqual(item, value, meter) === true) return true
  return false
}

function containsAll(list: ListValue, others: ListValue, meter: WorkMeter): boolean {
  for (const other of others) if (!has(list, other, meter)) return false
  return true
}

function intersects(list: ListValue, others: ListValue, meter: WorkMeter): boolean {
  for (const other of others) if (has(list, other, meter)) return true
  return false
}

function areEquivalent(left: ListValue, right: ListValue, meter: WorkMeter): boolean {
  return containsAll(left, right, meter) && containsAll(right, left, meter)
}

/** Returns a list without repetitions. Texts, numbers and booleans are compared by value, the few others pairwise. */
function distinct(list: ListValue, meter: WorkMeter): Value {
  const kept: Value[] = []
  const plain = new Set<unknown>()
  for (const item of list) {
    const isPlain = typeof item === 'string' || typeof item === 'bigint' || typeof item === 'boolean'
    if (isPlain ? plain.has(item) : has(new ItemList(kept), item, meter)) continue
    plain.add(item)
    kept.push(item)
  }
  return new ItemList(kept)
}

function slice(list: ListValue, start: bigint, end: bigint): Value {
  if (start < 0n || end < 0n) return new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`)
  if (start > end)
    return new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`)
  if (end > list.size) return new CelError(`cannot slice(${start}, ${end}), list is length ${list.size}`)
  return new ItemList([...list].slice(Number(start), Number(end)))
}

function flatten(list: ListValue, depth: bigint | WorkMeter): Value {
  const levels = typeof depth === 'bigint' ? depth : 1n
  if (levels < 0n) return new CelError('level must be non-negative')
  const flat = (items: Iterable<Value>, left: bigint): Value[] => {
    return [...items].flatMap((item) => (item instanceof ListValue && left > 0n ? flat(item, left - 1n) : [item]))
  }
  return new ItemList(flat(list, levels))
}

const maxRange = 100_000n

function range(count: bigint): Value {
  if (count > maxRange) return new CelError(`lists.range: more than ${maxRange} numbers`)
  return new ItemList(Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)))
}

function sortBy(list: ListValue, keys: ListValue): Value {
  const items = [...list].map((item, index) => [item, keys.at(index)] as const)
  return new ItemList(items.toSorted(([, left], [, right]) => order(left, right)).map(([item]) => item))
}

function order(left: Value, right: Value): number {
  const found = compare(left, right)
  return typeof found === 'number' ? found : 0
}

/** Inserts one entry, or those of another map, into the map of a macro. */
function insert(map: EntryMap, key: Value, value: Value | WorkMeter): Value {
  if (!(key instanceof MapValue)) return map.insert(key, value as Value)
  for (const each of key.keys()) {
    const answer = map.insert(each, key.find(each) ?? null)
    if (answer instanceof CelError) return answer
  }
  return map
}

const sortable = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes']
const zeros: Readonly<Record<string, Value>> = { int: 0n, uint: new Uint(0n), double: 0, duration: new Duration(0n) }

/** The list functions of Kubernetes, and the sets extension of cel-go. */
export const listFunctions: readonly CelFunction[] = [
  ...sortable.map((type): CelFunction => [`list(${type}).isSorted(): bool`, isSorted]),
  ...sortable.map((type): CelFunction => [`list(${type}).min(): ${type}`, extreme('min', (found) => found > 0)]),
  ...sortable.map((type): CelFunction => [`list(${type}).max(): ${type}`, extreme('max', (found) => found < 0)]),
  ...Object.entries(zeros).map(([type, zero]): CelFunction => [`list(${type}).sum(): ${type}`, sum(zero)]),
  ['list(A).indexOf(A): int', indexOf],
  ['list(A).lastIndexOf(A): int', lastIndexOf],
  ['sets.contains(list(T), list(T)): bool', containsAll],
  ['sets.intersects(list(T), list(T)): bool', intersects],
  ['sets.equivalent(list(T), list(T)): bool', areEquivalent],
  ['cel.@mapInsert(map(K, V), K, V): map(K, V)', insert],
  ['cel.@mapInsert(map(K, V), map(K, V)): map(K, V)', insert],
]

/** The lists extension of cel-go (version 3): Kubernetes 1.34 accepts it in stored rules, not in new ones. */
export const laterListFunctions: readonly CelFunction[] = [
  ...sortable.map(
    (type): CelFunction => [
      `list(${type}).sort(): list(${type})`,
      (list: ListValue) => new ItemList([...list].toSorted(order)),
    ],
  ),
  ...sortable.map((type): CelFunction => [`list(T).@sortByAssociatedKeys(list(${type})): list(T)`, sortBy]),
  ['list(T).distinct(): list(T)', distinct],
  ['list(T).reverse(): list(T)', (list: ListValue) => new ItemList([...list].reverse())],
  ['list(T).slice(int, int): list(T)', slice],
  ['list(list(T)).flatten(): list(T)', flatten],
  ['list(dyn).flatten(int): list(dyn)', flatten],
  ['lists.range(int): list(int)', range],
]
