import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { Agent, createServer, type RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseIp } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { httpListener, httpsListener, type Listener, unixListener } from '../../../src/serve/index.ts'
import { makeThrowawayCa } from '../../helpers/certificates.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { until } from '../../helpers/until.ts'

const address = parseIp('127.0.0.1') ?? assert.fail()
const hello: RequestListener = (_request, response) => response.end('hello')
const within = (ms: number) => ({ signal: AbortSignal.timeout(ms) })

function plain(handler: RequestListener, port = 0): Listener {
  return httpListener({ name: 'test', address, port, handler, log: silentLogger })
}

async function started(context: TestContext, listener: Listener): Promise<number> {
  await listener.start()
  context.after(() => listener.stop(within(0)))
  return listener.port ?? 0
}

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platnet-serve-'))
  context.after(() => rm(folder, { recursive: true }))
  return folder
}

test('A listener answers from start to stop, and its health follows.', async () => {
  const listener = plain(hello)
  assert.equal(listener.health().level, 'unknown')
  await listener.start()
  const port = listener.port ?? 0
  assert.equal(listener.health().level, 'ok')
  assert.equal((await httpGet({ host: address, port })).body, 'hello')
  await listener.stop(within(1000))
  await listener.stop(within(1000))
  assert.equal(listener.health().level, 'stopped')
  await assert.rejects(httpGet({ host: address, port }), { code: 'ECONNREFUSED' })
})

test('A port in use is refused with what to do, and a stop after that is harmless.', async (context) => {
  const port = await started(context, plain(hello))
  const second = plain(hello, port)
  await assert.rejects(second.start(), {
    code: 'address-in-use',
    object: `127.0.0.1:${port}`,
    message: `test cannot listen on 127.0.0.1:${port}: another process listens there`,
    remedy: 'stop that process or choose another port',
  })
  await second.stop(within(100))
  const named = httpListener({ name: 'test', handler: hello, log: silentLogger, address, port, portOption: '--port' })
  await assert.rejects(named.start(), { remedy: 'stop that process or choose another port with --port' })
})

test('Stop lets the answer in flight finish and ends idle connections at once.', async () => {
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const listener = plain(async (_request, response) => {
    arrived.resolve()
    await released.promise
    response.end('done')
  })
  await listener.start()
  const port = listener.port ?? 0
  const agent = new Agent({ keepAlive: true })
  const silent = connect(port, '127.0.0.1').resume()
  await once(silent, 'connect')
  const silentClosed = once(silent, 'close')
  const answer = httpGet({ host: address, port, agent })
  await arrived.promise
  const stopped = listener.stop(within(10_000))
  released.resolve()
  assert.equal((await answer).body, 'done')
  await stopped
  await silentClosed
  agent.destroy()
})

test('Stop cuts off what is still in flight at its deadline.', async () => {
  const arrived = Promise.withResolvers<void>()
  const listener = plain((_request, response) => {
    response.write('the first event of an endless watch')
    arrived.resolve()
  })
  await listener.start()
  const cut = assert.rejects(httpGet({ host: address, port: listener.port }), { code: 'ECONNRESET' })
  await arrived.promise
  await listener.stop(within(50))
  await cut
})

test('A request header beyond the limit is refused.', async (context) => {
  const port = await started(context, plain(hello))
  const { status } = await httpGet({ host: address, port, headers: { x: 'y'.repeat(40_000) } })
  assert.equal(status, 431)
})

test('TLS serves with the given certificate, asks for one of the client, and lets the handler judge it.', async (context) => {
  const ca = makeThrowawayCa('cluster')
  const stranger = makeThrowawayCa('stranger')
  const listener = httpsListener({
    name: 'test',
    address,
    port: 0,
    log: silentLogger,
    tls: { ...ca.issue('server'), clientCa: ca.certificate },
    handler: ({ socket }, response) => response.end(String('authorized' in socket && socket.authorized)),
  })
  const target = { host: address, port: await started(context, listener), ca: ca.certificate }
  const member = ca.issue('client')
  const foreign = stranger.issue('client')
  assert.equal((await httpGet(target)).body, 'false')
  assert.equal((await httpGet({ ...target, cert: member.certificate, key: member.key })).body, 'true')
  assert.equal((await httpGet({ ...target, cert: foreign.certificate, key: foreign.key })).body, 'false')
  await assert.rejects(httpGet({ ...target, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }))
  await assert.rejects(httpGet({ ...target, ca: stranger.certificate }))
})

