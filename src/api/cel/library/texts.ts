import type { WorkMeter } from '../values/cost-meter.ts'
import { ItemList } from '../values/lists.ts'
import { CelError, type ListValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'
import { formatText } from './format-text.ts'

/** Splits a text into characters (code points). */
const charactersOf = (text: string): readonly string[] => (/[\ud800-\udfff]/.test(text) ? [...text] : text.split(''))

function outOfRange(index: bigint): CelError {
  return new CelError(`index out of range: ${index}`)
}

function charAt(text: string, index: bigint): Value {
  const characters = charactersOf(text)
  if (index < 0n || index > characters.length) return outOfRange(index)
  return characters[Number(index)] ?? ''
}

/** Returns the index of the character at an index of UTF-16 units. */
function characterIndex(text: string, unit: number): bigint {
  return unit < 0 ? -1n : BigInt(charactersOf(text.slice(0, unit)).length)
}

function indexOf(text: string, part: string): Value {
  return part === '' ? 0n : characterIndex(text, text.indexOf(part))
}

function indexOfFrom(text: string, part: string, from: bigint): Value {
  if (part === '') return from
  if (from < 0n) return outOfRange(from)
  const start = charactersOf(text).slice(0, Number(from)).join('').length
  return characterIndex(text, text.indexOf(part, start))
}

function lastIndexOf(text: string, part: string): Value {
  return part === '' ? BigInt(charactersOf(text).length) : characterIndex(text, text.lastIndexOf(part))
}

function lastIndexOfFrom(text: string, part: string, from: bigint): Value {
  if (part === '') return from
  if (from < 0n) return outOfRange(from)
  const characters = charactersOf(text)
  if (from >= characters.length) return -1n
  const start = characters.slice(0, Number(from)).join('').length
  return characterIndex(text, text.lastIndexOf(part, start))
}

function substring(text: string, start: bigint, end?: bigint | object): Value {
  const characters = charactersOf(text)
  const last = typeof end === 'bigint' ? end : BigInt(characters.length)
  if (typeof end === 'bigint' && start > end) {
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  }
  if (start < 0n || start > characters.length) return outOfRange(start)
  if (last < 0n || last > characters.length) return outOfRange(last)
  return characters.slice(Number(start), Number(last)).join('')
}

/** Replaces a text in another. An empty text is found before every character and after the last. */
function replace(text: string, old: string, next: string, limit?: bigint | object): Value {
  const most = typeof limit === 'bigint' && limit >= 0n ? Number(limit) : Number.POSITIVE_INFINITY
  if (most === Number.POSITIVE_INFINITY && old !== '') return text.replaceAll(old, () => next)
  const parts = old === '' ? ['', ...charactersOf(text), ''] : text.split(old)
  if (old === '' && parts.length > 1) return interleave(charactersOf(text), next, most)
  return (
    parts.slice(0, most + 1).join(next) +
    parts
      .slice(most + 1)
      .map((part) => old + part)
      .join('')
  )
}

function interleave(characters: readonly string[], next: string, most: number): string {
  const all = [...characters, '']
  return all.map((character, index) => (index < most ? next + character : character)).join('')
}

function split(text: string, separator: string, limit?: bigint | object): Value {
  const most = typeof limit === 'bigint' ? Number(limit) : -1
  if (most === 0) return new ItemList([])
  const parts = separator === '' ? charactersOf(text) : text.split(separator)
  if (most < 0 || parts.length <= most) return new ItemList(parts)
  return new ItemList([...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)])
}

function join(list: ListValue, separator: string | WorkMeter, meter?: WorkMeter): Value {
  const counted = meter ?? separator
  if (typeof counted !== 'string') counted.work(list.size)
  const texts = [...list]
  const other = texts.find((text) => typeof text !== 'string')
  if (other !== undefined)
    return new CelError(`join: invalid input: ${other instanceof CelError ? other.message : Number(other)}`)
  return texts.join(typeof separator === 'string' ? separator : '')
}

const lower = (text: string) => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
const upper = (text: string) => text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())
/** Trims the white space that Go trims. */
const trim = (text: string) => text.replace(/^[\p{White_Space}]+|[\p{White_Space}]+$/gu, '')

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are escaped
  return `"${text.toWellFormed().replaceAll(/[\x07\b\f\n\r\t\v\\"]/g, (character) => escapes[character] ?? character)}"`
}

/** The text functions of CEL and of cel-go's strings extension (version 2). */
export const textFunctions: readonly CelFunction[] = [
  ['string.contains(string): bool', (text: string, part: string) => text.includes(part)],
  ['string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part)],
  ['string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part)],
  ['string.charAt(int): string', charAt],
  ['string.indexOf(string): int', indexOf],
  ['string.indexOf(string, int): int', indexOfFrom],
  ['string.lastIndexOf(string): int', lastIndexOf],
  ['string.lastIndexOf(string, int): int', lastIndexOfFrom],
  ['string.lowerAscii(): string', lower],
  ['string.upperAscii(): string', upper],
  ['string.replace(string, string): string', replace],
  ['string.replace(string, string, int): string', replace],
  ['string.split(string): list(string)', split],
  ['string.split(string, int): list(string)', split],
  ['string.substring(int): string', substring],
  ['string.substring(int, int): string', substring],
  ['string.trim(): string', trim],
  ['string.format(list(dyn)): string', formatText],
  ['list(string).join(): string', join],
  ['list(string).join(string): string', join],
  ['strings.quote(string): string', quote],
]
