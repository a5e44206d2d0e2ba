import { z } from 'zod'
import type { Json } from './api-object.ts'
import { PlatnetError } from './errors.ts'

/** One condition of a label selector; all conditions of a selector must hold. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt'
  /** Empty for `exists` and `absent`, one integer for `gt` and `lt`. */
  readonly values: readonly string[]
}

export type LabelSelector = readonly LabelRequirement[]

interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

export type FieldSelector = readonly FieldRequirement[]

export class SelectorError extends PlatnetError<'invalid-selector'> {
  constructor(message: string) {
    super('invalid-selector', message)
  }
}

/** Parses `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<2`; the empty text matches everything. Throws SelectorError. */
export function parseLabelSelector(text: string): LabelSelector {
  const reader = new TokenReader(tokenize(text), text)
  if (reader.peek() === undefined) return []
  const requirements = [parseRequirement(reader)]
  while (reader.peek() === ',') {
    reader.take()
    requirements.push(parseRequirement(reader))
  }
  if (reader.peek() !== undefined) reader.fail(`found '${reader.peek()}', expected: ',' or 'end of string'`)
  return requirements
}

export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every((requirement) => matchesRequirement(requirement, labelValue(labels, requirement.key)))
}

const expressionOperators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' } as const

/** Parses the selector of an object, `{matchLabels, matchExpressions}`. Undefined for any other value; an empty selector matches everything. */
export function readLabelSelector(value: Json): LabelSelector | undefined {
  const parsed = labelSelectorShape.safeParse(value)
  if (!parsed.success) return undefined
  const equal = Object.entries(parsed.data.matchLabels).map(([key, text]) => ({
    key,
    operator: 'in' as const,
    values: [text],
  }))
  return [...equal, ...parsed.data.matchExpressions]
}

const labelSelectorShape = z.object({
  matchLabels: z.record(z.string(), z.string()).default({}),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).transform((name) => expressionOperators[name]),
        values: z.array(z.string()).default([]),
      }),
    )
    .default([]),
})

/** Parses `metadata.name=web,spec.nodeName!=n1`; `\\`, `\,` and `\=` stand for the character itself. Throws SelectorError. */
export function parseFieldSelector(text: string): FieldSelector {
  return splitUnescaped(text, ',')
    .filter((term) => term !== '')
    .map(parseFieldTerm)
}

/** Tells whether all conditions hold; `readField` returns the field's text, `""` if the object has none. */
export function matchesFields(selector: FieldSelector, readField: (field: string) => string): boolean {
  return selector.every(({ field, operator, value }) => (readField(field) === value) === (operator === '='))
}

export function labelValue(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
}

function matchesRequirement(requirement: LabelRequirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
    case 'in':
      return value !== undefined && hasValue(requirement.values, value)
    case 'notin':
      return value === undefined || !hasValue(requirement.values, value)
    default:
      return matchesBound(requirement, value)
  }
}

/** Number of values beyond which a set is faster than a list. */
const longList = 16
const valueSets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Builds a lookup of the values once, because a selector is applied to many objects. */
function hasValue(values: readonly string[], value: string): boolean {
  if (values.length <= longList) return values.includes(value)
  const set = valueSets.get(values) ?? new Set(values)
  valueSets.set(values, set)
  return set.has(value)
}

function matchesBound(requirement: LabelRequirement, value: string | undefined): boolean {
  if (value === undefined || !integerText.test(value)) return false
  const bound = BigInt(requirement.values[0] ?? '0')
  return requirement.operator === 'gt' ? BigInt(value) > bound : BigInt(value) < bound
}

const integerText = /^[+-]?\d{1,19}$/
const tokenPattern = /==|!=|[=!><,()]|[^\s=!<>,()]+/g
const symbols = new Set(['==', '!=', '=', '!', '>', '<', ',', '(', ')'])

function tokenize(text: string): readonly string[] {
  return [...text.matchAll(tokenPattern)].map((match) => match[0])
}

class TokenReader {
  readonly #tokens: readonly string[]
  readonly #text: string
  #position = 0

