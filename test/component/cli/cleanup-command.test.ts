import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findRunningAgent } from '../../../src/app/commands/cleanup.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const options = { skip: process.geteuid?.() === 0 ? false : 'only root may clean up' }

/** Something that answers as an agent does. */
async function startAgent(t: TestContext): Promise<string> {
  const path = join(makeTemporaryFolder(t), 'agent.sock')
  const server = createServer((_, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.after(() => server.close())
  return path
}

/** Without `--yes` and without a terminal nothing is ever removed. */
async function cleanup(t: TestContext, ...flags: readonly string[]) {
  const { isTTY } = process.stdin
  process.stdin.isTTY = false
  t.after(() => {
    process.stdin.isTTY = isTTY
  })
  const err: string[] = []
  const streams = { stdout: { write: () => {} }, stderr: { write: (text: string) => err.push(text) } }
  const argv = ['node', 'platnet', 'cleanup', '--data-dir', makeTemporaryFolder(t), ...flags]
  return { code: await runCli(argv, { env: {}, ...streams }), err: err.join('') }
}

test('cleanup beside a running agent ends with 1, names its pid and says to stop it first', options, async (t) => {
  const path = await startAgent(t)
  const { code, err } = await cleanup(t, '--control-socket', path)
  assert.equal(code, 1)
  assert.match(err, new RegExp(`^error: the agent with pid ${process.pid} runs here .*nothing was removed\n`))
  assert.match(err, new RegExp(`on: control socket ${path}\n  what to do: stop Platnet first`))
})

test('cleanup with --force, or without an agent, comes to the question', options, async (t) => {
  const path = await startAgent(t)
  for (const flags of [
    ['--force', '--control-socket', path],
    ['--control-socket', '/nonexistent/agent.sock'],
  ]) {
    const { code, err } = await cleanup(t, ...flags)
    assert.equal(code, 2)
    assert.match(err, /^error: cleanup cuts the traffic of every Service\n/)
  }
})

test('an agent is found by another path of its socket too', async (t) => {
  const path = await startAgent(t)
  const link = join(makeTemporaryFolder(t), 'link.sock')
  symlinkSync(path, link)
  assert.deepEqual(await findRunningAgent(link), { isOfThisNetwork: true, pid: process.pid })
  assert.equal(await findRunningAgent(join(path, '..', 'none.sock')), undefined)
})
