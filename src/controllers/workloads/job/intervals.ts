import { countLeading } from '../../../model/binary-search.ts'

/** Completion indexes as ordered intervals that neither overlap nor touch: each with its first and last index. */
export type Intervals = readonly (readonly [first: number, last: number])[]

/** Reads the text of a status, `0,2-5`; indexes from `completions` on and parts that are none are left out. */
export function parseIntervals(text: string, completions: number): Intervals {
  const parts = text === '' ? [] : text.split(',')
  const read = parts.flatMap((part) => {
    const match = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part)
    const first = Number(match?.[1])
    if (match === null || first >= completions) return []
    return [[first, Math.min(Number(match[2] ?? first), completions - 1)] as const]
  })
  return union(read, [])
}

/** Writes intervals: two neighbours as `1,2`, more as `1-3`. */
export function formatIntervals(intervals: Intervals): string {
  return intervals
    .map(([first, last]) => {
      if (first === last) return String(first)
      return `${first}${last === first + 1 ? ',' : '-'}${last}`
    })
    .join(',')
}

export function intervalsOf(indexes: Iterable<number>): Intervals {
  return union(
    [...indexes].map((index) => [index, index] as const),
    [],
  )
}

export function union(one: Intervals, other: Intervals): Intervals {
  const merged: [number, number][] = []
  for (const [first, last] of [...one, ...other].toSorted(([a], [b]) => a - b)) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous[1] + 1) merged.push([first, last])
    else previous[1] = Math.max(previous[1], last)
  }
  return merged
}

export function countOf(intervals: Intervals): number {
  return intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** Takes logarithmic time: a Job may have 50,000 intervals, and asks this for each Pod. */
export function includes(intervals: Intervals, index: number): boolean {
  const [first = Number.POSITIVE_INFINITY] = intervals[countLeading(intervals, ([, last]) => last < index)] ?? []
  return first <= index
}

/** Returns how many indexes both have. */
export function countCommon(one: Intervals, other: Intervals): number {
  return countOf(one) + countOf(other) - countOf(union(one, other))
}

/** Returns the lowest indexes below `completions` that are not in the intervals, at most `count`. */
export function firstMissing(intervals: Intervals, count: number, completions: number): readonly number[] {
  const missing: number[] = []
  let candidate = 0
  for (const [first, last] of [...intervals, [completions, completions] as const]) {
    while (candidate < Math.min(first, completions) && missing.length < count) missing.push(candidate++)
    candidate = Math.max(candidate, last + 1)
  }
  return missing
}
