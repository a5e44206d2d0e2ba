import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer, type TestServer, testToken } from '../../helpers/api-server.ts'
import { paths } from '../../helpers/manifests.ts'
import { RawConnection } from '../../helpers/raw-connection.ts'
import { until } from '../../helpers/until.ts'

const post = `POST ${paths.configMaps} HTTP/1.1`
const credentials = `authorization: Bearer ${testToken}`
const host = 'host: x'
const json = 'content-type: application/json'
const smuggled = `DELETE ${paths.configMaps}/marker HTTP/1.1\r\n${host}\r\n${credentials}\r\n\r\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
const head = (...lines: string[]) => `${[post, host, credentials, json, ...lines].join('\r\n')}\r\n\r\n`

/** Each sends a request whose end two readers could see at different places, with a request to delete behind the earlier one. */
const framings: readonly (readonly [name: string, bytes: string])[] = [
  ['Content-Length beside chunks', `${head('content-length: 6', 'transfer-encoding: chunked')}0\r\n\r\n${smuggled}`],
  ['chunks beside Content-Length', head('transfer-encoding: chunked', 'content-length: 4') + chunk(smuggled)],
  ['two Content-Lengths', `${head('content-length: 2', `content-length: ${smuggled.length + 2}`)}{}${smuggled}`],
  ['a list of Content-Lengths', `${head(`content-length: 2, ${smuggled.length}`)}{}${smuggled}`],
  ['a Content-Length with a sign', `${head('content-length: +2')}{}${smuggled}`],
  ['a Content-Length in hexadecimal', `${head('content-length: 0x2')}{}${smuggled}`],
  ['an unknown coding after chunked', `${head('transfer-encoding: chunked, identity')}0\r\n\r\n${smuggled}`],
  ['a coding that is almost chunked', `${head('transfer-encoding: xchunked')}0\r\n\r\n${smuggled}`],
  ['a space before the colon', `${head('transfer-encoding : chunked')}0\r\n\r\n${smuggled}`],
  ['a header continued on the next line', `${head('x-a: b', ' transfer-encoding: chunked')}0\r\n\r\n${smuggled}`],
  ['a header that ends in a bare LF', `${post}\n${host}\n${credentials}\ncontent-length: 0\n\n${smuggled}`],
  ['a header that ends in a bare CR', `${head('x-a: b\rtransfer-encoding: chunked')}0\r\n\r\n${smuggled}`],
  ['a NUL in a header', head('x-a: b\0c') + smuggled],
  [
    'a chunk whose size overflows',
    `${head('transfer-encoding: chunked')}10000000000000002\r\n{}\r\n0\r\n\r\n${smuggled}`,
  ],
  ['a chunk size with something behind it', `${head('transfer-encoding: chunked')}2 x\r\n{}\r\n0\r\n\r\n${smuggled}`],
  ['chunk extensions ended by a bare LF', `${head('transfer-encoding: chunked')}2;a\n{}\r\n0\r\n\r\n${smuggled}`],
]

describe('a request that does not say clearly where it ends', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', paths.configMaps, { body: { metadata: { name: 'marker' } } })
  })
  after(() => server.stop())

  for (const [name, bytes] of framings) {
    test(`(${name}) is a 400, and what stands behind it on the connection is not served`, async () => {
      using connection = await RawConnection.open(server.port)
      connection.send(bytes)
      await until('the connection is closed', () => connection.isClosed)
      assert.match(connection.text, /^HTTP\/1\.1 400 /)
      assert.equal(connection.text.split('HTTP/1.1 ').length, 2)
      await sleep(5)
      assert.equal((await server.call('GET', `${paths.configMaps}/marker`)).code, 200)
    })
  }
})
