import { randomBytes } from 'node:crypto'
import type { Json } from '../model/api-object.ts'

/** The additions of ECMAScript's "JSON.parse source text access" to JSON; the type library lacks them. */
interface ExactJson {
  readonly isRawJSON: (value: unknown) => boolean
  readonly rawJSON: (text: string) => { readonly rawJSON: string }
}

/** A number whose text JavaScript would not give back: 12345678901234567890, 1.10, 1e3. JSON.stringify writes it as it was read. */
interface ExactNumber {
  readonly rawJSON: string
}

const exactJson = JSON as unknown as ExactJson

/** Parses JSON and keeps the text of every number: one that JavaScript would write otherwise becomes an exact number. */
export function parseJson(text: string): Json {
  return parseExact(text, keepText)
}

/** Parses JSON from clients like parseJson. Throws for a number beyond float64 (`1e400`): no other client could read the object. */
export function parseFiniteJson(text: string): Json {
  return parseExact(text, (source) => {
    if (!Number.isFinite(Number(source))) throw new SyntaxError(`the number ${source} is too large`)
    return keepText(source)
  })
}

function keepText(source: string): Json {
  const number = Number(source)
  return (String(number) === source ? number : exactJson.rawJSON(source)) as Json
}

/**
 * Matches numbers outside of strings that JavaScript may write otherwise: -0, ones with an exponent, a fraction that ends with 0, less than a
 * millionth, more than 15 digits. All others keep their text: float64 holds 15 digits.
 */
const inexactNumber =
  /(?<![\w.+-])(?=-0(?![.\d])|-?\d[\d.]{15}|-?0\.00000|-?\d+\.\d*0(?![.\deE])|-?[\d.]+[eE])-?\d[\d.eE+-]*/g

/** The prefix of the string that replaces a number during parsing; random per process, so that no text holds it by chance. */
const mark = randomBytes(6).toString('base64url')
const marking = `"${mark}$&"`

/** Parses JSON with marked numbers. A reviver, which JSON.parse calls for every value, takes many times as long. */
function parseExact(text: string, read: (source: string) => Json): Json {
  const value = JSON.parse(text) as Json
  const marked = markNumbers(text)
  return marked === text ? value : readMarked(JSON.parse(marked) as Json, withMemory(read))
}

const rememberedTexts = 1_000

/** Caches the first 1,000 texts: long lists of numbers repeat a few. */
function withMemory(read: (source: string) => Json): (source: string) => Json {
  const known = new Map<string, Json>()
  return (source) => {
    const value = known.get(source) ?? read(source)
    if (known.size < rememberedTexts) known.set(source, value)
    return value
  }
}

/** Returns the text, which must be valid JSON, with a string in place of each number that may need its text kept. */
function markNumbers(text: string): string {
  if (text.search(inexactNumber) === -1) return text
  let marked = ''
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const start = quote === -1 ? text.length : quote
    const end = Math.min(endOfString(text, start) + 1, text.length)
    const between = text.slice(at, start)
    marked += (between.length < 2 ? between : between.replace(inexactNumber, marking)) + text.slice(start, end)
    at = end
  }
  return marked
}

/** Restores the numbers of a value in place, since no other code holds it yet. */
function readMarked(value: Json, read: (source: string) => Json): Json {
  if (typeof value === 'string') return value.startsWith(mark) ? read(value.slice(mark.length)) : value
  if (Array.isArray(value)) readItems(value as Json[], read)
  else if (typeof value === 'object' && value !== null) readFields(value as Record<string, Json>, read)
  return value
}

function readItems(items: Json[], read: (source: string) => Json): void {
  for (let index = 0; index < items.length; index++) items[index] = readMarked(items[index] ?? null, read)
}

function readFields(fields: Record<string, Json>, read: (source: string) => Json): void {
  for (const [key, field] of Object.entries(fields)) {
    const next = readMarked(field, read)
    if (next === field) continue
    setField(fields, key, next)
  }
}

/** Sets a field of an object that no other code holds yet. An assignment to `__proto__` would not make a field. */
export function setField(object: Record<string, Json | undefined>, key: string, value: Json | undefined): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
  else object[key] = value
}

/** Returns the number with this text, which must be a JSON number. */
export function exactNumber(text: string): unknown {
  return exactJson.rawJSON(text)
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return exactJson.isRawJSON(value)
}

/** Returns the nearest JavaScript number; undefined for a value that is not a number. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  return isExactNumber(value) ? Number(value.rawJSON) : undefined
}

const int64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n }

/** Checks for an integer as Kubernetes does: those of int64, and other spellings of an integer that every float64 holds (`1e3`, `1.0`). */
export function isInteger(value: Json): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (!isExactNumber(value)) return false
  const { rawJSON } = value
  if (!/^-?\d+$/.test(rawJSON)) return Number.isSafeInteger(Number(rawJSON))
  const number = rawJSON.length > 20 ? int64.most + 1n : BigInt(rawJSON)
  return number >= int64.least && number <= int64.most
}

/** Returns the index of the closing quote, or the text's end; most strings hold no escape, and `indexOf` finds the quote. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

/** Checks whether an odd number of backslashes precedes the index. The opening quote ends the count. */
function isEscaped(text: string, index: number): boolean {
  let first = index
  while (text[first - 1] === '\\') first--
  return (index - first) % 2 === 1
}
