import type { CelFunction } from '../environment.ts'
import { isEqual } from '../equality.ts'
import type { CostMeter } from '../meter.ts'
import { CelFailure } from './failure.ts'

type Items = readonly unknown[]
type Ordered = bigint | number | string

/** Kubernetes' list functions, and cel-go's lists and sets extensions. */
export function listFunctions(meter: CostMeter): readonly CelFunction[] {
  const has = (items: Items, value: unknown) => {
    meter.spend(items.length)
    return items.some((item) => isEqual(item, value))
  }
  return [
    ...['int', 'double', 'string', 'bool', 'google.protobuf.Duration', 'google.protobuf.Timestamp'].flatMap(ofType),
    ['list<int>.sum(): int', (items: readonly bigint[]) => items.reduce((sum, item) => sum + item, 0n)],
    ['list<double>.sum(): double', (items: readonly number[]) => items.reduce((sum, item) => sum + item, 0)],
    [
      'list<A>.indexOf(A): int',
      (items: Items, value: unknown) => BigInt(items.findIndex((item) => isEqual(item, value))),
    ],
    [
      'list<A>.lastIndexOf(A): int',
      (items: Items, value: unknown) => BigInt(items.findLastIndex((item) => isEqual(item, value))),
    ],
    ['list<A>.distinct(): list<A>', (items: Items) => distinct(items, has)],
    ['list<A>.reverse(): list<A>', (items: Items) => items.toReversed()],
    [
      'list<A>.slice(int, int): list<A>',
      (items: Items, start: bigint, end: bigint) => slice(items, Number(start), Number(end)),
    ],
    ['list.flatten(): list<dyn>', (items: Items) => items.flat()],
    ['list.flatten(int): list<dyn>', (items: Items, depth: bigint) => items.flat(Number(depth))],
    ['ListsNamespace.range(int): list<int>', (_: unknown, count: bigint) => range(count)],
    [
      'SetsNamespace.contains(list, list): bool',
      (_: unknown, items: Items, others: Items) => others.every((other) => has(items, other)),
    ],
    [
      'SetsNamespace.intersects(list, list): bool',
      (_: unknown, items: Items, others: Items) => others.some((other) => has(items, other)),
    ],
    [
      'SetsNamespace.equivalent(list, list): bool',
      (_: unknown, items: Items, others: Items) =>
        others.every((other) => has(items, other)) && items.every((item) => has(others, item)),
    ],
  ]
}

function ofType(type: string): readonly CelFunction[] {
  return [
    [
      `list<${type}>.isSorted(): bool`,
      (items: readonly Ordered[]) => items.every((item, index) => index === 0 || (items[index - 1] as Ordered) <= item),
    ],
    [`list<${type}>.min(): ${type}`, (items: readonly Ordered[]) => extreme(items, 'min', (item, best) => item < best)],
    [`list<${type}>.max(): ${type}`, (items: readonly Ordered[]) => extreme(items, 'max', (item, best) => item > best)],
    [
      `list<${type}>.sort(): list<${type}>`,
      (items: readonly Ordered[]) => items.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    ],
  ]
}

function extreme(
  items: readonly Ordered[],
  name: string,
  isBetter: (item: Ordered, best: Ordered) => boolean,
): Ordered {
  const [first, ...rest] = items
  if (first === undefined) throw new CelFailure(`${name} called on empty list`)
  return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first)
}

/** Texts, numbers and booleans are distinguished by value; the few others are compared with each other. */
function distinct(items: Items, has: (items: Items, value: unknown) => boolean): Items {
  const kept: unknown[] = []
  const plain = new Set<unknown>()
  for (const item of items) {
    const isPlain = typeof item !== 'object'
    if (isPlain ? plain.has(item) : has(kept, item)) continue
    plain.add(item)
    kept.push(item)
  }
  return kept
}

function slice(items: Items, start: number, end: number): Items {
  if (start < 0 || end > items.length || start > end)
    throw new CelFailure(`cannot slice(${start}, ${end}), list is length ${items.length}`)
  return items.slice(start, end)
}

const maxRange = 100_000

function range(count: bigint): Items {
  if (count > maxRange) throw new CelFailure(`lists.range: more than ${maxRange} numbers`)
  return Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index))
}
