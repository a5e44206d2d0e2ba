import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { ExecError, runProgram } from '../../../src/host/index.ts'

const scripts = resolve(import.meta.dirname, '../../../scripts')
const refuseServers = new URL('../../helpers/refuse-servers.ts', import.meta.url).href
const listening = `import net from 'node:net'\nimport { test } from 'node:test'\ntest('listens', (t, done) => {\n  const server = net.createServer().listen(0, '127.0.0.1', () => server.close(done))\n})\n`
const passing = "import { test } from 'node:test'\ntest('holds', () => {})\n"
const hanging = `import { spawn } from 'node:child_process'\nimport { test } from 'node:test'\nprocess.on('SIGTERM', () => {})\ntest('does not hold', () => {\n  setInterval(() => {}, 1000)\n  spawn('sleep', ['300'], { stdio: 'inherit' })\n  throw new Error('no')\n})\n`
const leaving = `import { spawn } from 'node:child_process'\nimport { test } from 'node:test'\ntest('holds', () => spawn('sleep', ['300'], { stdio: 'inherit', detached: true }).unref())\n`
const failing = "import { test } from 'node:test'\ntest('does not hold', () => { throw new Error('no') })\n"

describe('npm test', () => {
  let project: string

  const addTest = (file: string, text: string) => {
    const path = join(project, 'test', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  /** The script as a process that does not know it is run by a test. */
  const runWith = async (env: Record<string, string>, ...args: string[]) => {
    const command = ['-u', 'NODE_TEST_CONTEXT', process.execPath, 'scripts/test.ts', ...args]
    try {
      const { stdout, stderr } = await runProgram('env', command, { timeoutMs: 60_000, cwd: project, env })
      return { exitCode: 0, lines: stdout.trimEnd().split('\n'), stderr }
    } catch (thrown) {
      if (!(thrown instanceof ExecError)) throw thrown
      return { exitCode: thrown.exitCode, lines: [], stderr: thrown.stderr }
    }
  }
  const run = (...args: string[]) => runWith({}, ...args)

  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), 'platnet-test-run-'))
    mkdirSync(join(project, 'scripts'))
    writeFileSync(join(project, 'package.json'), '{"type":"module"}')
    for (const file of ['test.ts', 'test-groups.ts', 'file-limit.ts'])
      cpSync(join(scripts, file), join(project, 'scripts', file))
    writeFileSync(join(project, 'scripts/test-program.ts'), 'export const stageTestProgram = () => {}\n')
    writeFileSync(
      join(project, 'scripts/static-checks.ts'),
      `export const staticChecks = []\nexport const runSideBySide = () => {}\nexport const keepCompiledCode = () => {}\nexport const refuseServers = ${JSON.stringify(refuseServers)}\n`,
    )
  })
  afterEach(() => rmSync(project, { recursive: true }))

  it('ends with the summary of node:test and reports the tests of each level, the slow ones last', async () => {
    addTest('kernel/a.test.ts', passing)
    addTest('unit/b.test.ts', passing)
    addTest('unit/deep/c.test.ts', passing)
    addTest('long/d.test.ts', failing)
    const { exitCode, lines } = await run()
    assert.equal(exitCode, 0)
    assert.deepEqual(
      lines.slice(-8).map((line) => line.replace(/[\d.]+$/, '#')),
      ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo', 'duration_ms'].map((name) => `ℹ ${name} #`),
    )
    const levels = readFileSync(join(project, '.cache/test-levels.txt'), 'utf8')
    assert.match(levels, /^unit: 2 tests in 2 files, [\d.]+ s\nkernel: 1 tests in 1 files, [\d.]+ s\n$/)
  })

  it('fails when a unit test starts a server, which a component test may', async () => {
    addTest('component/a.test.ts', listening)
    assert.equal((await run()).exitCode, 0)
    addTest('unit/a.test.ts', listening)
    assert.equal((await run()).exitCode, 1)
  })

  it('fails when a test fails, with --long also for a long one', async () => {
    addTest('unit/a.test.ts', passing)
    addTest('long/b.test.ts', failing)
    assert.equal((await run()).exitCode, 0)
    assert.equal((await run('--long')).exitCode, 1)
  })

  it('fails when a test file cannot be loaded, and when there is no test at all', async () => {
    assert.equal((await run()).exitCode, 1)
    addTest('unit/a.test.ts', "import './nowhere.ts'\n")
    assert.equal((await run()).exitCode, 1)
  })

  it('has files of one level share a process, but not those with hooks of the process; with --long none share', async () => {
    const pids = (file: string, hook = '') =>
      addTest(
        file,
        `import { appendFileSync } from 'node:fs'\nimport { before, test } from 'node:test'\n${hook}\ntest('holds', () => appendFileSync('pids', \`${file} \${process.pid}\\n\`))\n`,
      )
    for (const file of ['component/a.test.ts', 'component/b.test.ts', 'kernel/d.test.ts', 'kernel/e.test.ts'])
      pids(file)
    pids('component/c.test.ts', 'before(() => {})')
    const countProcesses = async (...args: string[]) => {
      rmSync(join(project, 'pids'), { force: true })
      assert.equal((await run(...args)).exitCode, 0)
      const lines = readFileSync(join(project, 'pids'), 'utf8').trimEnd().split('\n')
      const pidOf = new Map(lines.map((line) => line.split(' ') as [string, string]))
      return {
        files: pidOf.size,
        processes: new Set(pidOf.values()).size,
        together: pidOf.get('component/a.test.ts') === pidOf.get('component/b.test.ts'),
      }
    }
    assert.deepEqual(await countProcesses(), { files: 5, processes: 4, together: true })
    assert.deepEqual(await countProcesses('--long'), { files: 5, processes: 5, together: false })
  })

  it('fails when one of the files that share a process fails or cannot be loaded', async () => {
    addTest('unit/a.test.ts', passing)
    addTest('unit/b.test.ts', failing)
    assert.equal((await run()).exitCode, 1)
    addTest('unit/b.test.ts', "import './nowhere.ts'\n")
    assert.equal((await run()).exitCode, 1)
  })

  it('ends a file that has not ended after the limit, whatever it ignores, with what holds its output, and names it', async () => {
    addTest('component/a.test.ts', hanging)
    addTest('kernel/b.test.ts', leaving)
    const { exitCode, stderr } = await runWith({ TEST_FILE_LIMIT_SECONDS: '1' })
    assert.equal(exitCode, 1)
    assert.match(stderr, /component\/a\.test\.ts has not ended after 1 s and is ended, with \S+ \(\d+\)/)
    assert.match(stderr, /kernel\/b\.test\.ts has not ended after 1 s and is ended, with \S+ \(\d+\)/)
  })
})
