import { RE2JS } from 're2js'
import type { Directive } from '../../corefile/blocks.ts'
import { CorefileError } from '../../corefile/errors.ts'
import type { Token } from '../../corefile/lexer.ts'
import { badValue, locationOf, readPattern } from '../../corefile/values.ts'
import { readZone } from '../../corefile/zones.ts'
import { classCode, typeCode } from '../../wire/codes.ts'
import { nameText } from '../../wire/name.ts'
import type { AnswerRewrite, MatchKind, RewriteRule } from './settings.ts'

const kinds: readonly MatchKind[] = ['exact', 'prefix', 'suffix', 'substring', 'regex']
const maxTtl = 0x7fff_ffff

/** Reads `rewrite [continue|stop] name|type|class|ttl …`, or several lines between braces that make one rule. */
export function readRewrite(directive: Directive): RewriteRule {
  const words = [...directive.args, ...directive.options.flatMap(({ name, args }) => [name, ...args])]
  const [first] = words
  const next = first?.text === 'continue' || first?.text === 'stop' ? first.text : undefined
  const [field, ...args] = next === undefined ? words : words.slice(1)
  if (field === undefined) throw badValue(directive.name, 'rewrite FIELD FROM TO')
  const head = { location: locationOf(directive.name), next: next ?? 'stop' } as const
  switch (field.text) {
    case 'name':
      return { ...head, ...readNameRule(field, args) }
    case 'type':
      return { ...head, field: 'type', ...readCodes(field, args, typeCode) }
    case 'class':
      return { ...head, field: 'class', ...readCodes(field, args, classCode) }
    case 'ttl':
      return { ...head, ...readTtlRule(field, args) }
    default:
      throw new CorefileError('unknown-option', field, `rewrite: unknown field '${field.text}'`)
  }
}

function readCodes(field: Token, args: readonly Token[], code: (text: string) => number | undefined) {
  const [from, to] = expectArgs(field, args, 2, 2).map((token) => {
    const value = code(token.text)
    if (value === undefined) throw badValue(token, `a ${field.text}`)
    return value
  })
  return { from: from ?? 0, to: to ?? 0 }
}

/** Reads `name [exact|prefix|suffix|substring|regex] FROM TO [answer …]`. */
function readNameRule(field: Token, args: readonly Token[]) {
  const [kind, from, to, ...rest] = args.length === 2 ? [undefined, ...args] : expectArgs(field, args, 3)
  if (from === undefined || to === undefined) throw badValue(field, 'name [KIND] FROM TO')
  const match = kind === undefined ? 'exact' : readKind(kind)
  const { auto, answer } = readAnswerRules(
    field,
    rest.filter((token) => token !== undefined),
  )
  return {
    field: 'name' as const,
    match,
    ...readNamePair(match, from, to),
    auto: auto || match === 'exact',
    answer,
  }
}

function readNamePair(match: MatchKind, from: Token, to: Token): { from: string; to: string } {
  if (match === 'regex') return { from: readPattern(from), to: checkReplacement(from, to) }
  if (match === 'exact') return { from: nameText(readZone(from)), to: nameText(readZone(to)) }
  const whole = (text: string) => (match === 'suffix' && !text.endsWith('.') ? `${text}.` : text).toLowerCase()
  return { from: whole(from.text), to: whole(to.text) }
}

/** Checks that the groups `{0}`, `{1}` … of a replacement exist in the pattern. */
function checkReplacement(pattern: Token, replacement: Token): string {
  const groups = RE2JS.compile(pattern.text).groupCount()
  for (const [, number] of replacement.text.matchAll(/\{(\d+)\}/g)) {
    if (Number(number) > groups) throw badValue(replacement, `a group of the pattern, which has ${groups}`)
  }
  return replacement.text
}

/** Reads `answer auto`, `answer name PATTERN TO` and `answer value PATTERN TO`, each any number of times. */
function readAnswerRules(field: Token, args: readonly Token[]): { auto: boolean; answer: AnswerRewrite[] } {
  const answer: AnswerRewrite[] = []
  let auto = false
  for (let at = 0; at < args.length; ) {
    const [word, part, pattern, replacement] = args.slice(at, at + 4)
    if (word?.text !== 'answer' || part === undefined) throw badValue(word ?? field, 'answer auto|name|value')
    if (part.text === 'auto') {
      auto = true
      at += 2
      continue
    }
    if ((part.text !== 'name' && part.text !== 'value') || pattern === undefined || replacement === undefined) {
      throw badValue(part, 'auto, name PATTERN TO or value PATTERN TO')
    }
    const to = checkReplacement({ ...pattern, text: readPattern(pattern) }, replacement)
    answer.push({ part: part.text, pattern: pattern.text, replacement: to })
    at += 4
  }
  if (auto && answer.some(({ part }) => part === 'name')) {
    throw new CorefileError('conflict', field, 'rewrite: answer auto and answer name exclude each other')
  }
  return { auto, answer }
}

/** Reads `ttl [KIND] NAME SECONDS|MIN-MAX`. */
function readTtlRule(field: Token, args: readonly Token[]) {
  const [kind, from, seconds] = args.length === 2 ? [undefined, ...args] : expectArgs(field, args, 3, 3)
  if (from === undefined || seconds === undefined) throw badValue(field, 'ttl [KIND] NAME SECONDS')
  const match = kind === undefined ? 'exact' : readKind(kind)
  const [, single, low, high] = /^(?:(\d{1,10})|(\d{0,10})-(\d{0,10}))$/.exec(seconds.text) ?? []
  const min = Number(single ?? low ?? Number.NaN)
  const max = Number(single ?? (high === '' ? maxTtl : high) ?? Number.NaN)
  if (seconds.text === '-' || !(min <= max && max <= maxTtl)) throw badValue(seconds, 'SECONDS, MIN-MAX, MIN- or -MAX')
  return { field: 'ttl' as const, match, from: readNamePair(match, from, from).from, min, max }
}

function readKind(token: Token): MatchKind {
  const kind = kinds.find((known) => known === token.text.toLowerCase())
  if (kind === undefined) throw badValue(token, kinds.join(', '))
  return kind
}

function expectArgs(
  field: Token,
  args: readonly Token[],
  min: number,
  max = Number.POSITIVE_INFINITY,
): readonly Token[] {
  if (args.length >= min && args.length <= max) return args
  throw badValue(field, `FROM and TO after ${field.text}, found ${args.length} words`)
}
