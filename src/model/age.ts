/** The largest difference between the clocks of two machines at which a creation time in the future counts as now. */
const clockDifferenceMs = 2_000

/**
 * Formats an age: `45s`, `3m20s`, `12m`, `5h10m`, `23h`, `2d4h`, `40d`, `3y`, with two units while the first is small;
 * `<invalid>` for a time in the future.
 */
export function formatAge(ageMs: number): string {
  if (ageMs <= -clockDifferenceMs) return '<invalid>'
  const seconds = Math.max(0, Math.floor(ageMs / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (hours < 3) return `${minutes}m`
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (days < 2) return `${hours}h`
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`
}
