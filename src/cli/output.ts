import { Option } from 'commander'
import { stringify } from 'yaml'
import { visibleLines } from '../model/visible-text.ts'
import type { CliContext } from './program.ts'

/** `wide` is the text with more details, where a command has them. */
export type OutputFormat = 'text' | 'wide' | 'json' | 'yaml'

/** Adds `-o text|wide|json|yaml`; any other format is an error, so that a script never takes text for JSON. */
export function outputFlag(): Option {
  const formats: readonly OutputFormat[] = ['text', 'wide', 'json', 'yaml']
  return new Option('-o, --output <format>', 'format of the answer').choices(formats).default('text')
}

/** Prints an answer as data, or as text that `render` makes; a level at the beginning of a line has a colour on a terminal. */
export function printAnswer<Answer>(
  context: CliContext,
  output: OutputFormat,
  answer: Answer,
  render: (answer: Answer, isWide: boolean) => string,
): void {
  if (output === 'json') context.stdout.write(visibleLines(`${JSON.stringify(answer, undefined, 2)}\n`))
  // A copy as JSON: YAML would show objects that occur twice as aliases.
  else if (output === 'yaml') context.stdout.write(visibleLines(stringify(JSON.parse(JSON.stringify(answer)))))
  else context.stdout.write(colourLevels(context, visibleLines(render(answer, output === 'wide'))))
}

const codes = { good: 32, doubtful: 33, bad: 31 } as const

const levels: Readonly<Record<string, keyof typeof codes>> = {
  ok: 'good',
  warn: 'doubtful',
  unknown: 'doubtful',
  degraded: 'doubtful',
  fail: 'bad',
  stopped: 'bad',
  problem: 'bad',
}

/** Tells whether the output is a terminal that obeys escape sequences. */
export function isScreen({ stdout, env }: CliContext): boolean {
  return stdout.isTTY === true && env['TERM'] !== 'dumb'
}

/** Draws lines over what a terminal shows: each replaces the one in its place, so that nothing flickers. */
export function drawScreen(context: CliContext, lines: readonly string[]): void {
  const text = lines.map((line) => `${colourLevels(context, line)}\u001b[K\n`).join('')
  context.stdout.write(`\u001b[H${text}\u001b[J`)
}

function colourLevels(context: CliContext, text: string): string {
  // https://no-color.org: any value that is not empty.
  if (!isScreen(context) || context.env['NO_COLOR']) return text
  return text.replaceAll(/^( {0,2})([a-z]+)(?= )/gm, (all: string, indent: string, word: string) => {
    const level = Object.hasOwn(levels, word) ? levels[word] : undefined
    return level === undefined ? all : `${indent}\u001b[${codes[level]}m${word}\u001b[0m`
  })
}

/** Runs work; on a terminal a line says from the first second on what it waits for and how long. */
export async function withProgress<T>({ stderr }: CliContext, what: string, work: Promise<T>): Promise<T> {
  if (stderr.isTTY !== true) return work
  const startedMs = performance.now()
  let hasShown = false
  const timer = setInterval(() => {
    hasShown = true
    stderr.write(`\r${visibleLines(what)} … ${Math.round((performance.now() - startedMs) / 1000)} s`)
  }, 1000)
  try {
    return await work
  } finally {
    clearInterval(timer)
    if (hasShown) stderr.write('\r\u001b[K')
  }
}
