const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

/** Digits of 2^63; a longer number is beyond every duration. */
const mostDigits = 19
/** Digits of a fraction that count: an hour has 13 digits of nanoseconds. */
const fractionDigits = 15

/** Parses a duration as Go writes it (`1h30m`, `-1.5s`, `0`) to nanoseconds of 64 bits. Returns the error in Go's words. */
export function parseGoNanos(text: string): bigint | string {
  const unsigned = /^[-+]/.test(text) ? text.slice(1) : text
  if (unsigned === '0') return 0n
  const total = unsigned === '' ? invalid(text) : sumParts(unsigned, text)
  if (typeof total === 'string') return total
  const nanos = text.startsWith('-') ? -total : total
  return BigInt.asIntN(64, nanos) === nanos ? nanos : invalid(text)
}

/** Parses a duration as Go writes it to milliseconds. Returns the error in Go's words. */
export function parseGoDuration(text: string): number | string {
  const nanos = parseGoNanos(text)
  return typeof nanos === 'string' ? nanos : Number(nanos) / 1e6
}

function sumParts(unsigned: string, text: string): bigint | string {
  const part = /(?:(\d+)(?:\.(\d*))?|\.(\d+))([^.\d]*)/y
  let total = 0n
  while (part.lastIndex < unsigned.length) {
    const [, whole = '', after = '', fraction = after, unit = ''] = part.exec(unsigned) ?? []
    if (whole === '' && fraction === '') return invalid(text)
    const size = Object.hasOwn(units, unit) ? units[unit] : undefined
    if (size === undefined) return badUnit(unit, text)
    const digits = whole.replace(/^0+/, '')
    if (digits.length > mostDigits) return invalid(text)
    total += BigInt(digits) * size + fractionOf(fraction.slice(0, fractionDigits), size)
  }
  return total
}

function fractionOf(digits: string, size: bigint): bigint {
  return (BigInt(digits) * size) / 10n ** BigInt(digits.length)
}

function invalid(text: string): string {
  return `time: invalid duration ${JSON.stringify(text)}`
}

function badUnit(unit: string, text: string): string {
  const what = unit === '' ? 'missing unit' : `unknown unit ${JSON.stringify(unit)}`
  return `time: ${what} in duration ${JSON.stringify(text)}`
}
