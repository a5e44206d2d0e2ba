/** Intervals of completion indexes, as `1,3-5` in `status.completedIndexes`: each with its first and last index. */
export type Interval = readonly [first: number, last: number]

/**
 * Parses a text of intervals in increasing order, all below `completions`. Returns the intervals, or the error in
 * Kubernetes' words.
 */
export function parseIndexes(text: string, completions: number): readonly Interval[] | string {
  if (text === '') return []
  const intervals: Interval[] = []
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions)
    if (typeof interval === 'string') return interval
    const previous = intervals.at(-1)?.[1]
    if (previous !== undefined && previous >= interval[0])
      return `non-increasing order, previous: ${previous}, current: ${interval[0]}`
    intervals.push(interval)
  }
  return intervals
}

export function countIndexes(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** Returns the first index that both have; undefined where there is none. */
export function findCommonIndex(one: readonly Interval[], other: readonly Interval[]): number | undefined {
  let [at, otherAt] = [0, 0]
  for (;;) {
    const [left, right] = [one[at], other[otherAt]]
    if (left === undefined || right === undefined) return undefined
    if (left[0] <= right[1] && right[0] <= left[1]) return Math.max(left[0], right[0])
    if (left[0] <= right[0]) at++
    else otherAt++
  }
}

function parseInterval(part: string, completions: number): Interval | string {
  const limits = part.split('-')
  if (limits.length > 2)
    return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`
  const [first = '', last] = limits
  const start = parseIndex(first, completions)
  if (typeof start === 'string') return start
  if (last === undefined) return [start, start]
  const end = parseIndex(last, completions)
  if (typeof end === 'string') return end
  return start >= end ? `non-increasing order, previous: ${start}, current: ${end}` : [start, end]
}

function parseIndex(text: string, completions: number): number | string {
  if (!/^[+-]?\d{1,15}$/.test(text)) return `cannot convert string to integer for index: ${JSON.stringify(text)}`
  return Number(text) >= completions ? `too large index: ${JSON.stringify(text)}` : Number(text)
}
