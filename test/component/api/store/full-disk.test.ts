import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { skipReason } from '../../../helpers/netns.ts'
import { readAdminAccess } from '../../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { untilAsync } from '../../../helpers/until.ts'

const program = join(import.meta.dirname, '../../../../scripts/platnet')

/** Starts an API server whose data directory is a disk of 8 MiB, in a mount namespace of its own. Returns the folder as seen from here. */
async function startOnSmallDisk(t: TestContext): Promise<string> {
  const folder = makeTemporaryFolder(t)
  const flags = ['--components=api', '--bind-address=127.0.0.1', `--secure-port=${await findFreePort()}`]
  const script = `mount -t tmpfs -o size=8m none ${folder} && exec "$@"`
  const args = ['-m', 'sh', '-c', script, 'sh', program, 'server', `--data-dir=${folder}`, '--log-level=off', ...flags]
  const child = spawn('unshare', args, { stdio: ['ignore', 'inherit', 'inherit'] })
  t.after(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  return `/proc/${child.pid}/root${folder}`
}

test('a server on a full disk refuses writes with the reason and takes them again once there is space', {
  skip: skipReason('unshare', 'mount'),
}, async (t) => {
  const folder = await startOnSmallDisk(t)
  const kubeconfig = join(folder, 'admin.kubeconfig')
  // The last file that its start writes: without space its start would fail.
  const hasStarted = async () => existsSync(join(folder, 'agent.kubeconfig'))
  await untilAsync('the server has written what it writes when it starts', hasStarted, 30_000)
  const access = await readAdminAccess(kubeconfig)
  const statusOf = async (path: string) => (await httpGet({ ...access, path }).catch(() => ({ status: 0 }))).status
  await untilAsync('the server is ready', async () => (await statusOf('/readyz')) === 200, 30_000)
  const write = (name: string) =>
    httpGet({
      ...access,
      path: '/api/v1/namespaces/default/configmaps',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'ConfigMap', metadata: { name }, data: { text: 'x'.repeat(50_000) } }),
    })
  const ballast = join(folder, 'ballast')
  const { bfree, bsize } = statfsSync(folder)
  writeFileSync(ballast, Buffer.alloc(bfree * bsize))
  const refused = await refusal(write)
  assert.equal(refused.status, 503)
  assert.match(refused.body, /the store does not take writes now: no space is left on the disk of \S+state\.db/)
  assert.equal(await statusOf('/readyz'), 500)
  assert.equal(await statusOf('/api/v1/namespaces/default/configmaps'), 200)
  rmSync(ballast)
  await untilAsync('the server takes writes', async () => (await write('after')).status === 201, 10_000)
  assert.equal(await statusOf('/readyz'), 200)
  assert.equal(await statusOf('/api/v1/namespaces/default/configmaps/after'), 200)
})

/** Writes until a write is refused: the journal may have room inside its file. */
async function refusal(write: (name: string) => ReturnType<typeof httpGet>): ReturnType<typeof httpGet> {
  for (let count = 0; count < 500; count++) {
    const answer = await write(`filler-${count}`)
    if (answer.status !== 201) return answer
  }
  assert.fail('500 writes of 50 kB fit on a full disk')
}
