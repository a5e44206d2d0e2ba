import assert from 'node:assert/strict'
import { chmodSync, closeSync, copyFileSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ExecError, startProgram } from '../../../src/host/exec.ts'
import { isTextBusy } from '../../../src/host/run-captured.ts'
import { SpawnHelper } from '../../../src/host/spawn-helper.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { until } from '../../helpers/until.ts'

const options = { env: { PATH: '/usr/bin:/bin' }, input: '', timeoutMs: 60_000, maxOutputBytes: 1e6 }

function newHelper(t: TestContext): SpawnHelper {
  const helper = new SpawnHelper()
  t.after(() => helper.stop())
  return helper
}

test('a program started by the helper gets its input and exactly the given environment', async (t) => {
  const { run } = newHelper(t)
  const { stdout, stderr, exitCode, endedBy } = await run(
    '/bin/sh',
    ['-c', 'env | grep -v ^_ | grep -v PWD | grep -v SHLVL; cat; echo oh >&2; exit 3'],
    {
      ...options,
      env: { PATH: '/usr/bin:/bin', ONLY: 'this' },
      input: 'hé',
    },
  )
  assert.deepEqual(stdout.split('\n').sort(), ['ONLY=this', 'PATH=/usr/bin:/bin', 'hé'])
  assert.deepEqual([stderr, exitCode, endedBy], ['oh\n', 3, 'exit'])
})

test('many programs run at once and each answer finds its asker', async (t) => {
  const { run } = newHelper(t)
  const numbers = Array.from({ length: 20 }, (_, index) => String(index))
  const runs = await Promise.all(numbers.map((number) => run('/bin/echo', [number], options)))
  assert.deepEqual(
    runs.map(({ stdout }) => stdout.trim()),
    numbers,
  )
})

test('deadline, too much output and a caller who gives up end a program as without helper', async (t) => {
  const { run } = newHelper(t)
  const late = await run('/bin/sleep', ['600'], { ...options, timeoutMs: 100 })
  assert.equal(late.endedBy, 'timeout')
  const much = await run('/usr/bin/yes', [], { ...options, maxOutputBytes: 1000 })
  assert.equal(much.endedBy, 'output')
  const givingUp = new AbortController()
  const running = run('/bin/sleep', ['600'], { ...options, signal: givingUp.signal })
  setTimeout(() => givingUp.abort(), 50)
  assert.equal((await running).endedBy, 'caller')
  assert.equal((await run('/bin/sleep', ['600'], { ...options, signal: AbortSignal.abort() })).endedBy, 'caller')
})

test('output of megabytes arrives whole, and in parts that leave time for other work', async (t) => {
  const { run } = newHelper(t)
  const numbers = { ...options, maxOutputBytes: 1e7 }
  const { stdout } = await run('/usr/bin/seq', ['300000'], numbers)
  assert.equal(stdout, Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join(''))
  const exact = await run('/usr/bin/head', ['-c', '131072', '/dev/zero'], numbers)
  assert.equal(exact.stdout.length, 131_072)
})

test('runProgram by way of the helper is as without it: environment, input, pid and failures', async (t) => {
  const { runProgram } = newHelper(t)
  const shell = (script: string, more = {}) => runProgram('sh', ['-c', script], { timeoutMs: 60_000, ...more })
  const result = await shell('echo $$ $LC_ALL $ONE $HOME; pwd; cat', { env: { ONE: '1' }, cwd: '/', input: 'in' })
  assert.equal(result.stdout, `${result.pid} C 1 ${process.env['HOME'] ?? ''}\n/\nin`)
  await assert.rejects(shell('echo why >&2; exit 4'), { code: 'failed', exitCode: 4, stderr: 'why' })
  await assert.rejects(shell('sleep 600', { timeoutMs: 100 }), { code: 'timeout' })
  await assert.rejects(shell('kill -9 $$'), { code: 'killed' })
  await assert.rejects(shell('sleep 600', { signal: AbortSignal.timeout(50) }), { code: 'killed' })
  await assert.rejects(runProgram('plt-no-such', [], { timeoutMs: 1000 }), { code: 'not-found' })
})

test('what cannot be started is told with its reason', async (t) => {
  const { run } = newHelper(t)
  await assert.rejects(run('/plt/no-such', [], options), { code: 'not-found' })
  const folder = makeTemporaryFolder(t)
  writeFileSync(join(folder, 'plain'), 'no program')
  await assert.rejects(run(join(folder, 'plain'), [], options), (error) => {
    return error instanceof ExecError && error.code === 'failed' && /EACCES/.test(String(error.cause))
  })
  const busy = join(folder, 'busy')
  copyFileSync('/bin/true', busy)
  chmodSync(busy, 0o755)
  const writing = openSync(busy, 'r+')
  await assert.rejects(run(busy, [], options), (error) => isTextBusy(error))
  closeSync(writing)
})

test('a helper that is killed fails what runs, and the next program has a new one', async (t) => {
  const { run } = newHelper(t)
  const parent = async () => Number((await run('/bin/sh', ['-c', 'echo $PPID'], options)).stdout)
  const pid = await parent()
  const running = run('/bin/sleep', ['1'], options)
  running.catch(() => {})
  process.kill(pid, 'SIGKILL')
  await assert.rejects(running, { code: 'killed', message: /the helper that had started \/bin\/sleep is gone/ })
  assert.notEqual(await parent(), pid)
})

test('the helper ends with its parent, however that ends', async (t) => {
  const folder = makeTemporaryFolder(t)
  const file = join(folder, 'parent.ts')
  const source = join(import.meta.dirname, '../../../src/host/spawn-helper.ts')
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
     import { SpawnHelper } from ${JSON.stringify(source)}
     const { run } = new SpawnHelper()
     const options = ${JSON.stringify(options)}
     const { stdout } = await run('/bin/sh', ['-c', 'echo $PPID'], options)
     writeFileSync(${JSON.stringify(join(folder, 'pid'))}, stdout)
     setInterval(() => {}, 1000)`,
  )
  const parent = await startProgram(process.execPath, [file], { stderr: 'inherit' })
  const pidFile = join(folder, 'pid')
  await until('the helper runs', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '', 30_000)
  const pid = readFileSync(pidFile, 'utf8').trim()
  parent.kill('SIGKILL')
  const isGone = () => !existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  await until('the helper is gone', isGone, 30_000)
})
