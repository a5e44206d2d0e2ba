import type { Literal } from '../values/values.ts'
import { call, type Expr, ident, type ListItem, literal, type MapEntry } from './expr.ts'
import { readBytes, readDouble, readInt, readText, readUint } from './literals.ts'
import { expandMacro, type MacroSet } from './macros.ts'
import { maxProblems, type Problem } from './source.ts'
import { type Token, tokenize } from './tokens.ts'

const maxDepth = 250
const maxCodePoints = 100_000
/** The tokens that can begin an expression, in the order in which ANTLR names them. */
const startSigns = '[ ] { } ( ) . , - ! ? true false null'.split(' ')
const startKinds = 'NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER'
const starts = new Set('[ { ( . - ! true false null NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER'.split(' '))
/** The tokens that can follow a closing bracket. */
const afterBracket = new Set('== != in < <= >= > && || [ ] { } ) . , - ? : + * / % <EOF>'.split(' '))
const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
)
/** The comparison operators. All have one precedence and associate to the left. */
const relations: Readonly<Record<string, string>> = {
  '<': '_<_',
  '<=': '_<=_',
  '>=': '_>=_',
  '>': '_>_',
  '==': '_==_',
  '!=': '_!=_',
  in: '@in',
}
const sums: Readonly<Record<string, string>> = { '+': '_+_', '-': '_-_' }
const products: Readonly<Record<string, string>> = { '*': '_*_', '/': '_/_', '%': '_%_' }

/** Ends parsing at the first token that is invalid at its position. */
class SyntaxProblem extends Error {
  readonly problem: Problem

  constructor(offset: number | undefined, text: string) {
    super(text)
    this.problem = { offset, text }
  }
}

export type Parsed = { readonly expr: Expr } | { readonly problems: readonly Problem[] }

