import { DnsFormatError } from '../../wire/errors.ts'

/** The values that a template may name. */
export interface TemplateData {
  /** The question's name in lower case, with its final dot. */
  readonly name: string
  readonly zone: string
  readonly class: string
  readonly type: string
  /** The pattern that matched, the whole match and its groups, by number and by name. */
  readonly pattern: string
  readonly match: readonly string[]
  readonly groups: Readonly<Record<string, string>>
  readonly remote: string
  readonly question: { readonly name: string; readonly type: number; readonly class: number; readonly id: number }
}

/** Fills the template in. Throws DnsFormatError where the question does not have what the template names. */
export type CompiledTemplate = (data: TemplateData) => string

type Value = string | number | readonly string[] | Readonly<Record<string, string>>
type Expression = (data: TemplateData) => Value

const fields: Readonly<Record<string, Expression>> = {
  '.Name': (data) => data.name,
  '.Zone': (data) => data.zone,
  '.Class': (data) => data.class,
  '.Type': (data) => data.type,
  '.Remote': (data) => data.remote,
  '.Regex': (data) => data.pattern,
  '.Match': (data) => data.match,
  '.Group': (data) => data.groups,
  '.Question.Name': (data) => data.question.name,
  '.Question.Qtype': (data) => data.question.type,
  '.Question.Qclass': (data) => data.question.class,
  '.Message.Id': (data) => data.question.id,
}

/**
 * Compiles a text with actions in `{{ }}`: fields, `index`, `parseInt`, `print`, `len`, pipelines and parentheses, which is the part of Go's
 * templates that records need. `{{-` and `-}}` trim the blanks beside them, and comments are dropped. Returns undefined for anything else.
 */
export function compileTemplate(text: string): CompiledTemplate | undefined {
  const parts: CompiledTemplate[] = []
  let rest = text
  for (let open = rest.indexOf('{{'); open !== -1; open = rest.indexOf('{{')) {
    const end = endOfAction(rest, open + 2)
    if (end === -1) return undefined
    const inner = rest.slice(open + 2, end)
    const [trimsBefore, trimsAfter] = [/^-\s/.test(inner), /\s-$/.test(inner)]
    const compiled = compileAction(inner.slice(trimsBefore ? 1 : 0, trimsAfter ? -1 : undefined).trim())
    if (compiled === undefined) return undefined
    const before = rest.slice(0, open)
    const literal = trimsBefore ? before.trimEnd() : before
    parts.push(() => literal, compiled)
    rest = rest.slice(end + 2)
    if (trimsAfter) rest = rest.trimStart()
  }
  const tail = rest
  return (data) => parts.map((part) => part(data)).join('') + tail
}

/** Returns the offset of the `}}` that ends the action, or -1. Quoted text does not end it. */
function endOfAction(text: string, from: number): number {
  let quote = ''
  for (let at = from; at < text.length; at++) {
    const character = text[at] ?? ''
    if (quote === '"' && character === '\\') at += 1
    else if (quote !== '') quote = character === quote ? '' : quote
    else if (character === '"' || character === '`') quote = character
    else if (text.startsWith('}}', at)) return at
  }
  return -1
}

function compileAction(action: string): CompiledTemplate | undefined {
  if (/^\/\*.*\*\/$/s.test(action)) return () => ''
  const tokens = action.match(/"(?:[^"\\]|\\.)*"|`[^`]*`|[()|]|[^\s()|"`]+/g) ?? []
  const words = [...tokens]
  const expression = readPipeline(words)
  return expression === undefined || words.length > 0 ? undefined : (data) => textOf(expression(data))
}

/** Reads `COMMAND | COMMAND …`: each value is the last argument of the next command. Removes its words from the front. */
function readPipeline(words: string[]): Expression | undefined {
  let current = readCommand(words)
  while (current !== undefined && words[0] === '|') {
    words.shift()
    current = readCommand(words, current)
  }
  return current
}

/** Reads a value, or a function with its arguments. */
function readCommand(words: string[], piped?: Expression): Expression | undefined {
  const name = words[0] ?? ''
  if (!Object.hasOwn(functions, name)) return piped === undefined ? readOperand(words) : undefined
  words.shift()
  const args: Expression[] = []
  while (words.length > 0 && words[0] !== '|' && words[0] !== ')') {
    const operand = readOperand(words)
    if (operand === undefined) return undefined
    args.push(operand)
  }
  const all = piped === undefined ? args : [...args, piped]
  const { arity, call } = functions[name] ?? { arity: -1, call: () => '' }
  return all.length === arity || arity === anyNumber ? (data) => call(all.map((arg) => arg(data))) : undefined
}

function readOperand(words: string[]): Expression | undefined {
  const word = words.shift() ?? ''
  if (word === '(') {
    const inner = readPipeline(words)
    return words.shift() === ')' ? inner : undefined
  }
  if (Object.hasOwn(fields, word)) return fields[word]
  const group = /^\.Group\.(\w+)$/.exec(word)?.[1]
  if (group !== undefined) return (data) => elementOf(data.groups, group)
  const literal = literalOf(word)
  return literal === undefined ? undefined : () => literal
}

function literalOf(word: string): Value | undefined {
  if (/^\d{1,9}$/.test(word)) return Number(word)
  if (/^`.*`$/s.test(word)) return word.slice(1, -1)
  if (!/^".*"$/s.test(word)) return undefined
  try {
    return JSON.parse(word) as string
  } catch {
    return undefined
  }
}

const anyNumber = Number.POSITIVE_INFINITY

const functions: Readonly<
  Record<string, { readonly arity: number; readonly call: (args: readonly Value[]) => Value }>
> = {
  index: { arity: 2, call: ([of = '', key = '']) => elementOf(of, key) },
  len: { arity: 1, call: ([of = '']) => (typeof of === 'object' ? Object.keys(of).length : textOf(of).length) },
  parseInt: { arity: 3, call: ([text = '', base, bits]) => parseUnsigned(textOf(text), Number(base), Number(bits)) },
  print: { arity: anyNumber, call: (args) => args.map(textOf).join('') },
}

function elementOf(of: Value, key: Value): string {
  const found =
    typeof of === 'object' && Object.hasOwn(of, key as string) ? (of as Record<string, string>)[`${key}`] : undefined
  if (found === undefined) throw new DnsFormatError('text', `a template names ${key}, which the match does not have`)
  return found
}

/** Parses a number like Go's `strconv.ParseUint`, without prefixes for the base. */
function parseUnsigned(text: string, base: number, bits: number): string {
  const digits = text.toLowerCase()
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base)
  const isNumber = digits !== '' && [...digits].every((digit) => alphabet.includes(digit))
  const value = isNumber
    ? [...digits].reduce((sum, digit) => sum * BigInt(base) + BigInt(alphabet.indexOf(digit)), 0n)
    : -1n
  if (value < 0n || value >= 1n << BigInt(bits === 0 ? 64 : bits)) {
    throw new DnsFormatError('text', `a template reads ${text} as a number of base ${base} and ${bits} bits`)
  }
  return value.toString()
}

function textOf(value: Value): string {
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `[${value.join(' ')}]`
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `map[${pairs.map(([key, text]) => `${key}:${text}`).join(' ')}]`
}
