/** A syntax or type error and its position, an index of UTF-16 units; undefined for the whole expression. */
export interface Problem {
  readonly offset: number | undefined
  readonly text: string
}

/** The number of problems that are described; further ones are only counted. */
export const maxProblems = 100
/** The length limit of a source line in a message. */
const maxSnippetLength = 16_384
const [narrow, wide] = [
  { dot: '.', mark: '^' },
  { dot: '．', mark: '＾' },
]

/** Formats problems as cel-go does, in the order of the source: position, message, source line and a mark below it. */
export function describeProblems(problems: readonly Problem[], source: string): string {
  const shown = problems.slice(0, maxProblems)
  const sorted = shown.toSorted((left, right) => (left.offset ?? -1) - (right.offset ?? -1))
  const lines = sorted.map((problem) => describe(problem, source))
  const left = problems.length - shown.length
  return [...lines, ...(left === 0 ? [] : [`${left} more errors were truncated`])].join('\n')
}

function describe({ offset, text }: Problem, source: string): string {
  if (offset === undefined) return `ERROR: <input>:-1:0: ${text}`
  const before = source.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const column = [...source.slice(lineStart, offset)].length
  const line = source.slice(lineStart).split('\n', 1)[0] ?? ''
  const place = `ERROR: <input>:${before.split('\n').length}:${column + 1}: ${text}`
  return Buffer.byteLength(line) > maxSnippetLength
    ? place
    : `${place}\n | ${line.replaceAll('\t', ' ')}\n | ${markBelow(line, column)}`
}

/** Returns the mark below a position. Characters beyond ASCII have double width. */
function markBelow(line: string, column: number): string {
  const widths = [...line].map((character) => (character > '\u007f' ? wide : narrow))
  const dots = widths.slice(0, column).map(({ dot }) => dot)
  return dots.join('') + (widths[column] ?? narrow).mark
}
