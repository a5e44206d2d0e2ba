import assert from 'node:assert/strict'
import http, { type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { findConsoles } from '../../../../src/app/commands/console.ts'
import { besideConsole, ConsoleDoor } from '../../../../src/app/composition/console-door.ts'
import { createConsole } from '../../../../src/console/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeServices, fakeSource } from '../../../helpers/console-source.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'

async function openDoor(context: TestContext, port?: number) {
  let loads = 0
  const door = new ConsoleDoor({
    port: port ?? (await findFreePort()),
    option: '--console-port',
    access: { isPublic: () => false, bearerTokens: () => ['good-token'] },
    load: () => {
      loads += 1
      return createConsole(fakeSource(new FakeServices()).source)
    },
    log: silentLogger,
  })
  await door.start()
  context.after(() => door.stop({ signal: AbortSignal.timeout(1_000) }))
  return { door, loads: () => loads }
}

/** Serves at a unix socket: its clients have no address, so they count as from elsewhere. */
async function remotely(context: TestContext, handler: RequestListener) {
  const server = http.createServer(handler)
  const socketPath = `\0platnet-console-${process.pid}-${Math.random()}`
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  context.after(() => server.close())
  return (path: string, headers: Record<string, string> = {}) => httpGet({ socketPath, path, headers })
}

test('From elsewhere a request without a token is refused before any code of the console is loaded.', async (context) => {
  const { door, loads } = await openDoor(context)
  const get = await remotely(context, door.handler)
  for (const path of ['/console/', '/console/api/stream', '/console/api/service?service=a/b']) {
    assert.equal((await get(path)).status, 401)
    assert.equal((await get(path, { authorization: 'Bearer bad-token' })).status, 401)
  }
  assert.equal(loads(), 0)
  assert.equal((await get('/console/', { authorization: 'Bearer good-token' })).status, 200)
  assert.equal(loads(), 1)
})

test('Over loopback a foreign Host is refused, so that a name which leads to 127.0.0.1 reads nothing.', async (context) => {
  const port = await findFreePort()
  const { loads } = await openDoor(context, port)
  const get = (host: string) => httpGet({ host: '127.0.0.1', port, path: '/console/', headers: { host } })
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example'])
    assert.equal((await get(host)).status, 403, host)
  assert.equal(loads(), 0)
  for (const host of [`localhost:${port}`, '127.0.0.1', `[::1]:${port}`])
    assert.equal((await get(host)).status, 200, host)
})

test('A page of another origin reads nothing and may link here.', async (context) => {
  const port = await findFreePort()
  await openDoor(context, port)
  const get = (site: string, mode: string) =>
    httpGet({
      host: '127.0.0.1',
      port,
      path: '/console/',
      headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode },
    })
  assert.equal((await get('cross-site', 'no-cors')).status, 403)
  assert.equal((await get('same-site', 'cors')).status, 403)
  assert.equal((await get('cross-site', 'navigate')).status, 200)
  assert.equal((await get('same-origin', 'cors')).status, 200)
})

test('Another listener gives the paths of the console to it and keeps its own.', async (context) => {
  const { door } = await openDoor(context)
  const others: RequestListener = (_, response) => response.end('others')
  const get = await remotely(context, besideConsole(door.handler, others))
  assert.equal((await get('/console/')).status, 401)
  assert.equal((await get('/console')).status, 401)
  assert.equal((await get('/consoles')).body, 'others')
  assert.equal((await get('/metrics')).body, 'others')
})

test('A port that another process has is a degraded console and no failed start.', async (context) => {
  const port = await findFreePort()
  await openDoor(context, port)
  const { door } = await openDoor(context, port)
  assert.equal(door.health().level, 'degraded')
  assert.match(door.health().message, /another process listens there/)
})

test('platnet console finds a console by its answer to OPTIONS, without loading it.', async (context) => {
  const [consolePort, serverConsolePort] = [await findFreePort(), await findFreePort()]
  const { loads } = await openDoor(context, consolePort)
  const found = await findConsoles({ console: true, consolePort, serverConsolePort })
  assert.deepEqual(
    found.map(({ scope, answers }) => [scope, answers]),
    [
      ['node', true],
      ['cluster', false],
    ],
  )
  assert.equal(loads(), 0)
})
