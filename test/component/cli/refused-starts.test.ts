import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import '../../../src/app/commands/check.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { hasNetAdmin } from '../../../src/host/privilege.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

async function platnet(...args: readonly string[]) {
  const err: string[] = []
  const streams = { stdout: { write: () => {} }, stderr: { write: (text: string) => err.push(text) } }
  const code = await runCli(['node', 'platnet', ...args], { env: {}, ...streams })
  return { code, err: err.join('') }
}

const asOtherUser = { skip: process.geteuid?.() === 0 ? false : 'only root can become another user' }

test('run without root says so at once and makes nothing', asOtherUser, async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  process.seteuid?.(65_534)
  const { code, err } = await platnet('run', '--data-dir', dataDir, '--log-level=off').finally(() =>
    process.seteuid?.(0),
  )
  assert.equal(code, 4)
  assert.match(err, /^error: this process lacks CAP_NET_ADMIN\n {2}what to do: run as root/)
  assert.ok(!existsSync(dataDir))
})

const withPrivilege = { skip: (await hasNetAdmin()) ? false : 'needs CAP_NET_ADMIN' }

test('run whose agent would find its port taken says so at once and makes nothing', withPrivilege, async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const { code, err } = await platnet('run', '--data-dir', dataDir, '--port', `${port}`, '--log-level=off')
  assert.equal(code, 1)
  assert.match(
    err,
    /^error: tcp port \d+ on 0\.0\.0\.0 is in use by node \(pid \d+\)\n {2}what to do: choose another with --port/,
  )
  assert.ok(!existsSync(dataDir))
})

test('run refuses options that its agent would refuse, before it starts anything', async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  const { code, err } = await platnet('run', '--data-dir', dataDir, '--detect-local-mode=BridgeInterface')
  assert.deepEqual([code, err], [2, 'error: --detect-local-mode BridgeInterface needs --pod-bridge-interface\n'])
  assert.ok(!existsSync(dataDir))
})

test('a server whose data directory cannot be made says so at once', async () => {
  const { code, err } = await platnet('server', '--components=api', '--data-dir=/proc/x/y', '--log-level=off')
  assert.equal(code, 1)
  assert.match(
    err,
    /the folder \/proc\/x\/y\/pki cannot be made: .*\n {2}on: server\n {2}what to do: name a folder .* --data-dir/,
  )
})
