import { describeError } from '../../../model/errors.ts'
import { CorefileError } from './errors.ts'
import { readTokens, type Token } from './lexer.ts'

/** A directive, or an option of one: its name, its arguments, and the lines between its braces. */
export interface Directive {
  readonly name: Token
  readonly args: readonly Token[]
  readonly options: readonly Directive[]
}

/** A server block before its directives are read. */
export interface RawBlock {
  readonly keys: readonly Token[]
  readonly directives: readonly Directive[]
}

export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Where a Corefile gets files and variables from. */
export interface CorefileSources {
  /**
   * Returns the files that `import PATTERN` names, from the folder of the importing file; the pattern has at most one `*` or `?`. May throw,
   * with the reason.
   */
  files(pattern: string, importingFile: string): readonly SourceFile[]
  environment(name: string): string | undefined
}

const maxSnippetImports = 10_000
const maxFileImports = 100_000
/** The most words of a Corefile with all that it imports: snippets that import one another make a small text large. */
const maxWords = 200_000

/**
 * Reads the server blocks of a Corefile: inserts snippets and files where they are imported, and replaces variables of the environment. Throws
 * CorefileError with the line at fault.
 */
export function readBlocks(file: SourceFile, sources: CorefileSources): readonly RawBlock[] {
  return new BlockReader(file, sources).read()
}

class BlockReader {
  readonly #file: SourceFile
  readonly #sources: CorefileSources
  readonly #snippets = new Map<string, readonly Token[]>()
  /** The tokens that are not read yet, the next one at the end. */
  readonly #rest: Token[] = []
  #lastRead: Token | undefined
  #words = 0
  #snippetImports = 0
  #fileImports = 0

  constructor(file: SourceFile, sources: CorefileSources) {
    this.#file = file
    this.#sources = sources
    this.#putAhead(readTokens(file.text, file.path))
  }

  read(): readonly RawBlock[] {
    const blocks: RawBlock[] = []
    while (this.#current !== undefined) {
      const keys = this.#readKeys()
      const snippet = snippetName(keys)
      if (snippet !== undefined) this.#readSnippet(snippet)
      else if (keys.length > 0) blocks.push(this.#readBlock(keys, blocks.length === 0))
    }
    return blocks
  }

  get #current(): Token | undefined {
    return this.#rest.at(-1)
  }

