import {
  boolYaml11Tag,
  CORE_SCHEMA,
  constructFromEvents,
  defineScalarTag,
  EVENT_ID,
  type Event,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  YAMLException,
} from 'js-yaml'
import { exactNumber } from '../exact-json.ts'
import { badRequest, StatusError } from '../status.ts'
import { assertExpansion } from './expanded-size.ts'
import { maxDepth, maxExpandedLength, maxStrictErrors } from './limits.ts'
import { findRepeatedKeys } from './yaml-keys.ts'

/** The content of a YAML text: the JSON of its document, and an error text for each duplicate key. */
export interface YamlReading {
  readonly json: string
  readonly duplicates: readonly string[]
}

/** The integer tag, as Go's YAML parser reads it: 0644 is octal, `_` groups digits. A number beyond 2^53 keeps its digits. */
const integerTag = defineScalarTag<unknown>('tag:yaml.org,2002:int', {
  implicit: true,
  implicitFirstChars: [...'+-0123456789'],
  resolve: (source) => resolveInteger(source) ?? NOT_RESOLVED,
  identify: () => false,
})

const digits = /^[-+]?(?:0[bB][01]+|0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0|[1-9]\d*)$/

function resolveInteger(source: string): unknown {
  const plain = source.replaceAll('_', '')
  if (!digits.test(plain)) return undefined
  const magnitude = plain.replace(/^[-+]/, '').replace(/^0(?=\d)/, '0o')
  const isNegative = plain.startsWith('-')
  const number = Number(magnitude) * (isNegative ? -1 : 1)
  if (Number.isSafeInteger(number) || plain.length > maxIntegerLength) return number
  return exactNumber(`${isNegative ? '-' : ''}${BigInt(magnitude)}`)
}

/** The length limit of an integer, longer than 64 bits in base 2; converting a number takes more than linear time. */
const maxIntegerLength = 70

/** The YAML schema: 1.2 with the parts of 1.1 that Kubernetes' parser accepts: yes, no, on, off, octal numbers and `<<`. Times stay texts. */
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, integerTag, mergeTag)

/**
 * Reads a text of one YAML document in time proportional to its length. Empty documents before and after it are skipped. Throws a 400, or a
 * 413 where aliases make the value too long.
 */
export function readYaml(text: string): YamlReading {
  try {
    const events = soleDocument(parseEvents(text, { maxDepth }))
    const [value = null] = constructFromEvents(events, { source: text, schema, json: true })
    assertExpansion(value, { maxLength: maxExpandedLength, maxDepth })
    return { json: JSON.stringify(value), duplicates: findRepeatedKeys(text, events, maxStrictErrors) }
  } catch (thrown) {
    if (thrown instanceof StatusError) throw thrown
    throw badRequest(`the body of the request is not valid YAML: ${problemOf(thrown)}`, thrown)
  }
}

/** Returns the error of a text in one line. */
function problemOf(thrown: unknown): string {
  if (thrown instanceof YAMLException && thrown.mark !== undefined)
    return `line ${thrown.mark.line + 1}: ${thrown.reason}`
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** Returns the only document with content; `---` at the beginning or the end makes empty ones. */
function soleDocument(events: Event[]): Event[] {
  const starts = events.flatMap(({ type }, index) => (type === EVENT_ID.DOCUMENT ? [index] : []))
  const documents = starts.map((start, index) => events.slice(start, starts[index + 1]))
  const [first, second] = documents.filter((document) => document.some(isContent))
  if (second !== undefined) throw new Error('it holds more than one document, expected one')
  return first ?? []
}

function isContent(event: Event): boolean {
  if (event.type === EVENT_ID.SCALAR) return event.valueEnd > event.valueStart
  return event.type !== EVENT_ID.DOCUMENT && event.type !== EVENT_ID.POP
}
