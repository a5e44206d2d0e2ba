import type { SourceLocation } from './errors.ts'

export interface Token extends SourceLocation {
  readonly text: string
  /** A quoted token is text whatever it says: no brace, no import. */
  readonly quoted: boolean
  /** The token is the first of its line. */
  readonly beginsLine: boolean
}

/**
 * Splits a Corefile at white space. Quotes hold blanks and lines together, and `\"` is a quote in them. `#` begins a comment to the end of the
 * line, or of the word that it stands in.
 */
export function readTokens(text: string, file: string): readonly Token[] {
  return new Lexer(text.replace(/^\uFEFF/, ''), file).read()
}

class Lexer {
  readonly #text: string
  readonly #file: string
  readonly #tokens: Token[] = []
  #at = 0
  #line = 1
  #lastLine = 0

  constructor(text: string, file: string) {
    this.#text = text
    this.#file = file
  }

  read(): readonly Token[] {
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at)
      if (/\s/.test(char)) this.#skip(char)
      else if (char === '#') this.#skipTo(/\n/g)
      else if (char === '"') this.#readQuoted()
      else this.#readWord()
    }
    return this.#tokens
  }

  #skip(char: string): void {
    if (char === '\n') this.#line += 1
    this.#at += 1
  }

  #skipTo(pattern: RegExp): void {
    pattern.lastIndex = this.#at
    this.#at = pattern.exec(this.#text)?.index ?? this.#text.length
  }

  #readWord(): void {
    const start = this.#at
    this.#skipTo(/\s/g)
    const word = this.#text.slice(start, this.#at)
    const comment = word.indexOf('#')
    this.#push(comment === -1 ? word : word.slice(0, comment), this.#line, false)
  }

  #readQuoted(): void {
    const line = this.#line
    let text = ''
    for (this.#at += 1; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charAt(this.#at)
      if (char === '"') break
      if (char === '\n') this.#line += 1
      const isEscape = char === '\\' && this.#text.charAt(this.#at + 1) === '"'
      if (isEscape) this.#at += 1
      if (char !== '\r') text += isEscape ? '"' : char
    }
    this.#at += 1
    this.#push(text, line, true)
  }

  #push(text: string, line: number, quoted: boolean): void {
    this.#tokens.push({ text, file: this.#file, line, quoted, beginsLine: line > this.#lastLine })
    this.#lastLine = this.#line
  }
}
