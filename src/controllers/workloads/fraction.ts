import type { IntOrPercent } from '../objects/parts.ts'

/** Resolves a number or a percentage of `total`; anything else is 0. */
export function resolveCount(value: IntOrPercent, total: number, rounding: 'up' | 'down'): number {
  if (typeof value === 'number') return value
  const percent = /^(\d{1,9})%$/.exec(value)?.[1]
  if (percent === undefined) return 0
  const share = (Number(percent) * total) / 100
  return rounding === 'up' ? Math.ceil(share) : Math.floor(share)
}
