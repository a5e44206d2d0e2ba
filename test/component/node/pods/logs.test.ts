import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { EngineClient } from '../../../../src/host/index.ts'
import { readEngineLog } from '../../../../src/node/pods/engine-log.ts'
import { EngineRuntime } from '../../../../src/node/pods/engine-runtime.ts'
import { readLog } from '../../../../src/node/pods/logs.ts'
import { PodFolders, type StoredPod } from '../../../../src/node/pods/pod-folders.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const record: StoredPod = {
  uid: 'u-1',
  namespace: 'default',
  name: 'web',
  hostNetwork: false,
  portMappings: [],
  image: '',
  sandbox: 'ready',
  ips: [],
  containers: { main: { attempt: 1, level: 1 } },
}
const request = { namespace: 'default', pod: 'web', container: undefined, previous: false }

/** Creates a pod of one container whose second run goes on; returns the folder of its log. */
async function makeLog(context: TestContext, stored: StoredPod = record) {
  const folders = new PodFolders(makeTemporaryFolder(context))
  await folders.write(stored)
  const run = folders.runFolder('u-1', { container: 'main', attempt: 1 })
  const log = join(run, 'log')
  mkdirSync(log, { recursive: true })
  return { folders, run, log }
}

async function readAll(log: AsyncIterable<Buffer>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(log)).toString()
}

const asOtherUser = { skip: process.geteuid?.() === 0 ? false : 'only root can become another user' }

describe('the log of a container', () => {
  test('of a user who may not read the pods is refused as such', asOtherUser, async (context) => {
    const { folders } = await makeLog(context)
    process.seteuid?.(65_534)
    try {
      await assert.rejects(readAll(readLog(folders, request, { follow: false })), {
        code: 'EACCES',
        remedy: 'run it as root',
      })
    } finally {
      process.seteuid?.(0)
    }
  })

  test('is read from its oldest file to its end', async (context) => {
    const { folders, log } = await makeLog(context)
    writeFileSync(join(log, '1000007'), 'seven ')
    writeFileSync(join(log, '1000008'), 'eight')
    assert.equal(await readAll(readLog(folders, request, { follow: false })), 'seven eight')
  })

  test('is followed over new and removed files, until the container has ended', async (context) => {
    const { folders, run, log } = await makeLog(context)
    writeFileSync(join(log, '1000000'), 'a')
    const following = readLog(folders, request, { follow: true })
    const read = async () => String((await following.next()).value)
    assert.equal(await read(), 'a')
    appendFileSync(join(log, '1000000'), 'b')
    assert.equal(await read(), 'b')
    writeFileSync(join(log, '1000001'), 'c')
    rmSync(join(log, '1000000'))
    assert.equal(await read(), 'c')
    appendFileSync(join(log, '1000001'), 'd')
    writeFileSync(join(run, 'exit'), '0 1\n')
    assert.equal(await read(), 'd')
    assert.equal((await following.next()).done, true)
  })

  test('is no longer read when its reader has gone, though nothing new came', { timeout: 20_000 }, async (context) => {
    const { folders, log } = await makeLog(context)
    writeFileSync(join(log, '1000000'), 'a')
    const reader = new AbortController()
    const following = readLog(folders, request, { follow: true, signal: reader.signal })
    assert.equal(String((await following.next()).value), 'a')
    const waiting = following.next()
    reader.abort()
    assert.equal((await waiting).done, true)
  })

  test('shows its last lines over several files, with or without a final newline, and goes on from there', async (context) => {
    const { folders, run, log } = await makeLog(context)
    writeFileSync(join(log, '1000000'), 'one\ntwo\nth')
    writeFileSync(join(log, '1000001'), 'ree\nfour\n')
    const last = (tail: number) => readAll(readLog(folders, request, { follow: false, tail }))
    const all = 'one\ntwo\nthree\nfour\n'
    assert.deepEqual(await Promise.all([0, 1, 2, 3, 4, 9].map(last)), [
      '',
      'four\n',
      'three\nfour\n',
      'two\nthree\nfour\n',
      all,
      all,
    ])
    writeFileSync(join(log, '1000002'), '')
    assert.equal(await last(1), 'four\n')
    writeFileSync(join(log, '1000002'), 'fi')
    assert.deepEqual([await last(1), await last(2)], ['fi', 'four\nfi'])
    const following = readLog(folders, request, { follow: true, tail: 0 })
    const next = following.next()
    appendFileSync(join(log, '1000002'), 've\n')
    assert.equal(String((await next).value), 've\n')
    writeFileSync(join(run, 'exit'), '0 1\n')
    assert.equal((await following.next()).done, true)
  })

  test('that does not exist is an error with a remedy', async (context) => {
    const { folders } = await makeLog(context)
    const ask = (changes: object) => readAll(readLog(folders, { ...request, ...changes }, { follow: false }))
    await assert.rejects(ask({ pod: 'other' }), { code: 'no-logs', object: 'Pod default/other' })
    await assert.rejects(ask({ container: 'side' }), {
      code: 'no-logs',
      message: /no container "side" has run in the pod: there is main/,
    })
    await assert.rejects(ask({ previous: true }), { code: 'no-logs', message: /main has not run before/ })
    const two = { ...record, containers: { ...record.containers, side: { attempt: 0, level: 0 } } }
    await folders.write(two)
    await assert.rejects(ask({}), { code: 'no-logs', message: /one of: main, side/ })
  })

  test('ends for its reader when the pod is removed', async (context) => {
    const { folders, log } = await makeLog(context)
    writeFileSync(join(log, '1000000'), 'a')
    const following = readLog(folders, request, { follow: true })
    assert.equal(String((await following.next()).value), 'a')
    folders.remove('u-1')
    assert.equal(existsSync(log), false)
    assert.equal((await following.next()).done, true)
  })
})

