import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, closeSync, copyFileSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createFastRun, ExecError, isTextBusy, runProgram } from '../../../src/host/programs/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { until } from '../../helpers/until.ts'

const options = { env: { PATH: '/usr/bin:/bin' }, input: '', timeoutMs: 60_000, maxOutputBytes: 1e6, untrusted: true }

const run = createFastRun()

test('a program gets its input and exactly the given environment', async () => {
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

test('many programs run at once and each answer finds its asker', async () => {
  const numbers = Array.from({ length: 20 }, (_, index) => String(index))
  const runs = await Promise.all(numbers.map((number) => run('/bin/echo', [number], options)))
  assert.deepEqual(
    runs.map(({ stdout }) => stdout.trim()),
    numbers,
  )
})

test('deadline, too much output and a caller who gives up end a program as without posix_spawn', async () => {
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

for (const [way, run] of Object.entries({ 'by posix_spawn': createFastRun(), 'by Node': runProgram })) {
  test(`${way}: a program that has printed its completion marker is not waited for, but is still ended in time and reaped`, async () => {
    const { stdout, pid = 0 } = await run('sh', ['-c', 'echo one; echo done; exec sleep 600'], {
      timeoutMs: 1000,
      completionMarker: 'done\n',
    })
    assert.equal(stdout, 'one\ndone\n')
    assert.equal(process.kill(pid, 0), true, 'it has not ended')
    await until('it is ended at its age', () => !existsSync(`/proc/${pid}`), 60_000)
    const failing = run('sh', ['-c', 'echo almost do; exit 3'], { timeoutMs: 60_000, completionMarker: 'done\n' })
    await assert.rejects(failing, { code: 'failed', exitCode: 3 })
  })
}

test('output of megabytes arrives whole, and so does what a program reads', async () => {
  const numbers = { ...options, maxOutputBytes: 1e7 }
  const { stdout } = await run('/usr/bin/seq', ['300000'], numbers)
  assert.equal(stdout, Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join(''))
  const exact = await run('/usr/bin/head', ['-c', '131072', '/dev/zero'], numbers)
  assert.equal(exact.stdout.length, 131_072)
  const input = 'both ways at once\n'.repeat(300_000)
  const copied = await run('/bin/cat', [], { ...numbers, input })
  assert.ok(copied.stdout === input)
})

test('a trusted program by posix_spawn is as without it: environment, input, pid and failures', async () => {
  const shell = (script: string, more = {}) => run('sh', ['-c', script], { timeoutMs: 60_000, ...more })
  const result = await shell('echo $$ $LC_ALL $ONE $HOME; pwd; cat', { env: { ONE: '1' }, cwd: '/', input: 'in' })
  assert.equal(result.stdout, `${result.pid} C 1 ${process.env['HOME'] ?? ''}\n/\nin`)
  await assert.rejects(shell('echo why >&2; exit 4'), { code: 'failed', exitCode: 4, stderr: 'why' })
  await assert.rejects(shell('sleep 600', { timeoutMs: 100 }), { code: 'timeout' })
  await assert.rejects(shell('kill -9 $$'), { code: 'killed' })
  await assert.rejects(shell('sleep 600', { signal: AbortSignal.timeout(50) }), { code: 'killed' })
  await assert.rejects(run('plt-no-such', [], { timeoutMs: 1000 }), { code: 'not-found' })
})

test('a program that cannot be started is reported with its reason', async (t) => {
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
  await assert.rejects(run('/bin/true', [], { ...options, cwd: '/plt/no-such' }), { code: 'not-found' })
  await assert.rejects(run('/bin/echo', ['one\0two'], options), { code: 'failed' })
})

test('a program is found by the PATH that it gets, past files that may not be started', async (t) => {
  const [first, second] = [makeTemporaryFolder(t), makeTemporaryFolder(t)]
  writeFileSync(join(first, 'plt-program'), 'no program')
  const env = { PATH: `/plt/no-such:${first}:${second}:/usr/bin:/bin` }
  await assert.rejects(run('plt-program', [], { ...options, env }), { code: 'failed' })
  writeFileSync(join(second, 'plt-program'), '#!/bin/sh\necho found', { mode: 0o755 })
  assert.equal((await run('plt-program', [], { ...options, env })).stdout, 'found\n')
})

test('children of others keep their ends for those who started them, and nothing stays open', async () => {
  const openFiles = () => readdirSync('/proc/self/fd').length
  await run('/bin/true', [], options)
  const before = openFiles()
  const codes = Array.from({ length: 20 }, (_, index) => index)
  const shell = (code: number) => ['-c', `exit ${code}`]
  const own = codes.map(async (code) => (await run('/bin/sh', shell(code), options)).exitCode)
  const others = codes.map(async (code) => (await runProgram('/bin/sh', shell(code), options)).exitCode)
  const failing = codes.map(() => run('/plt/no-such', [], options).catch((error: ExecError) => error.code))
  assert.deepEqual(await Promise.all(own), codes)
  assert.deepEqual(await Promise.all(others), codes)
  assert.deepEqual(new Set(await Promise.all(failing)), new Set(['not-found']))
  await until('all pipes are closed', () => openFiles() <= before, 30_000)
  assert.equal(process.listenerCount('SIGCHLD'), 0)
})

test('a program ignores and blocks no signal, and leads a session of its own', async () => {
  const { stdout } = await run('/bin/cat', ['/proc/self/status', '/proc/self/stat'], options)
  assert.match(stdout, /^SigBlk:\t0+$/m)
  assert.match(stdout, /^SigIgn:\t0+$/m)
  const [pid, group, session] = (/^(\d+) \(cat\) \w \d+ (\d+) (\d+)/m.exec(stdout) ?? []).slice(1)
  assert.deepEqual([group, session], [pid, pid])
})

test('a program that has ended is not waited for where its child keeps the output open', async () => {
  const { stdout, endedBy, exitCode } = await run('/bin/sh', ['-c', 'sleep 600 & echo $!; exit 5'], options)
  process.kill(Number(stdout), 'SIGKILL')
  assert.deepEqual([endedBy, exitCode], ['exit', 5])
})

test('a thread, which hears of no signal, starts programs by Node', async (t) => {
  const source = join(import.meta.dirname, '../../../src/host/programs/index.ts')
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
     import(${JSON.stringify(source)}).then(async ({ createFastRun }) => {
       parentPort.postMessage(await createFastRun()('/bin/echo', ['here'], ${JSON.stringify(options)}))
     })`,
    { eval: true },
  )
  t.after(() => worker.terminate())
  const [message] = await once(worker, 'message')
  assert.equal(message.stdout, 'here\n')
})
