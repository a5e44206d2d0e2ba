import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
// Loaded as root: another user may not read the folder of this checkout.
import '../../../src/app/commands/back-up.ts'
import '../../../src/app/commands/check.ts'
import '../../../src/cli/cleanup.ts'
import '../../../src/cli/long-running.ts'
import '../../../src/cli/status.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { probePorts } from '../../../src/host/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const options = { skip: process.geteuid?.() === 0 ? false : 'only root can become another user' }

async function asOther<T>(work: () => Promise<T>): Promise<T> {
  process.seteuid?.(65_534)
  return work().finally(() => process.seteuid?.(0))
}

async function platnet(...args: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const stdout = { write: (text: string) => out.push(text) }
  const stderr = { write: (text: string) => err.push(text) }
  const code = await asOther(() => runCli(['node', 'platnet', ...args], { env: {}, stdout, stderr }))
  return { code, out: out.join(''), err: err.join('') }
}

async function listen(t: TestContext, where: { path: string } | { port: number; host: string }) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(where, resolve))
  t.after(() => server.close())
  return server
}

test('an agent that may not be asked is not an agent that is away', options, async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'agent.sock')
  const umask = process.umask(0o177)
  await listen(t, { path }).finally(() => process.umask(umask))
  const { code, err } = await platnet('status', '--control-socket', path)
  assert.equal(code, 4)
  assert.match(err, /^error: this user may not ask the agent: connect EACCES .*\n.*\n {2}what to do: run it as root/)
})

test('cleanup that may remove nothing says so, and not that there is nothing', options, async () => {
  const { code, out, err } = await platnet('cleanup', '--yes', '--data-dir', '/nonexistent')
  assert.deepEqual([code, out], [4, ''])
  assert.match(err, /^error: this process lacks CAP_NET_ADMIN\n {2}what to do: run as root/)
})

test('a backup of a store that may not be read ends with the exit code of a missing privilege', options, async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'state.db'), '', { mode: 0o600 })
  const { code, err } = await platnet('server', 'backup', '--data-dir', dataDir, '/tmp/never-written.db')
  assert.equal(code, 4, err)
  assert.match(err, /^error: .*state\.db could not be opened: EACCES: permission denied/)
})

test('a port whose owner this user may not see is perhaps ours', options, async (t) => {
  const serve = 'const s = require("net").createServer().listen(0, "127.0.0.1", () => console.log(s.address().port))'
  const child = spawn(process.execPath, ['-e', serve], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const [line] = await once(child.stdout, 'data')
  const probe = () => probePorts([{ protocol: 'tcp', address: '127.0.0.1', port: Number(line), option: '--port' }])
  const [finding] = await asOther(probe)
  assert.equal(finding?.level, 'fail')
  assert.match(finding?.what ?? '', /is in use, perhaps by this program: run the check as root to know$/)
  assert.match((await probe())[0]?.what ?? '', /is in use by node \(pid \d+\)$/)
})

test('cleanup without a terminal names the flag, and ends as a usage error', options, async (t) => {
  const { isTTY } = process.stdin
  process.stdin.isTTY = false
  t.after(() => {
    process.stdin.isTTY = isTTY
  })
  const err: string[] = []
  const streams = { stdout: { write: () => {} }, stderr: { write: (text: string) => err.push(text) } }
  const argv = ['node', 'platnet', 'cleanup', '--data-dir', makeTemporaryFolder(t)]
  assert.equal(await runCli(argv, { env: {}, ...streams }), 2)
  assert.match(err.join(''), /^error: cleanup cuts the traffic of every Service\n {2}what to do: run .* --yes/)
})