  #skip(): void {
    this.#lastRead = this.#rest.pop() ?? this.#lastRead
  }

  /** Inserts tokens before those that are not read yet. */
  #putAhead(tokens: readonly Token[]): void {
    this.#words += tokens.length
    if (this.#words > maxWords) throw this.#error(`more than ${maxWords} words with all that is imported`)
    for (const token of tokens.toReversed()) this.#rest.push(token)
  }

  #beginsLine(): boolean {
    return this.#current?.beginsLine === true
  }

  #isBrace(brace: '{' | '}'): boolean {
    return isBrace(this.#current, brace)
  }

  /** Reads the keys of a block. They stand on one line, and go on in the next after a comma. */
  #readKeys(): readonly Token[] {
    const keys: Token[] = []
    let expectsMore = false
    for (let token = this.#current; token !== undefined && !this.#isBrace('{'); token = this.#current) {
      if (this.#isImport()) {
        this.#import()
        continue
      }
      if (keys.length > 0 && !expectsMore && this.#beginsLine()) break
      const text = this.#replaceVariables(token).text
      expectsMore = text.endsWith(',')
      this.#skip()
      const names = text.split(',').filter((name) => name !== '')
      for (const name of names) keys.push({ ...token, text: name })
    }
    if (expectsMore) throw this.#error('Expected another address - check for an extra comma')
    if (this.#isBrace('{') && keys.length === 0) throw this.#error("Expected an address before '{'")
    return keys
  }

  /** Reads the directives of a block. The only block of a file may have no braces. */
  #readBlock(keys: readonly Token[], isFirst: boolean): RawBlock {
    if (this.#isBrace('{')) {
      this.#skip()
      return { keys, directives: this.#readDirectives(true) }
    }
    if (!isFirst) throw this.#error(`Expected '{' after ${keys.at(-1)?.text ?? 'the address'}`)
    return { keys, directives: this.#readDirectives(false) }
  }

  /** Reads lines up to and including the closing brace, or to the end of the file. */
  #readDirectives(braced: boolean): readonly Directive[] {
    const directives: Directive[] = []
    for (let token = this.#current; ; token = this.#current) {
      if (token === undefined) {
        if (braced) throw this.#error("Unexpected end of file: a '}' is missing")
        return directives
      }
      if (this.#isBrace('}')) {
        if (!braced) throw this.#error("Unexpected '}' without a '{' before it")
        this.#skip()
        return directives
      }
      if (this.#isImport()) this.#import()
      else directives.push(this.#readDirective(token))
    }
  }

  #readDirective(token: Token): Directive {
    if (isBrace(token, '{')) throw this.#error("Unexpected '{': it belongs at the end of a line")
    const name = this.#replaceVariables(token)
    const args: Token[] = []
    this.#skip()
    for (let next = this.#current; next !== undefined && !this.#beginsLine(); next = this.#current) {
      if (this.#isBrace('}')) break
      this.#skip()
      if (isBrace(next, '{')) return { name, args, options: this.#readDirectives(true) }
      args.push(this.#replaceVariables(next))
    }
    return { name, args, options: [] }
  }

  /** Reads the tokens between the braces of `(name) { … }`, and leaves them as they are. */
  #readSnippet(name: Token): void {
    const key = name.text.slice(1, -1)
    if (this.#snippets.has(key)) throw this.#error(`The snippet ${key} is defined twice`, name)
    if (!this.#isBrace('{')) throw this.#error(`Expected '{' after (${key})`)
    const body: Token[] = []
    let depth = 0
    for (let token = this.#current; token !== undefined; token = this.#current) {
      if (this.#isBrace('{')) depth += 1
      if (this.#isBrace('}')) depth -= 1
      if (depth === 0) break
      body.push(token)
      this.#skip()
    }
    if (this.#current === undefined) throw this.#error(`Unexpected end of file: the snippet ${key} has no end`)
    this.#snippets.set(key, body.slice(1))
    this.#skip()
  }

  #isImport(): boolean {
    const token = this.#current
    return token?.text === 'import' && !token.quoted && this.#beginsLine()
  }

  /** Replaces `import NAME` by the tokens of a snippet or of files. */
  #import(): void {
    const location = this.#current
    this.#skip()
    const name = this.#current
    if (name === undefined || this.#beginsLine()) throw this.#error('import: expected a snippet or a file', location)
    this.#skip()
    if (this.#current !== undefined && !this.#beginsLine() && !this.#isBrace('}')) {
      throw this.#error('import: expected one argument', location)
    }
    const wanted = this.#replaceVariables(name)
    const imported = this.#snippets.get(wanted.text)
    const tokens = imported === undefined ? this.#importFiles(wanted) : this.#importSnippet(imported, name)
    this.#putAhead(tokens.map((token, index) => (index === 0 ? { ...token, beginsLine: true } : token)))
  }

  #importSnippet(tokens: readonly Token[], location: Token): readonly Token[] {
    this.#snippetImports += 1
    if (this.#snippetImports > maxSnippetImports) throw this.#importError('snippets import one another', location)
    return tokens
  }

  #importFiles(name: Token): readonly Token[] {
    const { text } = name
    if (/[*?].*[*?]|\[/.test(text)) throw this.#importError(`import ${text}: one * or ? at most, and no [`, name)
    const files = this.#findFiles(name)
    if (files.length === 0 && !/[*?]/.test(text)) {
      throw this.#importError(`import ${text}: there is no such snippet or file`, name)
    }
    this.#fileImports += files.length
    if (this.#fileImports > maxFileImports) throw this.#importError('files import one another', name)
    if (files.some(({ path }) => path === name.file || path === this.#file.path)) {
      throw this.#importError(`import ${text}: a file cannot import itself`, name)
    }
    return files.flatMap((file) => readTokens(file.text, file.path))
  }

  #findFiles(name: Token): readonly SourceFile[] {
    try {
      return this.#sources.files(name.text, name.file)
    } catch (cause) {
      throw new CorefileError('import', name, `import ${name.text}: ${describeError(cause)}`, { cause })
    }
  }

  /** Replaces `{$NAME}` and `{%NAME%}`. A variable that is not set is empty. */
  #replaceVariables(token: Token): Token {
    const text = token.text.replace(/\{\$([^{}]+)\}|\{%([^{}]+)%\}/g, (_, unix: string | undefined, dos: string) => {
      return this.#sources.environment(unix ?? dos) ?? ''
    })
    return text === token.text ? token : { ...token, text }
  }

  #importError(message: string, location: Token): CorefileError {
    return new CorefileError('import', location, message)
  }

  /** Makes an error at the current token, or at the last one where there is none left. */
  #error(message: string, location: Token | undefined = this.#current ?? this.#lastRead): CorefileError {
    return new CorefileError(
      'syntax',
      location ?? { file: this.#file.path, line: 1 },
      `Error during parsing: ${message}`,
    )
  }
}

function isBrace(token: Token | undefined, brace: '{' | '}'): boolean {
  return token !== undefined && !token.quoted && token.text === brace
}

function snippetName(keys: readonly Token[]): Token | undefined {
  const [key] = keys
  return keys.length === 1 && key !== undefined && /^\(.+\)$/.test(key.text) ? key : undefined
}
