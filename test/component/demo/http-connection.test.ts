import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { type Answer, HttpConnection } from '../../../src/demo/http-connection.ts'

/** One request to a server that does this with the connection. */
async function ask(serve: (socket: Socket) => void): Promise<{ answer: Answer; isOpen: boolean }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => serve(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connection = new HttpConnection({ host: '127.0.0.1', port, source: undefined }, true, 200)
  const answer = await connection.send()
  const { isOpen } = connection
  connection.close()
  server.close()
  return { answer, isOpen }
}

const head = 'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n'

test('an answer is the pod in the first word of the body, and the connection can be used again', async () => {
  assert.deepEqual(await ask((socket) => socket.write(`${head}\r\nweb-1 10.244.0.1`)), {
    answer: { pod: 'web-1' },
    isOpen: true,
  })
})

test('an answer may come in pieces', async () => {
  const { answer } = await ask((socket) => {
    socket.write(head)
    setTimeout(() => socket.write('\r\nweb-1 '), 5)
    setTimeout(() => socket.write('10.244.0.1'), 10)
  })
  assert.deepEqual(answer, { pod: 'web-1' })
})

test('a close that the server announces ends the use of the connection, not the answer', async () => {
  assert.deepEqual(await ask((socket) => socket.end(`${head}Connection: close\r\n\r\nweb-1 10.244.0.1`)), {
    answer: { pod: 'web-1' },
    isOpen: false,
  })
})

test('an answer cut short, a reset, silence and another status are failures with their reason', async () => {
  assert.deepEqual((await ask((socket) => socket.end(`${head}\r\nweb`))).answer, { failure: 'closed' })
  assert.deepEqual((await ask((socket) => socket.resetAndDestroy())).answer, { failure: 'ECONNRESET' })
  assert.deepEqual((await ask(() => {})).answer, { failure: 'timeout' })
  const refusal = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'
  assert.deepEqual((await ask((socket) => socket.write(refusal))).answer, { failure: 'status 503' })
})
