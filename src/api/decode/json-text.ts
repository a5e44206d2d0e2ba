import { parse as parseYaml } from 'yaml'
import type { Json } from '../../model/api-object.ts'
import { parseJson } from '../exact-json.ts'
import { badRequest, StatusError } from '../status.ts'
import { findDuplicateFields, findYamlDuplicates } from './duplicate-fields.ts'
import { assertExpansion } from './expanded-size.ts'

/** Deeper than any object of ours, shallow enough that recursion over a body never overflows the stack. */
const maxDepth = 1_000

/** Of a YAML body as JSON, its aliases expanded; JSON spells the same value longer than YAML, at most twice as long as a rule. */
const maxExpandedLength = 6 * 1024 * 1024

/** A body as a value, and what only its text tells. */
export interface DecodedBody {
  readonly value: Json
  /** Each field that stands twice in its object, in the words of an error. */
  readonly findDuplicates: () => readonly string[]
}

/** Throws a 400 for text that is not UTF-8, not JSON, or nested too deeply. */
export function parseJsonBody(bytes: Uint8Array): Json {
  return parseJsonText(decodeUtf8(bytes))
}

export function decodeJson(bytes: Uint8Array): DecodedBody {
  const text = decodeUtf8(bytes)
  return { value: parseJsonText(text), findDuplicates: () => describeDuplicates(text) }
}

/** kubectl sends JSON where YAML is asked for; reading it as JSON is much faster. */
export function decodeYaml(bytes: Uint8Array): DecodedBody {
  const text = decodeUtf8(bytes)
  const value = tryJson(text)
  if (value !== undefined) return { value, findDuplicates: () => describeDuplicates(text) }
  return { value: parseYamlText(text), findDuplicates: () => findYamlDuplicates(text) }
}

function describeDuplicates(text: string): readonly string[] {
  return [...findDuplicateFields(text)].sort().map((path) => `duplicate field ${JSON.stringify(path)}`)
}

function tryJson(text: string): Json | undefined {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

function parseJsonText(text: string): Json {
  assertDepth(text)
  try {
    return parseJson(text)
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw badRequest(`the body of the request is not valid JSON: ${why}`, thrown)
  }
}

/** YAML of one document; what JSON cannot say (dates, NaN) becomes what JSON.stringify makes of it. */
function parseYamlText(text: string): Json {
  try {
    const options = { maxAliasCount: 100, logLevel: 'error', uniqueKeys: false } as const
    const value: unknown = parseYaml(text, options) ?? null
    assertExpansion(value, { maxLength: maxExpandedLength, maxDepth })
    return JSON.parse(JSON.stringify(value)) as Json
  } catch (thrown) {
    if (thrown instanceof StatusError) throw thrown
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw badRequest(`the body of the request is not valid YAML: ${why}`, thrown)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (thrown) {
    throw badRequest('the body of the request is not valid UTF-8', thrown)
  }
}

/** Counts brackets outside of strings, in one pass; text that is not JSON is left to the parser. */
function assertDepth(text: string): void {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') index = endOfString(text, index)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth > maxDepth) throw badRequest(`the body of the request is nested more than ${maxDepth} levels deep`)
  }
}

/** The index of the closing quote, or the text's end; most strings hold no escape, and finding the quote takes no loop of ours. */
function endOfString(text: string, start: number): number {
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
