import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startTestServer, type TestServer, testToken } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const writesPerSecond = 500
const sampleEveryWrites = 250
const mergePatch = { 'content-type': 'application/merge-patch+json' }

/** Bytes by which the process grew at most while one watch was not read under so many seconds of writes; history is dropped all along. */
export async function measureStalledReader(seconds: number): Promise<number> {
  await using server = await startTestServer()
  const collectGarbage = exposeGarbageCollector()
  const path = `${paths.configMaps}/written`
  const write = (count: number) =>
    server.call('PATCH', path, { body: { data: { count: String(count) } }, headers: mergePatch })
  await server.call('POST', paths.configMaps, { body: configMap('written', { blob: 'x'.repeat(8_000) }) })
  for (let count = 0; count < 500; count++) await write(count)
  const held = async () => {
    await server.store.compact(server.store.revision)
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = await held()
  const stalled = await stall(server)
  let most = before
  const startMs = performance.now()
  for (let count = 0; count < seconds * writesPerSecond; count++) {
    await sleep(Math.max(0, startMs + (count * 1000) / writesPerSecond - performance.now()))
    assert.equal((await write(-count)).code, 200)
    if (count % sampleEveryWrites === 0) most = Math.max(most, await held())
  }
  stalled.destroy()
  return most - before
}

/** A watch whose client reads its first bytes and no more. */
async function stall(server: TestServer): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  socket.write(`GET ${paths.configMaps}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${testToken}\r\n\r\n`)
  await once(socket, 'readable')
  return socket.pause()
}

function exposeGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
