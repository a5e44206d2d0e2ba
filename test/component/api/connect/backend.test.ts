import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { askBackend, BackendError } from '../../../../src/api/connect/backend.ts'
import { unasked } from '../../../helpers/fake-kubelet.ts'
import { findFreePort } from '../../../helpers/free-port.ts'

async function ask(port: number, tls: object | undefined, limits: { connectLimitMs?: number; headLimitMs?: number }) {
  const signal = new AbortController().signal
  const question = { method: 'GET', pathAndQuery: '/', headers: ['Host', 'x'], signal, ...limits }
  const { request, answered } = askBackend({ host: '127.0.0.1', port, tls }, question)
  request.end()
  return answered.then(
    () => assert.fail('the backend answered'),
    (thrown: unknown) => {
      assert.ok(thrown instanceof BackendError)
      return [thrown.code, thrown.message.replaceAll(String(port), 'PORT')]
    },
  )
}

test('A backend that takes connections and says nothing is given up after the limits.', async (context) => {
  const server = createServer((socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const handshake = await ask(port, {}, { connectLimitMs: 50 })
  assert.deepEqual(handshake, ['silent', '127.0.0.1:PORT took no connection within 0.05 s'])
  const head = await ask(port, undefined, { headLimitMs: 50 })
  assert.deepEqual(head, ['silent', '127.0.0.1:PORT did not answer within 0.05 s'])
})

test('A backend that is away is named with its address.', async () => {
  const port = await findFreePort()
  assert.deepEqual(await ask(port, undefined, {}), ['unreachable', 'connect ECONNREFUSED 127.0.0.1:PORT'])
})

test('A connection that has changed its protocol may be reset before anything listens for errors.', async (context) => {
  let socket: Socket | undefined
  const server = createServer((taken) => {
    socket = taken.on('error', () => {}).once('data', () => taken.write(unasked))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const question = { method: 'GET', pathAndQuery: '/', headers: ['Host', 'x'], signal: new AbortController().signal }
  const { request, answered } = askBackend({ host: '127.0.0.1', port, tls: undefined }, question)
  request.end()
  const answer = await answered
  assert.ok(answer.kind === 'upgrade')
  const closed = new Promise((resolve) => answer.socket.once('close', resolve))
  socket?.resetAndDestroy()
  assert.equal(await closed, true, 'closed by an error')
})
