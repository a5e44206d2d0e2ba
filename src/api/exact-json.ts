import type { Json } from '../model/api-object.ts'

/** What ECMAScript's "JSON.parse source text access" adds to JSON; the type library does not know it yet. */
interface ExactJson {
  readonly isRawJSON: (value: unknown) => boolean
  readonly rawJSON: (text: string) => { readonly rawJSON: string }
  readonly parse: (text: string, reviver: (key: string, value: Json, context: { source?: string }) => unknown) => Json
}

/** A number whose text JavaScript would not give back: 12345678901234567890, 1.10, 1e3. JSON.stringify writes it as it was read. */
interface ExactNumber {
  readonly rawJSON: string
}

const exactJson = JSON as unknown as ExactJson

/** Where a number that needs its text kept can stand; a string that looks like one costs time and nothing else. */
const longNumber = /[:[,]\s*-?(?:0[,\]}\s]|\d{16}|\d+[.eE])|^\s*-?\d+[.eE\d]/

/** As JSON.parse, and every number keeps its text: one that JavaScript would write otherwise becomes an exact number. */
export function parseJson(text: string): Json {
  return parseExact(text, keepText)
}

/** As parseJson, for what clients send. Throws for a number beyond float64 (`1e400`): no other client could read the object. */
export function parseFiniteJson(text: string): Json {
  return parseExact(text, (value, source) => {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new SyntaxError(`the number ${source} is too large`)
    return keepText(value, source)
  })
}

function parseExact(text: string, read: (value: Json, source: string | undefined) => unknown): Json {
  if (!longNumber.test(text)) return JSON.parse(text) as Json
  return exactJson.parse(text, (_key, value, { source }) => read(value, source))
}

function keepText(value: Json, source: string | undefined): unknown {
  const isExact = typeof value !== 'number' || source === undefined || String(value) === source
  return isExact ? value : exactJson.rawJSON(source)
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
