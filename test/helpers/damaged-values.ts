/** Counts the values below a value, itself among them. */
export function countValues(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 1
  return Object.values(json).reduce((sum: number, value) => sum + countValues(value), 1)
}

/** Puts `damage` in the place of the value with that number, in the order of `countValues`. */
export function damageValue(json: unknown, number: number, damage: unknown): unknown {
  if (number === 0) return damage
  if (typeof json !== 'object' || json === null) return json
  let left = number - 1
  const replaced = Object.entries(json).map(([key, value]) => {
    const count = countValues(value)
    const result = left >= 0 && left < count ? damageValue(value, left, damage) : value
    left -= count
    return [key, result] as const
  })
  return Array.isArray(json) ? replaced.map(([, value]) => value) : Object.fromEntries(replaced)
}
