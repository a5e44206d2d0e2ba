import type { Json } from '../../model/api-object.ts'
import { endOfString, parseFiniteJson } from '../exact-json.ts'
import type { FieldProblems } from '../request/request.ts'
import { badRequest } from '../status.ts'
import { jsonAsYamlProblems, jsonProblems } from './field-problems.ts'
import { maxDepth } from './limits.ts'

/** A decoded body, with the problems that only its text shows. */
export interface DecodedBody {
  readonly value: Json
  readonly problems: FieldProblems
}

/** Parses a JSON body. Throws a 400 for text that is not UTF-8, not JSON, or nested too deeply. */
export function parseJsonBody(bytes: Uint8Array): Json {
  return parseJsonText(decodeUtf8(bytes))
}

export function decodeJson(bytes: Uint8Array): DecodedBody {
  const text = decodeUtf8(bytes)
  return { value: parseJsonText(text), problems: jsonProblems(text) }
}

/** Decodes JSON that came as YAML; returns undefined for a text that is no JSON. */
export function tryDecodeJson(text: string): DecodedBody | undefined {
  try {
    return { value: parseJsonText(text), problems: jsonAsYamlProblems(text) }
  } catch {
    return undefined
  }
}

function parseJsonText(text: string): Json {
  assertDepth(text)
  try {
    return parseFiniteJson(text)
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw badRequest(`the body of the request is not valid JSON: ${why}`, thrown)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8; throws a 400 for other bytes. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (thrown) {
    throw badRequest('the body of the request is not valid UTF-8', thrown)
  }
}

/** Checks the depth: counts brackets outside of strings in one pass; the parser reports text that is not JSON. */
function assertDepth(text: string): void {
  if (text.length <= maxDepth) return
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') index = endOfString(text, index)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth > maxDepth) throw badRequest(`the body of the request is nested more than ${maxDepth} levels deep`)
  }
}
