/** What is wrong with an expression, and where: the index of a UTF-16 unit; undefined for the whole. */
export interface Problem {
  readonly offset: number | undefined
  readonly text: string
}

/** More problems are only counted. */
export const maxProblems = 100
/** Longer lines are not repeated. */
const maxSnippetLength = 16_384
const [narrow, wide] = [
  { dot: '.', mark: '^' },
  { dot: '．', mark: '＾' },
]

/** Problems as cel-go prints them, in the order of the source: the place, the sentence, the line and a mark below it. */
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

/** Characters beyond ASCII are wide. */
function markBelow(line: string, column: number): string {
  const widths = [...line].map((character) => (character > '\u007f' ? wide : narrow))
  const dots = widths.slice(0, column).map(({ dot }) => dot)
  return dots.join('') + (widths[column] ?? narrow).mark
}
