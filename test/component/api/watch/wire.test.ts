import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { startTestServer, type TestServer, testToken } from '../../../helpers/api-server.ts'
import { configMap, paths } from '../../../helpers/manifests.ts'
import { until } from '../../../helpers/until.ts'

let server: TestServer
before(async () => {
  server = await startTestServer()
})
after(() => server.stop())

/** What a client gets that asks `first` and then, without waiting for the answer, watches in that version of HTTP; two objects are made meanwhile. */
async function watchBehind(first: string, version: '1.0' | '1.1', names: readonly string[]): Promise<string> {
  const client = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false })
  let received = ''
  client.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const ask = (path: string, httpVersion: string) =>
    `GET ${path} HTTP/${httpVersion}\r\nHost: x\r\nAuthorization: Bearer ${testToken}\r\n\r\n`
  client.write(`${ask(first, '1.1')}${ask(`${paths.configMaps}?watch=1`, version)}`)
  const answers = () => received.split('cache-control: no-cache, private').length - 1
  await until('the watch is open', () => answers() === 2, 30_000)
  for (const name of names) await server.call('POST', paths.configMaps, { body: configMap(name) })
  await until('both events came', () => received.includes(`"name":"${names.at(-1)}"`), 30_000)
  client.destroy()
  return received
}

test('a watch asked for behind another request gets each event once, as one chunk', async () => {
  const received = await watchBehind('/version', '1.1', ['chunk-1', 'chunk-2'])
  const chunks = [...received.matchAll(/\r\n([0-9a-f]+)\r\n(\{"type":"ADDED".*"name":"chunk-.*\}\n)/g)]
  assert.equal(chunks.length, 2)
  for (const [, size, line] of chunks) assert.equal(Number.parseInt(size ?? '', 16), Buffer.byteLength(line ?? ''))
})

test('a client of HTTP/1.0, which knows no chunks, gets the lines alone', async () => {
  const received = await watchBehind('/version', '1.0', ['plain-1', 'plain-2'])
  const body = received.slice(received.lastIndexOf('\r\n\r\n') + 4)
  const names = body
    .split('\n')
    .filter((line) => line.includes('"plain-'))
    .map((line) => JSON.parse(line).object.metadata.name)
  assert.deepEqual(names, ['plain-1', 'plain-2'])
})