test('A replaced certificate is served to new connections while the listener runs.', async (context) => {
  const first = makeThrowawayCa('first')
  const second = makeThrowawayCa('second')
  const tls = first.issue('server')
  const listener = httpsListener({ name: 'test', address, port: 0, log: silentLogger, tls, handler: hello })
  const port = await started(context, listener)
  assert.equal((await httpGet({ host: address, port, ca: first.certificate })).body, 'hello')
  listener.replaceTls(second.issue('server'))
  assert.equal((await httpGet({ host: address, port, ca: second.certificate })).body, 'hello')
  await assert.rejects(httpGet({ host: address, port, ca: first.certificate }))
})

test('TLS stops gracefully too, also while a client has not begun its handshake.', async () => {
  const ca = makeThrowawayCa('cluster')
  const body = 'x'.repeat(2_000_000)
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const listener = httpsListener({
    name: 'test',
    address,
    port: 0,
    log: silentLogger,
    tls: ca.issue('server'),
    handler: async (_request, response) => {
      arrived.resolve()
      await released.promise
      response.end(body)
    },
  })
  await listener.start()
  const port = listener.port ?? 0
  const silent = connect(port, '127.0.0.1').resume()
  await once(silent, 'connect')
  const answer = httpGet({ host: address, port, ca: ca.certificate })
  await arrived.promise
  const stopped = listener.stop(within(10_000))
  released.resolve()
  assert.equal((await answer).body.length, body.length)
  await stopped
})

test('A unix socket is for its user only and is gone after the stop.', async (context) => {
  const path = join(await temporaryFolder(context), 'new', 'agent.sock')
  const listener = unixListener({ name: 'control', path, handler: hello, log: silentLogger })
  await listener.start()
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.equal((await httpGet({ socketPath: path })).body, 'hello')
  await listener.stop(within(1000))
  await assert.rejects(stat(path), { code: 'ENOENT' })
})

test('The socket of a dead owner is replaced; that of a live one is refused and keeps working.', async (context) => {
  const path = join(await temporaryFolder(context), 'agent.sock')
  const options = { name: 'control', path, handler: hello, log: silentLogger }
  const holder = createServer().listen(`${path}.born`)
  await once(holder, 'listening')
  await rename(`${path}.born`, path)
  holder.close()
  await once(holder, 'close')
  assert.ok((await stat(path)).isSocket(), 'the file of the dead owner is still there')

  await started(context, unixListener(options))
  assert.equal((await httpGet({ socketPath: path })).body, 'hello')
  await assert.rejects(unixListener(options).start(), { code: 'address-in-use', object: path })
  assert.equal((await httpGet({ socketPath: path })).body, 'hello')
})

test('A file that is not a socket is never removed.', async (context) => {
  const path = join(await temporaryFolder(context), 'agent.sock')
  await writeFile(path, 'precious')
  const listener = unixListener({ name: 'control', path, handler: hello, log: silentLogger })
  await assert.rejects(listener.start(), { code: 'not-a-socket' })
  assert.equal((await stat(path)).size, 8)
})

test('A client that shows who it is gets through however many connections its address holds open.', async (context) => {
  const known: Socket[] = []
  const listener = plain((request, response) => {
    listener.settle(request.socket)
    known.push(request.socket)
    response.end('hello')
  })
  const port = await started(context, listener)
  const hold = async () => {
    const socket = connect(port, address).on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const agent = new Agent({ keepAlive: true })
  context.after(() => agent.destroy())
  const get = () => httpGet({ host: address, port, path: '/', agent })
  assert.equal((await get()).body, 'hello')
  const idle: Socket[] = []
  for (let round = 0; round < 21; round++) idle.push(...(await Promise.all(Array.from({ length: 98 }, hold))))
  context.after(() => {
    for (const socket of idle) socket.destroy()
  })
  assert.equal((await get()).body, 'hello')
  assert.equal((await httpGet({ host: address, port, path: '/' })).body, 'hello')
  await until('the oldest are closed', () => idle.filter(({ closed }) => closed).length >= 10)
  assert.ok(idle.slice(-1_900).every(({ closed }) => !closed))
  assert.equal(known[0]?.destroyed, false)
})
