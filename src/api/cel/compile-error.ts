/** What the library says of an expression, and where; `summary` is without the marked source. */
interface LibraryError {
  readonly summary: string
  readonly position: number
}

function read(thrown: unknown): LibraryError {
  if (!(thrown instanceof Error)) return { summary: String(thrown), position: 0 }
  const summary = 'summary' in thrown && typeof thrown.summary === 'string' ? thrown.summary : thrown.message
  const range = 'range' in thrown ? thrown.range : undefined
  const isPlaced = typeof range === 'object' && range !== null && 'start' in range && typeof range.start === 'number'
  return { summary, position: isPlaced ? Number(range.start) : 0 }
}

const operator = /^no such overload: (\S+(?:, \S+>)?) (\S+) (.+)$/

/** The sentences of the library and those that cel-go has for the same. */
const sentences: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/^No such key: index out of bounds, index (-?\d+).*$/, 'index out of bounds: $1'],
  [/^(int|uint|double|bool)\(\) (?:type|conversion) error: .*$/, "type conversion error from 'string' to '$1'"],
  [/^No such key: (.*)$/, 'no such key: $1'],
  [/^no such overload: .*$/, 'no such overload'],
  [/^found no matching overload for .*$/, 'no such overload'],
]

/** An error of an evaluation, in cel-go's words where they are known. */
export function describeEvaluation(thrown: unknown): string {
  const { summary } = read(thrown)
  const known = sentences.find(([pattern]) => pattern.test(summary))
  return known === undefined ? summary : summary.replace(known[0], known[1])
}

/** An error of a compilation as cel-go prints it: the place, the sentence, the line and a mark below it. */
export function describeCompilation(thrown: unknown, source: string): string {
  const { summary, position: start } = read(thrown)
  const position = summary.startsWith('No such key: ') ? Math.max(0, start - 1) : start
  const before = source.slice(0, position)
  const lineStart = before.lastIndexOf('\n') + 1
  const column = position - lineStart
  const line = source.slice(lineStart).split('\n', 1)[0] ?? ''
  const number = before.split('\n').length
  return `ERROR: <input>:${number}:${column + 1}: ${compilationSentence(summary)}\n | ${line}\n | ${'.'.repeat(column)}^`
}

function compilationSentence(summary: string): string {
  const [, left, symbol, right] = operator.exec(summary) ?? []
  if (symbol !== undefined) return `found no matching overload for '_${symbol}_' applied to '(${left}, ${right})'`
  return summary
    .replace(/\b(matches)Re2\b|\b(duration|timestamp)Of\b/, '$1$2')
    .replace(/^No such key: (.*)$/, "undefined field '$1'")
    .replace(/^Unknown variable: (.*)$/, "undeclared reference to '$1' (in container '')")
    .replace(/^Unexpected (token|character): (.*)$/, "Syntax error: mismatched input '$2'")
    .replace(/^(?:List elements|Map \w+).*(expected type .*)$/, '$1')
}