  constructor(tokens: readonly string[], text: string) {
    this.#tokens = tokens
    this.#text = text
  }

  peek(): string | undefined {
    return this.#tokens[this.#position]
  }

  take(): string | undefined {
    return this.#tokens[this.#position++]
  }

  fail(problem: string): never {
    throw new SelectorError(`unable to parse requirement: ${problem} in '${this.#text}'`)
  }
}

function parseRequirement(reader: TokenReader): LabelRequirement {
  if (reader.peek() === '!') {
    reader.take()
    return { key: takeKey(reader), operator: 'absent', values: [] }
  }
  const key = takeKey(reader)
  const next = reader.peek()
  if (next === undefined || next === ',') return { key, operator: 'exists', values: [] }
  reader.take()
  return parseComparison(reader, key, next)
}

function parseComparison(reader: TokenReader, key: string, operator: string): LabelRequirement {
  switch (operator) {
    case '=':
    case '==':
      return { key, operator: 'in', values: [takeValue(reader)] }
    case '!=':
      return { key, operator: 'notin', values: [takeValue(reader)] }
    case '>':
    case '<':
      return { key, operator: operator === '>' ? 'gt' : 'lt', values: [takeInteger(reader)] }
    case 'in':
    case 'notin':
      return { key, operator, values: takeValueList(reader) }
    default:
      return reader.fail(`found '${operator}', expected: in, notin, =, ==, !=, >, <`)
  }
}

function takeKey(reader: TokenReader): string {
  const key = reader.take()
  if (key === undefined || symbols.has(key)) reader.fail(`found '${key ?? ''}', expected: !, identifier`)
  if (!isQualifiedName(key)) reader.fail(`${JSON.stringify(key)} is not a valid label key`)
  return key
}

function takeValue(reader: TokenReader): string {
  const next = reader.peek()
  if (next === undefined || next === ',' || next === ')') return ''
  if (symbols.has(next)) reader.fail(`found '${next}', expected: identifier`)
  if (!isLabelValue(next)) reader.fail(`${JSON.stringify(next)} is not a valid label value`)
  reader.take()
  return next
}

function takeInteger(reader: TokenReader): string {
  const value = takeValue(reader)
  if (!integerText.test(value)) reader.fail('for > and < operators, the value must be an integer')
  return value
}

function takeValueList(reader: TokenReader): readonly string[] {
  if (reader.take() !== '(') reader.fail("expected: '('")
  const values = [takeValue(reader)]
  while (reader.peek() === ',') {
    reader.take()
    values.push(takeValue(reader))
  }
  if (reader.take() !== ')') reader.fail("expected: ',' or ')'")
  return values
}

/** `[prefix/]name`: a DNS subdomain of at most 253 characters, and a name of at most 63. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash === -1) return isNamePart(text)
  return isNamePart(text.slice(slash + 1)) && isDnsSubdomain(text.slice(0, slash))
}

function isNamePart(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(text)
}

/** RFC 1123 subdomain: labels of lower-case letters, digits and `-`, joined by dots; at most 253 characters. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)
}

export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/.test(text)
}

function parseFieldTerm(term: string): FieldRequirement {
  const match = /^([^=!\\]+)(==|!=|=)(.*)$/s.exec(term)
  const [, field = '', operator, value = ''] = match ?? []
  if (match === null) throw new SelectorError(`invalid selector: '${term}'; can't understand '${term}'`)
  return { field: field.trim(), operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value, term) }
}

function unescapeValue(value: string, term: string): string {
  if (/(^|[^\\])(\\\\)*=/.test(value))
    throw new SelectorError(`invalid selector: '${term}'; unescaped '=' in the value`)
  if (/(^|[^\\])(\\\\)*\\([^\\,=]|$)/.test(value)) throw new SelectorError(`invalid selector: '${term}'; bad escape`)
  return value.replaceAll(/\\([\\,=])/g, '$1')
}

function splitUnescaped(text: string, separator: string): readonly string[] {
  const parts: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === separator) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)]
}
