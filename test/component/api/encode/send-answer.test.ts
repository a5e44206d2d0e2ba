import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { sendAnswer } from '../../../../src/api/encode/send-answer.ts'

/** Characters of more than one byte, so that lengths in characters would be found out. */
const pieces = Array.from({ length: 40 }, (_, index) => `${index}${'ü'.repeat(10_000)}`)

/** What a client gets of a body, and how many bytes the server says it sent. */
async function exchange(
  body: string | Iterable<string>,
  use: (response: IncomingMessage) => Promise<Buffer>,
  gzip = false,
) {
  const sent = Promise.withResolvers<number>()
  const server = createServer((request, response) => {
    sendAnswer(request, response, { httpCode: 200, contentType: 'application/json', body }).then(
      sent.resolve,
      sent.reject,
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const request = get({ host: '127.0.0.1', port, headers: gzip ? { 'accept-encoding': 'gzip' } : {} })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { received: await use(response), headers: response.headers, sentBytes: await sent.promise }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('an answer', () => {
  test('in many pieces arrives whole, and its bytes are counted', async () => {
    const { received, sentBytes } = await exchange(pieces.values(), buffer)
    assert.equal(received.toString(), pieces.join(''))
    assert.equal(sentBytes, received.length)
  })

  test('in many pieces is compressed for who takes that', async () => {
    const { received, headers, sentBytes } = await exchange(pieces.values(), buffer, true)
    assert.equal(headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(received).toString(), pieces.join(''))
    assert.equal(sentBytes, received.length)
  })

  test('of one piece says its length at the start', async () => {
    const { headers } = await exchange(['{}'].values(), buffer)
    assert.equal(headers['content-length'], '2')
  })

  test('whose client leaves in the middle ends without an error', async () => {
    const { sentBytes } = await exchange(endless(), async (response) => {
      response.destroy()
      return Buffer.alloc(0)
    })
    assert.ok(sentBytes > 0)
  })
})

function* endless(): Generator<string, void> {
  for (;;) yield 'x'.repeat(100_000)
}
