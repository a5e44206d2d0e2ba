import type { CelFunction } from '../environment.ts'
import { CelFailure } from './failure.ts'

/** What cel-go's strings extension (version 2) has beyond the library. */
export const textFunctions: readonly CelFunction[] = [
  ['string.charAt(int): string', (text: string, index: bigint) => charAt([...text], Number(index))],
  [
    'string.replace(string, string): string',
    (text: string, old: string, next: string) => text.replaceAll(old, () => next),
  ],
  [
    'string.replace(string, string, int): string',
    (text: string, old: string, next: string, limit: bigint) => replace(text, old, next, Number(limit)),
  ],
  ['string.reverse(): string', (text: string) => [...text].reverse().join('')],
  ['string.format(list): string', (format: string, values: readonly unknown[]) => formatText(format, values)],
  ['StringsNamespace.quote(string): string', (_: unknown, text: string) => JSON.stringify(text)],
]

function charAt(characters: readonly string[], index: number): string {
  if (index < 0 || index > characters.length) throw new CelFailure(`index out of range: ${index}`)
  return characters[index] ?? ''
}

function replace(text: string, old: string, next: string, limit: number): string {
  let left = limit < 0 ? Number.POSITIVE_INFINITY : limit
  return text.replaceAll(old, (match) => (left-- > 0 ? next : match))
}

/** `%s`, `%d`, `%f`, `%.2f`, `%e`, `%b`, `%x`, `%X`, `%o`, `%%`. */
function formatText(format: string, values: readonly unknown[]): string {
  let next = 0
  const text = format.replace(/%(?:\.(\d{1,3}))?([\s\S]?)/g, (clause, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    if (next >= values.length) throw new CelFailure(`index ${next} out of range`)
    const value = values[next++]
    return formatClause(clause, verb, value, precision === undefined ? 6 : Number(precision))
  })
  return text
}

function formatClause(clause: string, verb: string, value: unknown, precision: number): string {
  switch (verb) {
    case 's':
      return shown(value)
    case 'd':
      return decimal(value)
    case 'f':
      return Number(value).toFixed(precision)
    case 'e':
      return Number(value).toExponential(precision)
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : BigInt(decimal(value)).toString(2)
    case 'o':
      return BigInt(decimal(value)).toString(8)
    case 'x':
      return hexadecimal(value)
    case 'X':
      return hexadecimal(value).toUpperCase()
    default:
      throw new CelFailure(`could not parse formatting clause: unrecognized formatting clause "${clause.slice(1)}"`)
  }
}

function decimal(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return String(value)
  throw new CelFailure('error during formatting: decimal clause can only be used on integers')
}

function hexadecimal(value: unknown): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : BigInt(decimal(value)).toString(16)
}

/** As cel-go shows values in `%s`. */
function shown(value: unknown): string {
  if (value === null) return 'null'
  if (value instanceof Date) return value.toISOString().replace('.000Z', 'Z')
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`
  if (value instanceof Map)
    return `{${[...value]
      .map(([key, each]) => `${quoted(key)}: ${quoted(each)}`)
      .sort()
      .join(', ')}}`
  return String(value)
}

/** Inside of lists and maps texts stand in quotes. */
function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : shown(value)
}
