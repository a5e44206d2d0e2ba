import { RE2JS } from 're2js'
import { parseGoDuration } from '../../../model/go-duration.ts'
import type { Directive } from './blocks.ts'
import { CorefileError, type SourceLocation } from './errors.ts'
import type { Token } from './lexer.ts'

export function locationOf({ file, line }: Token): SourceLocation {
  return { file, line }
}

export function badValue(token: Token, expected: string): CorefileError {
  return new CorefileError('bad-value', token, `${token.text === '' ? '""' : token.text}: expected ${expected}`)
}

/** The longest delay of a timer; a longer one would fire at once. */
const maxTimerMs = 0x7fff_ffff
/** The longest duration of Go, 64 bits of nanoseconds. */
const maxDurationMs = 2 ** 63 / 1e6

/** Reads a duration in Go's form that has no minus: `5s`, `1m30s`, `.5s`, `+100ms`, `0`. Returns milliseconds. */
export function readDuration(token: Token, { min = 0, max = maxDurationMs } = {}): number {
  const ms = token.text.startsWith('-') ? undefined : parseGoDuration(token.text)
  if (typeof ms !== 'number' || ms < min || ms > max)
    throw badValue(token, `a duration like 5s${boundsText(min, max, 'ms')}`)
  return ms
}

/** Reads a duration that a timer waits for: `minMs` at least, and no longer than a timer can wait. */
export function readWait(token: Token, { minMs = 0 } = {}): number {
  return Math.min(maxTimerMs, Math.max(minMs, readDuration(token)))
}

const maxInteger = 0x7fff_ffff

/** Reads a whole number. One beyond 31 bits becomes 2^31 - 1 where no bound is given. */
export function readInteger(token: Token, { min = 0, max = Number.POSITIVE_INFINITY } = {}): number {
  const value = /^\+?\d{1,19}$/.test(token.text) ? Number(token.text) : Number.NaN
  if (!(value >= min && value <= max)) throw badValue(token, `a number${boundsText(min, max, '')}`)
  return Math.min(value, maxInteger)
}

function boundsText(min: number, max: number, unit: string): string {
  const low = min > 0 ? ` of ${min}${unit} at least` : ''
  return max < maxDurationMs ? `${low} of ${max}${unit} at most` : low
}

export function readChoice<Choice extends string>(token: Token, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === token.text)
  if (found === undefined) throw badValue(token, choices.join(', '))
  return found
}

/** Reads a number with or without a fraction that is not negative. */
export function readNumber(token: Token): number {
  const value = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(token.text) ? Number(token.text) : Number.NaN
  if (!Number.isFinite(value)) throw badValue(token, 'a number of 0 at least')
  return value
}

/** Reads a regular expression (RE2) and checks that it compiles. */
export function readPattern(token: Token): string {
  try {
    RE2JS.compile(token.text)
    return token.text
  } catch (cause) {
    throw new CorefileError('bad-value', token, `${token.text}: not a regular expression (RE2)`, { cause })
  }
}

/** Returns the arguments. Throws CorefileError where there are not from `min` to `max`. */
export function readArgs(directive: Directive, min: number, max = min): readonly Token[] {
  const { args, name } = directive
  if (args.length >= min && args.length <= max) return args
  const wanted = min === max ? `${min}` : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`
  throw new CorefileError('bad-value', name, `${name.text}: expected ${wanted} arguments, found ${args.length}`)
}

/** Returns the arguments, of which there is one at least. */
export function readManyArgs(directive: Directive): readonly Token[] {
  return readArgs(directive, 1, Number.POSITIVE_INFINITY)
}

/** Returns the only argument. */
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

/** Reads an option. Returns the settings that it changes; `before` has what earlier options said. */
type OptionReader<Settings> = (option: Directive, before: Settings) => Partial<Settings>

/** An option that may be repeated: what `read` returns is added to the list of the settings. */
export type ListOption<Settings> = {
  readonly [Key in keyof Settings]-?: Settings[Key] extends readonly (infer Item)[]
    ? { readonly list: Key; readonly read: (option: Directive) => readonly Item[] }
    : never
}[keyof Settings]

/** How each option is read, by its name. */
export type OptionReaders<Settings> = Readonly<Record<string, OptionReader<Settings> | ListOption<Settings>>>

/** Reads an option without arguments, which changes the settings to these. */
export function flagOption<Change>(change: Change): (option: Directive) => Change {
  return (option) => {
    readArgs(option, 0)
    return change
  }
}

/** Reads each option with the reader of its name, in the order in which they are written. Returns the settings that result. */
export function readOptions<Settings extends object>(
  directive: Directive,
  defaults: NoInfer<Settings>,
  readers: OptionReaders<Settings>,
): Settings {
  const settings = { ...defaults }
  const lists = new Map<PropertyKey, unknown[]>()
  for (const option of directive.options) {
    const reader = Object.hasOwn(readers, option.name.text) ? readers[option.name.text] : undefined
    if (reader === undefined) throw unknownOption(option, directive.name.text)
    if (typeof reader === 'function') Object.assign(settings, reader(option, settings))
    else addToList(lists, reader, option)
  }
  return Object.assign(settings, Object.fromEntries(lists))
}

/** Lists grow in place: a Corefile may have 100,000 options that add to one. */
function addToList(lists: Map<PropertyKey, unknown[]>, reader: AnyListOption, option: Directive): void {
  const list = lists.get(reader.list) ?? []
  for (const item of reader.read(option)) list.push(item)
  lists.set(reader.list, list)
}

interface AnyListOption {
  readonly list: PropertyKey
  readonly read: (option: Directive) => readonly unknown[]
}
