// Every check and every test: `npm test`; with `--long` also test/long, and each file in a process of its own, where a test that needs what another
// file left behind fails. The last lines are node:test's own summary.
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { limitFiles } from './file-limit.ts'
import { keepCompiledCode, refuseServers, runSideBySide, staticChecks } from './static-checks.ts'
import { eachAlone, groupFiles, levelOf, type TestProcess } from './test-groups.ts'
import { stageTestProgram } from './test-program.ts'

const levelsReport = '.cache/test-levels.txt'
/** Of one process; the longest of test/long takes some ten minutes. For the test of this script by a variable, in seconds. */
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

function writeLevels(levels: ReadonlyMap<string, LevelTotals>): void {
  mkdirSync('.cache', { recursive: true })
  const lines = [...levels].map(
    ([level, { files, tests, seconds }]) => `${level}: ${tests} tests in ${files} files, ${seconds.toFixed(1)} s`,
  )
  writeFileSync(levelsReport, `${lines.join('\n')}\n`)
}

/** Runs most files two at a time, then the others one at a time. The summary at the end counts both. */
async function runTests(processes: readonly TestProcess[]): Promise<void> {
  const levels = new Map<string, LevelTotals>()
  const totals = new Map<string, number>()
  const isAlone = ({ path }: TestProcess) => alone.some((pattern) => pattern.test(path))
  process.exitCode = 1
  const results = [
    await runProcesses(
      processes.filter((each) => !isAlone(each)),
      { concurrency: 2, levels, totals, isLast: false },
    ),
    await runProcesses(processes.filter(isAlone), { concurrency: 1, levels, totals, isLast: true }),
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
async function runProcesses(
  processes: readonly TestProcess[],
  { concurrency, levels, totals, isLast }: RunOptions,
): Promise<boolean> {
  let isSuccess = processes.length === 0
  const fileCounts = new Map(processes.map(({ path, files }) => [resolve(path), files.length]))
  const execArgv = ['--import', refuseServers]
  const events = run({ files: processes.map(({ path }) => path), concurrency, execArgv })
  events.on('test:summary', ({ file, counts, duration_ms: durationMs, success }) => {
    if (file === undefined) isSuccess = success || processes.length === 0
    else {
      const files = fileCounts.get(resolve(file)) ?? 1
      addToLevel(levels, levelOf(file), { files, tests: counts.tests, seconds: durationMs / 1000 })
    }
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

function addToLevel(levels: Map<string, LevelTotals>, level: string, more: LevelTotals): void {
  const { files, tests, seconds } = levels.get(level) ?? { files: 0, tests: 0, seconds: 0 }
  levels.set(level, { files: files + more.files, tests: tests + more.tests, seconds: seconds + more.seconds })
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
await runSideBySide(staticChecks)
await stageTestProgram()
const withLong = process.argv.includes('--long')
const files = listTestFiles(withLong)
const processes = withLong ? eachAlone(files) : groupFiles(files)
const nameOf = (path: string) => processes.find((each) => each.path === path)?.files.join(', ') ?? path
limitFiles(fileLimitMs, nameOf)
await runTests(processes)