/** Parses a CEL expression as cel-go does, and expands macros. */
export function parseExpression(source: string, macros: MacroSet): Parsed {
  const size = [...source].length
  if (size > maxCodePoints) {
    const text = `expression code point size exceeds limit: size: ${size}, limit ${maxCodePoints}`
    return { problems: [{ offset: undefined, text }] }
  }
  return new Parser(source, macros).parse()
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #problems: Problem[]
  readonly #macros: MacroSet
  #position = 0
  #depth = 0
  /** The other tokens that are valid at a position just after an opening bracket. */
  #opening: { readonly position: number; readonly signs: readonly string[] } = { position: -1, signs: [] }

  constructor(source: string, macros: MacroSet) {
    const { tokens, problems } = tokenize(source)
    this.#tokens = tokens
    this.#problems = [...problems]
    this.#macros = macros
  }

  parse(): Parsed {
    if (this.#problems.length > maxProblems) return { problems: this.#problems }
    try {
      const expr = this.#expression()
      if (this.#next.kind !== '<EOF>') throw this.#unexpected('<EOF>')
      return this.#problems.length === 0 ? { expr } : { problems: this.#problems }
    } catch (thrown) {
      if (!(thrown instanceof SyntaxProblem)) throw thrown
      return { problems: [...this.#problems, thrown.problem] }
    }
  }

  get #next(): Token {
    return this.#at(0)
  }

  #at(distance: number): Token {
    const last = this.#tokens.length - 1
    return this.#tokens[Math.min(this.#position + distance, last)] as Token
  }

  #take(): Token {
    const token = this.#next
    this.#position++
    return token
  }

  #takeIf(kind: string): Token | undefined {
    return this.#next.kind === kind ? this.#take() : undefined
  }

  #expect(kind: string): Token {
    const token = this.#takeIf(kind)
    if (token !== undefined) return token
    return this.#recover(kind)
  }

  /** Recovers like ANTLR: a superfluous token is left out, a missing one is inserted. */
  #recover(kind: string): Token {
    const { text, offset, kind: found } = this.#next
    if (this.#at(1).kind === kind) {
      this.#problems.push(this.#unexpected(`'${kind}'`, true).problem)
      this.#take()
      return this.#take()
    }
    const canFollow = kind === ':' ? starts.has(found) : afterBracket.has(found)
    if (!canFollow) throw this.#unexpected(`'${kind}'`, false)
    this.#problems.push({ offset, text: `Syntax error: missing '${kind}' at '${text}'` })
    return { kind, text: kind, offset }
  }

  #unexpected(expected: string, isExtra = this.#at(1).kind === expected): SyntaxProblem {
    const { text, offset } = this.#next
    const what = isExtra ? 'extraneous' : 'mismatched'
    return new SyntaxProblem(offset, `Syntax error: ${what} input '${text}' expecting ${expected}`)
  }

  /** Limits the depth of an expression, because the code that processes it recurses. */
  #nested<T>(parse: () => T): T {
    this.#enter()
    const result = parse()
    this.#depth--
    return result
  }

  #enter(): void {
    if (++this.#depth > maxDepth) {
      throw new SyntaxProblem(undefined, `expression recursion limit exceeded: ${maxDepth}`)
    }
  }

  #expression(): Expr {
    return this.#nested(() => {
      const condition = this.#logical('||', '_||_', () => this.#conjunction())
      const mark = this.#takeIf('?')
      if (mark === undefined) return condition
      const then = this.#logical('||', '_||_', () => this.#conjunction())
      this.#expect(':')
      return call(mark.offset, '_?_:_', condition, then, this.#expression())
    })
  }

  #conjunction(): Expr {
    return this.#logical('&&', '_&&_', () => this.#binary(relations, () => this.#sum()))
  }

  /** Builds a balanced tree from a chain of `&&` or `||`, so that a long chain is not deep. */
  #logical(sign: string, name: string, term: () => Expr): Expr {
    const terms = [term()]
    const offsets: number[] = []
    for (let token = this.#takeIf(sign); token !== undefined; token = this.#takeIf(sign)) {
      offsets.push(token.offset)
      terms.push(term())
    }
    const balance = (low: number, high: number): Expr => {
      if (low === high) return terms[low] as Expr
      const middle = Math.floor((low + high + 1) / 2)
      return call(offsets[middle - 1] ?? 0, name, balance(low, middle - 1), balance(middle, high))
    }
    return balance(0, terms.length - 1)
  }

  #sum(): Expr {
    return this.#binary(sums, () => this.#binary(products, () => this.#unary()))
  }

  #binary(names: Readonly<Record<string, string>>, operand: () => Expr): Expr {
    let left = operand()
    const depth = this.#depth
    while (Object.hasOwn(names, this.#next.kind)) {
      this.#enter()
      const { kind, offset } = this.#take()
      left = call(offset, names[kind] ?? kind, left, operand())
    }
    this.#depth = depth
    return left
  }

  #unary(): Expr {
    const first = this.#next
    if (first.kind !== '!' && first.kind !== '-') return this.#member(this.#primary())
    if (first.kind === '-' && this.#at(1).kind.startsWith('NUM_') && this.#at(1).kind !== 'NUM_UINT') {
      this.#take()
      return this.#member(this.#number(first.offset, true))
    }
    let count = 0
    while (this.#takeIf(first.kind) !== undefined) count++
    const operand = this.#member(this.#primary())
    return count % 2 === 0 ? operand : call(first.offset, `${first.kind}_`, operand)
  }

  #member(primary: Expr): Expr {
    let expr = primary
    const depth = this.#depth
    for (;;) {
      const { kind, offset } = this.#next
      if (kind !== '.' && kind !== '[') break
      this.#enter()
      this.#take()
      expr = kind === '.' ? this.#selection(expr, offset) : this.#index(expr, offset)
    }
    this.#depth = depth
    return expr
  }

  #index(operand: Expr, offset: number): Expr {
    this.#open('?')
    const name = this.#takeIf('?') === undefined ? '_[_]' : '_[?_]'
    const index = this.#expression()
    this.#expect(']')
    return call(offset, name, operand, index)
  }

  #selection(operand: Expr, offset: number): Expr {
    const isOptional = this.#takeIf('?') !== undefined
    const name = this.#takeIf('ESC_IDENTIFIER') ?? this.#fieldName(isOptional)
    if (name.kind === 'ESC_IDENTIFIER') this.#problems.push({ offset: name.offset, text: "unsupported syntax: '`'" })
    if (isOptional) return call(offset, '_?._', operand, literal(name.offset, name.text))
    const open = this.#takeIf('(')
    if (open === undefined) return { kind: 'select', offset, operand, field: name.text, isTest: false }
    return this.#call(open.offset, name.text, operand, this.#arguments())
  }

  #fieldName(isOptional: boolean): Token {
    const token = this.#takeIf('IDENTIFIER')
    if (token !== undefined) return token
    const text = this.#next.kind === '<EOF>' ? '' : this.#next.text
    throw new SyntaxProblem(
      this.#next.offset,
      `Syntax error: no viable alternative at input '.${isOptional ? '?' : ''}${text}'`,
    )
  }

  #arguments(): readonly Expr[] {
    const args: Expr[] = []
    this.#open(')')
    if (this.#takeIf(')') !== undefined) return args
    do args.push(this.#expression())
    while (this.#takeIf(',') !== undefined)
    this.#expect(')')
    return args
  }

  #call(offset: number, name: string, target: Expr | undefined, args: readonly Expr[]): Expr {
    const plain: Expr = { kind: 'call', offset, name, target, args }
    const expanded = expandMacro(plain, this.#macros)
    if (!('problem' in expanded)) return expanded.expr
    this.#problems.push(expanded.problem)
    return plain
  }

  #primary(): Expr {
    const token = this.#next
    switch (token.kind) {
      case '(':
        return this.#parenthesis()
      case '[':
        return this.#list()
      case '{':
        return this.#map()
      case '.':
      case 'IDENTIFIER':
        return this.#name()
      case 'NUM_INT':
      case 'NUM_UINT':
      case 'NUM_FLOAT':
        return this.#number(token.offset, false)
      default:
        return this.#constant()
    }
  }

  #parenthesis(): Expr {
    this.#take()
    const expr = this.#expression()
    this.#expect(')')
    return expr
  }

  #list(): Expr {
    const { offset } = this.#take()
    const items: ListItem[] = []
    this.#open(']', ',', '?')
    while (this.#next.kind !== ']') {
      const isOptional = this.#takeIf('?') !== undefined
      items.push({ value: this.#expression(), isOptional })
      if (this.#takeIf(',') === undefined) break
    }
    this.#close(']')
    return { kind: 'list', offset, items }
  }

  #map(): Expr {
    const { offset } = this.#take()
    const entries: MapEntry[] = []
    this.#open('}', ',', '?')
    while (this.#next.kind !== '}') {
      const isOptional = this.#takeIf('?') !== undefined
      const key = this.#expression()
      this.#expect(':')
      entries.push({ key, value: this.#expression(), isOptional })
      if (this.#takeIf(',') === undefined) break
    }
    this.#close('}')
    return { kind: 'map', offset, entries }
  }

  /** Parses a name, a call of a function, or `Type{…}`. */
  #name(): Expr {
    this.#takeIf('.')
    const { text, offset } = this.#expectStart('IDENTIFIER')
    if (reserved.has(text)) this.#problems.push({ offset, text: `reserved identifier: ${text}` })
    const open = this.#takeIf('(')
    if (open !== undefined) return this.#call(open.offset, text, undefined, this.#arguments())
    return this.#struct(text) ?? ident(offset, text)
  }

  #struct(first: string): Expr | undefined {
    let distance = 0
    let name = first
    while (this.#at(distance).kind === '.' && this.#at(distance + 1).kind === 'IDENTIFIER') {
      name += `.${this.#at(distance + 1).text}`
      distance += 2
    }
    if (this.#at(distance).kind !== '{') return undefined
    this.#position += distance
    const { offset } = this.#take()
    while (this.#next.kind !== '}') {
      this.#takeIf('?')
      this.#expectStart('IDENTIFIER')
      this.#expect(':')
      this.#expression()
      if (this.#takeIf(',') === undefined) break
    }
    this.#expect('}')
    return { kind: 'struct', offset, name }
  }

  #expectStart(kind: string): Token {
    const token = this.#takeIf(kind)
    if (token === undefined) throw this.#noStart()
    return token
  }

  #noStart(): SyntaxProblem {
    const { position, signs } = this.#opening
    const also = position === this.#position ? signs : []
    const named = startSigns.filter((sign) => starts.has(sign) || also.includes(sign)).map((sign) => `'${sign}'`)
    const isExtra = this.#next.kind !== 'in' && starts.has(this.#at(1).kind)
    return this.#unexpected(`{${named.join(', ')}, ${startKinds}}`, isExtra)
  }

  #open(...signs: readonly string[]): void {
    this.#opening = { position: this.#position, signs }
  }

  /** Parses the end of a list or map, before which a comma is allowed. */
  #close(kind: string): void {
    if (this.#takeIf(kind) === undefined) throw this.#unexpected(`{'${kind}', ','}`, false)
  }

  #number(offset: number, isNegative: boolean): Expr {
    const { kind, text } = this.#take()
    if (kind === 'NUM_UINT') return this.#literal(offset, readUint(text), 'invalid uint literal')
    if (kind === 'NUM_INT') return this.#literal(offset, readInt(text, isNegative), 'invalid int literal')
    return this.#literal(offset, readDouble(text, isNegative), 'invalid double literal')
  }

  #constant(): Expr {
    const { kind, text, offset } = this.#next
    if (!starts.has(kind)) throw this.#noStart()
    this.#take()
    if (kind === 'STRING') return this.#literal(offset, readText(text), 'unable to unescape string')
    if (kind === 'BYTES') return this.#literal(offset, readBytes(text), 'unable to unescape string')
    return literal(offset, kind === 'null' ? null : kind === 'true')
  }

  #literal(offset: number, value: Literal | undefined, otherwise: string): Expr {
    if (value === undefined) this.#problems.push({ offset, text: otherwise })
    return literal(offset, value ?? null)
  }
}
