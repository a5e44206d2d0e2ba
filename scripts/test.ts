// Every check and every test: `npm test`; with `--long` also test/long. The last lines are node:test's own summary.
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { refuseServers, runSteps, staticChecks } from './static-checks.ts'

const levelsReport = '.cache/test-levels.txt'
const fileTimeoutMs = 10 * 60_000

interface LevelTotals {
  files: number
  tests: number
  seconds: number
}

/** Quick levels first; a level not named here comes before the slow ones. */
function listTestFiles(withLong: boolean): string[] {
  const slowest = ['kernel', 'conformance', 'e2e', 'long']
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

/** One file at a time: kernel and end-to-end tests, and tests that measure time, must have the machine to themselves. */
function runTests(files: readonly string[]): void {
  const levels = new Map<string, LevelTotals>()
  const execArgv = ['--import', refuseServers]
  const events = run({ files: [...files], concurrency: 1, timeout: fileTimeoutMs, execArgv })
  process.exitCode = 1
  events.on('test:summary', ({ file, counts, duration_ms: durationMs, success }) => {
    if (file === undefined) {
      process.exitCode = success && counts.tests > 0 ? 0 : 1
      writeLevels(levels)
      return
    }
    const { files, tests, seconds } = levels.get(levelOf(file)) ?? { files: 0, tests: 0, seconds: 0 }
    levels.set(levelOf(file), {
      files: files + 1,
      tests: tests + counts.tests,
      seconds: seconds + durationMs / 1000,
    })
  })
  events.compose(spec).pipe(process.stdout)
}

// Each process that reads many datagrams at once would say that `node:ffi` is experimental.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --disable-warning=ExperimentalWarning`
runSteps(staticChecks)
runTests(listTestFiles(process.argv.includes('--long')))
