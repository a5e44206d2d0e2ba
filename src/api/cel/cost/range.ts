/** The lowest and highest value of a size or a cost. Kubernetes counts in 64 bits and saturates. */
export interface Range {
  readonly min: number
  readonly max: number
}

const limit = 2 ** 64

export const unknown: Range = { min: 0, max: limit }
export const zero = exactly(0)
export const one = exactly(1)

export function exactly(value: number): Range {
  return { min: value, max: value }
}

export function add(...ranges: readonly Range[]): Range {
  return ranges.reduce((sum, { min, max }) => ({ min: clamp(sum.min + min), max: clamp(sum.max + max) }), zero)
}

export function multiply(left: Range, right: Range): Range {
  return { min: clamp(left.min * right.min), max: clamp(left.max * right.max) }
}

/** Returns a range multiplied by a factor, rounded up. */
export function scale({ min, max }: Range, factor: number): Range {
  return { min: clamp(Math.ceil(min * factor)), max: clamp(Math.ceil(max * factor)) }
}

/** Returns the range that encloses both. */
export function union(left: Range, right: Range): Range {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) }
}

export function clamp(value: number): number {
  return Math.min(value, limit)
}
