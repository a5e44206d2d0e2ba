import { parse as parseYamlText } from 'yaml'
import type { Json } from '../../model/api-object.ts'
import { badRequest } from '../status.ts'

/** Deeper than any object of ours, shallow enough that recursion over a body never overflows the stack. */
const maxDepth = 1_000

/** Throws a 400 for text that is not UTF-8, not JSON, or nested too deeply. */
export function parseJsonBody(bytes: Uint8Array): Json {
  return parseJsonText(decodeUtf8(bytes))
}

/** kubectl sends JSON where YAML is asked for, and JSON is read much faster; YAML's own braces look the same at first. */
function isJson(text: string): boolean {
  return text.startsWith('{"') && text.trimEnd().endsWith('}')
}

function parseJsonText(text: string): Json {
  assertDepth(text)
  try {
    return JSON.parse(text) as Json
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw badRequest(`the body of the request is not valid JSON: ${why}`, thrown)
  }
}

/** YAML of one document; what JSON cannot say (dates, NaN) becomes what JSON.stringify makes of it. */
export function parseYamlBody(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes)
  try {
    if (isJson(text)) return parseJsonText(text)
    return JSON.parse(JSON.stringify(parseYamlText(text, { maxAliasCount: 100, logLevel: 'error' }) ?? null)) as Json
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw badRequest(`the body of the request is not valid YAML: ${why}`, thrown)
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
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

/** The index of the closing quote, or the text's end. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
