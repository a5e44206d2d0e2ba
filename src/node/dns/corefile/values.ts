import { RE2JS } from 're2js'
import type { Directive } from './blocks.ts'
import { CorefileError, type Place } from './errors.ts'
import type { Token } from './lexer.ts'

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

export function placeOf({ file, line }: Token): Place {
  return { file, line }
}

export function badValue(token: Token, expected: string): CorefileError {
  return new CorefileError('bad-value', token, `${token.text === '' ? '""' : token.text}: expected ${expected}`)
}

/** A duration as Go writes it: `5s`, `1m30s`, `100ms`, `0`; milliseconds. */
export function readDuration(token: Token, { min = 0, max = Number.POSITIVE_INFINITY } = {}): number {
  const parts = [...token.text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)]
  const isWhole = token.text === '0' || (parts.length > 0 && parts.map(([part]) => part).join('') === token.text)
  const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (unitMs[unit ?? ''] ?? 0), 0)
  if (!isWhole || ms < min || ms > max) throw badValue(token, `a duration like 5s${boundsText(min, max, 'ms')}`)
  return ms
}

export function readInteger(token: Token, { min = 0, max = 0x7fff_ffff } = {}): number {
  const value = /^\d{1,10}$/.test(token.text) ? Number(token.text) : Number.NaN
  if (!(value >= min && value <= max)) throw badValue(token, `a number${boundsText(min, max, '')}`)
  return value
}

function boundsText(min: number, max: number, unit: string): string {
  const low = min > 0 ? ` of ${min}${unit} at least` : ''
  return Number.isFinite(max) && max < 0x7fff_ffff ? `${low} of ${max}${unit} at most` : low
}

export function readChoice<Choice extends string>(token: Token, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === token.text)
  if (found === undefined) throw badValue(token, choices.join(', '))
  return found
}

/** RE2, checked. */
export function readPattern(token: Token): string {
  try {
    RE2JS.compile(token.text)
    return token.text
  } catch (cause) {
    throw new CorefileError('bad-value', token, `${token.text}: not a regular expression (RE2)`, { cause })
  }
}

/** The arguments, of which there must be so many. */
export function readArgs(directive: Directive, min: number, max = min): readonly Token[] {
  const { args, name } = directive
  if (args.length >= min && args.length <= max) return args
  const wanted = min === max ? `${min}` : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`
  throw new CorefileError('bad-value', name, `${name.text}: expected ${wanted} arguments, found ${args.length}`)
}

/** The only argument. */
export function readArg(directive: Directive): Token {
  return readArgs(directive, 1)[0] ?? directive.name
}

export function refuseOptions({ options, name }: Directive): void {
  const [option] = options
  if (option !== undefined) throw unknownOption(option, name.text)
}

export function unknownOption({ name }: Directive, directive: string): CorefileError {
  return new CorefileError('unknown-option', name, `${directive}: unknown option '${name.text}'`)
}

/** Hands each option to the reader of its name. */
export function readOptions(
  directive: Directive,
  readers: Readonly<Record<string, (option: Directive) => void>>,
): void {
  for (const option of directive.options) {
    const read = Object.hasOwn(readers, option.name.text) ? readers[option.name.text] : undefined
    if (read === undefined) throw unknownOption(option, directive.name.text)
    read(option)
  }
}
