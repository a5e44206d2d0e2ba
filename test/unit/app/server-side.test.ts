import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { httpGet } from '../../helpers/http-get.ts'
import { findFreePort, PlatnetServer } from '../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { untilAsync } from '../../helpers/until.ts'

test('health tells of each part, leaves out what is excluded, and asks one alone', async (t) => {
  const server = new PlatnetServer(join(makeTemporaryFolder(t), 'data'), await findFreePort())
  const access = await server.start()
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
