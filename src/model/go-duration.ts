const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

const mostMs = 2 ** 63 / 1e6

/** Parses a duration as Go writes it (`1h30m`, `1.5s`) to milliseconds. Returns the error in Go's words. */
export function parseGoDuration(text: string): number | string {
  const quoted = JSON.stringify(text)
  const invalid = `time: invalid duration ${quoted}`
  const unsigned = /^[-+]/.test(text) ? text.slice(1) : text
  if (unsigned === '0') return 0
  if (unsigned === '') return invalid
  let totalMs = 0
  for (let rest = unsigned; rest !== ''; ) {
    const [whole, number, unit = ''] = /^(\d+\.?\d*|\.\d+)([^.\d]*)/.exec(rest) ?? []
    if (whole === undefined) return invalid
    if (unit === '') return `time: missing unit in duration ${quoted}`
    const unitMs = Object.hasOwn(units, unit) ? units[unit] : undefined
    if (unitMs === undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`
    totalMs += Number(number) * unitMs
    rest = rest.slice(whole.length)
  }
  if (totalMs > mostMs) return invalid
  return text.startsWith('-') ? -totalMs : totalMs
}
