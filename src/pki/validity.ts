const dayMs = 24 * 60 * 60 * 1000
/** Tolerated lag of the clocks of other machines. */
const skewMs = 5 * 60 * 1000

export function backdate(now: Date): Date {
  return new Date(now.getTime() - skewMs)
}

export function addDays(now: Date, days: number): Date {
  return new Date(now.getTime() + days * dayMs)
}
