// Every check and every test: `npm test`; with `--long` also test/long. The last lines are node:test's own summary.
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { limitFiles } from './file-limit.ts'
import { keepCompiledCode, refuseServers, runSteps, staticChecks } from './static-checks.ts'

const levelsReport = '.cache/test-levels.txt'
/** Of one file; the longest of test/long takes some ten minutes. For the test of this script by a variable, in seconds. */
const fileLimitMs = (file: string) =>
  1000 * Number(process.env['TEST_FILE_LIMIT_SECONDS'] ?? (levelOf(file) === 'long' ? 1800 : 600))

interface LevelTotals {
  files: number
  tests: number
  seconds: number
}

/**
 * Files that need both processors: a bound on time in them is near what the program takes, or they compare two times. All other files run
 * two at a time: each has ports, folders and network namespaces of its own, and waits for conditions with deadlines many times what they take.
 */
const alone = [
  /(^|\/)test\/long\//,
  /(^|\/)test\/kernel\/demo\/steps\.test\.ts$/,
  /(^|\/)test\/kernel\/node\/proxy\/large-service\.test\.ts$/,
  /(^|\/)test\/e2e\/(demo|switched-modes)\.test\.ts$/,
]

/** Quick levels first; a level not named here comes before the slow ones. The longest files are those of `e2e`: the small ones of `kernel` follow. */
function listTestFiles(withLong: boolean): string[] {
  const slowest = ['conformance', 'e2e', 'kernel', 'long']
  const files = globSync('test/**/*.test.ts').filter((file) => withLong || levelOf(file) !== 'long')
  return files.sort((a, b) => slowest.indexOf(levelOf(a)) - slowest.indexOf(levelOf(b)) || a.localeCompare(b))
}

/** `kernel` of `…/test/kernel/host/netns.test.ts`. */
function levelOf(file: string): string {
  return /(?:^|\/)test\/([^/]+)\//.exec(file)?.[1] ?? 'other'
}

function writeLevels(levels: ReadonlyMap<string, LevelTotals>): void {
  mkdirSync('.cache', { recursive: true })
  const lines = [...levels].map(
    ([level, { files, tests, seconds }]) => `${level}: ${tests} tests in ${files} files, ${seconds.toFixed(1)} s`,
  )
  writeFileSync(levelsReport, `${lines.join('\n')}\n`)
}

/** Runs most files two at a time, then the others one at a time. The summary at the end counts both. */
async function runTests(files: readonly string[]): Promise<void> {
  const levels = new Map<string, LevelTotals>()
  const totals = new Map<string, number>()
  const isAlone = (file: string) => alone.some((pattern) => pattern.test(file))
  process.exitCode = 1
  const results = [
    await runFiles(
      files.filter((file) => !isAlone(file)),
      { concurrency: 2, levels, totals, isLast: false },
    ),
    await runFiles(files.filter(isAlone), { concurrency: 1, levels, totals, isLast: true }),
  ]
  const hasTests = (totals.get('tests') ?? 0) > 0
  process.exitCode = hasTests && results.every(Boolean) ? 0 : 1
  writeLevels(levels)
}

interface RunOptions {
  readonly concurrency: number
  readonly levels: Map<string, LevelTotals>
  /** The numbers of the summary so far, by label. */
  readonly totals: Map<string, number>
  /** Prints the summary. */
  readonly isLast: boolean
}

/** Resolves with whether all tests passed; true where there is no file. */
async function runFiles(
  files: readonly string[],
  { concurrency, levels, totals, isLast }: RunOptions,
): Promise<boolean> {
  let isSuccess = files.length === 0
  const execArgv = ['--import', refuseServers]
  const events = run({ files: [...files], concurrency, execArgv })
  events.on('test:summary', ({ file, counts, duration_ms: durationMs, success }) => {
    if (file === undefined) isSuccess = success || files.length === 0
    else addToLevel(levels, file, counts.tests, durationMs)
  })
  const withTotals = async function* (source: AsyncIterable<TestEvent>): AsyncIterable<TestEvent> {
    for await (const event of source) {
      const summed = sumUp(event, totals)
      if (isLast || summed === event) yield summed
    }
  }
  for await (const text of events.compose(withTotals).compose(new spec())) process.stdout.write(text)
  return isSuccess
}

function addToLevel(levels: Map<string, LevelTotals>, file: string, count: number, durationMs: number): void {
  const { files, tests, seconds } = levels.get(levelOf(file)) ?? { files: 0, tests: 0, seconds: 0 }
  levels.set(levelOf(file), { files: files + 1, tests: tests + count, seconds: seconds + durationMs / 1000 })
}

/** Adds a line of the summary to the totals and returns it with the sum; returns any other event as it is. */
function sumUp(event: TestEvent, totals: Map<string, number>): TestEvent {
  if (event.type !== 'test:diagnostic' || event.data.nesting !== 0) return event
  const [, label, number] = /^(\w+) ([\d.]+)$/.exec(event.data.message) ?? []
  if (label === undefined) return event
  const sum = (totals.get(label) ?? 0) + Number(number)
  totals.set(label, sum)
  return { ...event, data: { ...event.data, message: `${label} ${sum}` } }
}

// Each process that reads many datagrams at once would say that `node:ffi` is experimental.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --disable-warning=ExperimentalWarning`
keepCompiledCode()
runSteps(staticChecks)
limitFiles(fileLimitMs)
await runTests(listTestFiles(process.argv.includes('--long')))
