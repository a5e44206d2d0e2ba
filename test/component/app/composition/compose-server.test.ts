import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ServerSide } from '../../../../src/app/composition/compose-server.ts'
import { createContext } from '../../../../src/app/context.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { PlatnetServer } from '../../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { untilAsync } from '../../../helpers/until.ts'

/** What each file and folder below the folder is open to beside its owner. */
function sharedModes(folder: string): Readonly<Record<string, string>> {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => {
    const { mode } = statSync(join(folder, name))
    return [name, (mode & 0o077).toString(8)] as const
  })
  return Object.fromEntries(
    [...found, ['.', (statSync(folder).mode & 0o077).toString(8)]].filter(([, mode]) => mode !== '0'),
  )
}

test('health tells of each part, leaves out what is excluded, and asks one alone; its files are open to their owner alone', async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  const server = new PlatnetServer(dataDir, await findFreePort())
  const umask = process.umask(0)
  const access = await server.start().finally(() => process.umask(umask))
  t.after(() => server.stop('SIGTERM'))
  const get = async (path: string) => {
    const { status, body } = await httpGet({ ...access, path })
    return [status, body]
  }
  const [code, verbose] = await get('/readyz?verbose')
  assert.equal(code, 200)
  assert.match(String(verbose), /^\[\+\]ping ok\n\[\+\]store ok\n\[\+\]server ok.*\nreadyz check passed\n$/)
  assert.match(String((await get('/healthz?verbose&exclude=ping,store'))[1]), /^\[\+\]server ok/)
  assert.deepEqual(await get('/livez/ping'), [200, 'ok'])
  assert.equal((await get('/livez/nothing'))[0], 404)
  assert.ok(readdirSync(join(dataDir, 'pki')).includes('service-account.key'))
  assert.deepEqual(sharedModes(dataDir), {})
})

test('a server is not ready before its kubeconfigs are written', async (t) => {
  const dataDir = join(makeTemporaryFolder(t), 'data')
  const securePort = await findFreePort()
  // What stands in the place of a kubeconfig keeps the server from writing it: its start fails once it serves.
  mkdirSync(join(dataDir, 'admin.kubeconfig'), { recursive: true })
  const flags = { dataDir, bindAddress: '127.0.0.1', securePort: String(securePort), components: 'api' }
  const readOptions = async () => loadOptions(optionGroups, { command: 'server', flags })
  const server = new ServerSide(await createContext(readOptions, {}, { fd: -1, write: () => true }))
  t.after(() => server.stop({ signal: AbortSignal.timeout(10_000) }))
  await assert.rejects(server.start())
  const ca = readFileSync(join(dataDir, 'pki/ca.crt'), 'utf8')
  const ask = async (path: string) => {
    const { status, body } = await httpGet({ host: '127.0.0.1', port: securePort, ca, path })
    return [status, body] as const
  }
  assert.equal((await ask('/readyz/ping'))[0], 200)
  const [status, body] = await ask('/readyz?verbose')
  assert.equal(status, 500)
  assert.match(body, /^\[-\]server failed/m)
})

test('a server that was asked to stop is not ready at once, and serves on for its delay', async (t) => {
  const flags = ['--components=api', '--shutdown-delay=60']
  const server = new PlatnetServer(join(makeTemporaryFolder(t), 'data'), await findFreePort(), {}, flags)
  const access = await server.start()
  t.after(() => server.stop('SIGKILL'))
  const statusOf = async (path: string) => (await httpGet({ ...access, path })).status
  process.kill(server.pid, 'SIGTERM')
  await untilAsync('readyz fails', async () => (await statusOf('/readyz')) === 500, 30_000)
  assert.equal(await statusOf('/livez'), 200)
  assert.equal(await statusOf('/version'), 200)
  assert.equal(await statusOf('/api/v1/namespaces/default'), 200)
  process.kill(server.pid, 'SIGTERM')
  assert.equal(await server.stop('SIGTERM'), 1, 'a second signal ends it at once')
})
