import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecError, runProgram } from '../../../src/host/programs/index.ts'

async function failureOf(promise: Promise<unknown>): Promise<ExecError> {
  try {
    await promise
  } catch (thrown) {
    assert.ok(thrown instanceof ExecError, String(thrown))
    return thrown
  }
  assert.fail('it should have failed')
}

test('a program gets its input and arguments exactly, without a shell', async () => {
  const { stdout } = await runProgram('sh', ['-c', 'cat; printf %s "$1"', 'sh', '$(id) ; *'], {
    input: 'hé\n',
    timeoutMs: 5000,
  })
  assert.equal(stdout, 'hé\n$(id) ; *')
})

test('a program without input reads an empty one', async () => {
  assert.equal((await runProgram('cat', [], { timeoutMs: 5000 })).stdout, '')
})

test('a failed program is reported with its exit code and what it said', async () => {
  const error = await failureOf(runProgram('sh', ['-c', 'echo why >&2; exit 3'], { timeoutMs: 5000 }))
  assert.equal(error.code, 'failed')
  assert.equal(error.exitCode, 3)
  assert.equal(error.stderr, 'why')
  assert.match(error.message, /exited with 3: why/)
})

test('a missing program is reported by name with a remedy', async () => {
  for (const start of [
    () => runProgram('plt-no-such', ['x'], { timeoutMs: 5000 }),
    () => runProgram('plt-no-such', [], { background: true }),
  ]) {
    const error = await failureOf(start())
    assert.equal(error.code, 'not-found')
    assert.match(error.message, /plt-no-such was not found/)
    assert.ok(error.remedy)
  }
})

test('a program that takes too long is ended and reported as a timeout', async () => {
  assert.equal((await failureOf(runProgram('sleep', ['60'], { timeoutMs: 50 }))).code, 'timeout')
})

test('a program ended by a signal or by its caller is reported as killed', async () => {
  assert.equal((await failureOf(runProgram('sh', ['-c', 'kill -9 $$'], { timeoutMs: 5000 }))).code, 'killed')
  const aborted = runProgram('sleep', ['60'], { timeoutMs: 5000, signal: AbortSignal.timeout(30) })
  assert.equal((await failureOf(aborted)).code, 'killed')
})

test('a wrapper that reports a signal as 128 + n counts as killed', async () => {
  const error = await failureOf(runProgram('sh', ['-c', 'exit 137'], { timeoutMs: 5000 }))
  assert.equal(error.code, 'killed')
  assert.equal(error.exitCode, 137)
})

test('a started program is killed with everything it started', async () => {
  const program = await runProgram('sh', ['-c', 'sleep 60 & echo $!; wait'], { background: true, stdout: 'pipe' })
  const childPid = Number(await new Promise((resolve) => program.stdout?.once('data', resolve)))
  program.kill('SIGKILL')
  assert.deepEqual(await program.exited, { exitCode: undefined, signal: 'SIGKILL' })
  await assert.doesNotReject(
    runProgram('sh', ['-c', `while grep -q '^State:.[^Z]' /proc/${childPid}/status; do :; done 2>/dev/null`], {
      timeoutMs: 5000,
    }),
  )
  program.kill('SIGKILL')
})

test('messages travel both ways, and sending to a program that is gone fails', async () => {
  const echo = 'process.on("message", (message) => process.send({ got: message }))'
  const program = await runProgram(process.execPath, ['-e', echo], { background: true, ipc: true })
  const answer = new Promise((resolve) => program.onMessage(resolve))
  await program.send({ question: 1 })
  assert.deepEqual(await answer, { got: { question: 1 } })
  program.kill('SIGTERM')
  assert.equal((await program.exited).signal, 'SIGTERM')
  await assert.rejects(program.send({}))
})
