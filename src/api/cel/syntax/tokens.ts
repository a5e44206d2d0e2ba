import { maxProblems, type Problem } from './source.ts'

/** The kind of a token; each keyword and each operator is a kind of its own. */
type TokenKind =
  | 'IDENTIFIER'
  | 'NUM_INT'
  | 'NUM_UINT'
  | 'NUM_FLOAT'
  | 'STRING'
  | 'BYTES'
  | 'ESC_IDENTIFIER'
  | '<EOF>'
  | string

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly offset: number
}

const escaped = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`
const quoted = ['"', "'"].flatMap((quote) => [
  `[rR]${quote.repeat(3)}[\\s\\S]*?${quote.repeat(3)}`,
  `[rR]${quote}[^${quote}\\n\\r]*${quote}`,
  `${quote.repeat(3)}(?:${escaped}|[^\\\\])*?${quote.repeat(3)}`,
  `${quote}(?:${escaped}|[^\\\\${quote}\\n\\r])*${quote}`,
])
const text = `(?:${quoted.join('|')})`

const patterns: readonly (readonly [kind: TokenKind, pattern: RegExp])[] = [
  ['', /[\t \r\n\f]+|\/\/[^\n]*/y],
  ['BYTES', new RegExp(`[bB]${text}`, 'y')],
  ['STRING', new RegExp(text, 'y')],
  ['IDENTIFIER', /[A-Za-z_]\w*/y],
  ['NUM_FLOAT', /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y],
  ['NUM_UINT', /(?:0x[\da-fA-F]+|\d+)[uU]/y],
  ['NUM_INT', /0x[\da-fA-F]+|\d+/y],
  ['ESC_IDENTIFIER', /`[\w.\-/ ]+`/y],
  ['sign', /==|!=|<=|>=|&&|\|\||[<>[\](){}.,\-!?:+*/%]/y],
]
const keywords = new Set(['in', 'true', 'false', 'null'])
/** Matches an unterminated string, up to the character where it cannot be one. */
const brokenText = new RegExp(`[bB]?[rR]?(["'])(?:${escaped}|(?!\\1)[^\\\\\\n\\r])*(?:\\\\[\\s\\S]?|[\\n\\r])?`, 'y')
const brokenSign = /[&|=][\s\S]?|[\s\S]/uy

function match(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(source)?.[0]
}

/** Splits an expression into tokens, `<EOF>` last, and returns the characters that belong to none. */
export function tokenize(source: string): { readonly tokens: readonly Token[]; readonly problems: readonly Problem[] } {
  const tokens: Token[] = []
  const problems: Problem[] = []
  let offset = 0
  while (offset < source.length && problems.length <= maxProblems) {
    const token = tokenAt(source, offset)
    if (token === undefined) {
      const broken = match(brokenText, source, offset) ?? match(brokenSign, source, offset) ?? ''
      const shown = broken.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
      problems.push({ offset, text: `Syntax error: token recognition error at: '${shown}'` })
      offset += broken.length
      continue
    }
    if (token.kind !== '') tokens.push(token)
    offset += token.text.length
  }
  tokens.push({ kind: '<EOF>', text: '<EOF>', offset: source.length })
  return { tokens, problems }
}

function tokenAt(source: string, offset: number): Token | undefined {
  for (const [kind, pattern] of patterns) {
    const found = match(pattern, source, offset)
    if (found === undefined) continue
    const isNamed = kind === 'sign' || (kind === 'IDENTIFIER' && keywords.has(found))
    return { kind: isNamed ? found : kind, text: found, offset }
  }
  return undefined
}