describe('the log of an engine', () => {
  const frame = (stream: number, text: string) => {
    const head = Buffer.alloc(8)
    head.writeUInt8(stream)
    head.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([head, Buffer.from(text)])
  }
  const read = (chunks: readonly Buffer[]) => {
    const engine = {
      socketPath: '/run/engine.sock',
      stream: async () =>
        (async function* () {
          yield* chunks
        })(),
    }
    return readAll(readEngineLog(engine, 'c', { follow: false }))
  }

  test('does not depend on how its frames are split into chunks', async () => {
    const whole = Buffer.concat([frame(1, 'out\n'), frame(2, ''), frame(2, 'err ü\n'), frame(1, 'x'.repeat(500))])
    for (const size of [1, 3, 8, 9, 100, whole.length]) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
        whole.subarray(i * size, (i + 1) * size),
      )
      assert.equal(await read(chunks), `out\nerr ü\n${'x'.repeat(500)}`, `pieces of ${size}`)
    }
  })

  test('in another format is an error', async () => {
    await assert.rejects(read([Buffer.from('plain text, no frames')]), { code: 'bad-answer' })
  })

  test('is no longer asked for when its reader has gone', { timeout: 20_000 }, async (context) => {
    const socket = join(makeTemporaryFolder(context), 'engine.sock')
    const engine = createServer((_, response) => response.write(frame(1, 'a')))
    context.after(() => engine.close().closeAllConnections())
    const connected = once(engine, 'connection')
    await new Promise<void>((resolve) => engine.listen(socket, resolve))
    const reader = new AbortController()
    const following = readEngineLog(new EngineClient(socket), 'c', { follow: true, signal: reader.signal })
    assert.equal(String((await following.next()).value), 'a')
    const [connection] = await connected
    const [closed, waiting] = [once(connection, 'close'), assert.rejects(following.next(), { name: 'AbortError' })]
    reader.abort()
    await Promise.all([closed, waiting])
  })

  /** Starts an engine with one container of the pod and its sandbox container; returns the requests that it got. */
  async function serveEngine(context: TestContext, socketPath: string, logStatus: number, log: Buffer) {
    const asked: string[] = []
    const labels = { 'platnet.container': 'main', 'platnet.attempt': '1' }
    const list = JSON.stringify([{ Id: 'holder' }, { Id: 'joined', Labels: labels }])
    const engine = createServer(({ method, url = '' }, response) => {
      asked.push(`${method} ${url.replace(/\?.*/, '')}`)
      if (url.includes('/logs')) response.writeHead(logStatus).end(log)
      else response.end(url.includes('/containers/json') ? list : '{}')
    })
    await new Promise<void>((resolve) => engine.listen(socketPath, resolve))
    context.after(() => engine.close())
    return asked
  }

  for (const [logStatus, outcome] of [
    [200, 'outlives its container, the last of it'],
    [500, 'keeps no container from going where it cannot be had'],
  ] as const) {
    test(outcome, async (context) => {
      const socket = join(makeTemporaryFolder(context), 'engine.sock')
      const folders = new PodFolders(makeTemporaryFolder(context))
      const line = `${'x'.repeat(99)}\n`
      const long = Buffer.concat([
        frame(1, 'first\n'),
        ...Array.from({ length: 25_000 }, () => frame(1, line)),
        frame(2, 'last\n'),
      ])
      const asked = await serveEngine(context, socket, logStatus, long)
      await folders.write({ ...record, engineSocket: socket, sandbox: 'removing' })
      const engine = new EngineClient(socket)
      const runtime = new EngineRuntime({ engine, folders, hostIps: () => [], log: silentLogger })
      await runtime.removeSandbox({ ...record, engineSocket: socket })
      assert.deepEqual(asked.slice(-2), ['DELETE /v1.40/containers/joined', 'DELETE /v1.40/containers/holder'])
      const kept = readAll(readLog(folders, request, { follow: true }))
      if (logStatus !== 200) return assert.rejects(kept)
      const text = await kept
      assert.equal(text.length, 1024 * 1024)
      assert.ok(text.endsWith(`${line}last\n`))
    })
  }
})
