import { randomBytes } from 'node:crypto'
import type { Json } from '../model/api-object.ts'

/** What ECMAScript's "JSON.parse source text access" adds to JSON; the type library does not know it yet. */
interface ExactJson {
  readonly isRawJSON: (value: unknown) => boolean
  readonly rawJSON: (text: string) => { readonly rawJSON: string }
}

/** A number whose text JavaScript would not give back: 12345678901234567890, 1.10, 1e3. JSON.stringify writes it as it was read. */
interface ExactNumber {
  readonly rawJSON: string
}

const exactJson = JSON as unknown as ExactJson

/** As JSON.parse, and every number keeps its text: one that JavaScript would write otherwise becomes an exact number. */
export function parseJson(text: string): Json {
  return parseExact(text, keepText)
}

/** As parseJson, for what clients send. Throws for a number beyond float64 (`1e400`): no other client could read the object. */
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
 * Numbers, outside of strings, that JavaScript may write otherwise: -0, ones with an exponent, a fraction that ends with 0, less than a
 * millionth, more than 15 digits. All others come back as they were read: float64 holds 15 digits.
 */
const inexactNumber =
  /(?<![\w.+-])(?=-0(?![.\d])|-?\d[\d.]{15}|-?0\.00000|-?\d+\.\d*0(?![.\deE])|-?[\d.]+[eE])-?\d[\d.eE+-]*/g

/** Begins the string that stands for a number while its text is parsed; drawn for this process, so that no text has it by chance. */
const mark = randomBytes(6).toString('base64url')
const marking = `"${mark}$&"`

/** A reviver, which JSON.parse calls for every value, takes many times as long. */
function parseExact(text: string, read: (source: string) => Json): Json {
  const value = JSON.parse(text) as Json
  const marked = markNumbers(text)
  return marked === text ? value : readMarked(JSON.parse(marked) as Json, withMemory(read))
}

const rememberedTexts = 1_000

/** Reads each of the first 1,000 texts once: long lists of numbers repeat a few. */
function withMemory(read: (source: string) => Json): (source: string) => Json {
  const known = new Map<string, Json>()
  return (source) => {
    const value = known.get(source) ?? read(source)
    if (known.size < rememberedTexts) known.set(source, value)
    return value
  }
}

/** The text, which must be valid, with a string in place of each number that may need its text kept. */
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

/** The value with its numbers; it is changed in place, since no one else has it yet. */
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
    // An assignment to `__proto__` would not make a field.
    if (key === '__proto__')
      Object.defineProperty(fields, key, { value: next, configurable: true, enumerable: true, writable: true })
    else fields[key] = next
  }
}

/** The number with this text, which must be one of JSON. */
export function exactNumber(text: string): unknown {
  return exactJson.rawJSON(text)
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return exactJson.isRawJSON(value)
}

/** The nearest number that JavaScript has; undefined for what is not a number. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  return isExactNumber(value) ? Number(value.rawJSON) : undefined
}

const int64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n }

/** As Kubernetes tells integers: those that int64 holds, and other ways to write one that every float64 holds (`1e3`, `1.0`). */
export function isInteger(value: Json): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (!isExactNumber(value)) return false
  const { rawJSON } = value
  if (!/^-?\d+$/.test(rawJSON)) return Number.isSafeInteger(Number(rawJSON))
  const number = rawJSON.length > 20 ? int64.most + 1n : BigInt(rawJSON)
  return number >= int64.least && number <= int64.most
}

/** The index of the closing quote, or the text's end; most strings hold no escape, and finding the quote takes no loop of ours. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

/** Whether an odd number of backslashes stands before it. The opening quote, which is none, ends the count. */
function isEscaped(text: string, index: number): boolean {
  let first = index
  while (text[first - 1] === '\\') first--
  return (index - first) % 2 === 1
}
