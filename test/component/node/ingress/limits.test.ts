import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import type { IngressLimits } from '../../../../src/node/ingress/driver.ts'
import { ask, sendRaw, withEndpoints } from '../../../helpers/haproxy-lab.ts'
import { closing, listen, startBackend } from '../../../helpers/in-process-ingress.ts'
import { ingressDrivers } from '../../../helpers/ingress-drivers.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { untilAsync } from '../../../helpers/until.ts'

const host = 'a.example.com'
const table = routingTable({ [host]: { prefix: ['/'] } })
const answers: RequestListener = (request, response) => {
  request.resume().on('end', () => response.end('ok'))
}

async function deadPort(): Promise<number> {
  const server = createServer()
  await listen(server)
  const { port } = server.address() as AddressInfo
  await closing(server)[Symbol.asyncDispose]()
  return port
}

for (const { name, skip, create } of ingressDrivers) {
  describe(`The limits and retries of ${name}`, { skip }, () => {
    const serving = async (ports: readonly number[], limits: Partial<IngressLimits> = {}) => {
      const lab = await create(limits)
      await lab.serve(withEndpoints(table, () => ports))
      return lab
    }

    test('a client has no more requests in a second than it may', async () => {
      await using backend = await startBackend(answers)
      await using lab = await serving([backend.port], { requestsPerClient: 5 })
      const all = await Promise.all(Array.from({ length: 30 }, () => ask(lab.httpPort, host, '/')))
      const statuses = all.map(({ status }) => status)
      assert.ok(statuses.includes(200), statuses.join())
      assert.ok(statuses.filter((status) => status === 429).length >= 10, statuses.join())
    })

    test('a client has no more connections than it may, and may have new ones when they end', async () => {
      await using backend = await startBackend(answers)
      await using lab = await serving([backend.port], { connectionsPerClient: 3 })
      const held = await Promise.all(
        Array.from({ length: 3 }, async (): Promise<Socket> => {
          const socket = connect(lab.httpPort, '127.0.0.1').on('error', () => {})
          socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
          await once(socket, 'data')
          return socket
        }),
      )
      assert.equal((await ask(lab.httpPort, host, '/')).status, 0)
      for (const socket of held) socket.destroy()
      await untilAsync('it may again', async () => (await ask(lab.httpPort, host, '/')).status === 200)
    })

    test('headers that do not end in time are answered 408', async () => {
      await using backend = await startBackend(answers)
      await using lab = await serving([backend.port], { headerTimeoutMs: 300 })
      assert.equal((await sendRaw(lab.httpPort, `GET / HTTP/1.1\r\nHost: ${host}\r\n`)).status, 408)
    })

    test('an endpoint that is not there is passed over for one that is', async () => {
      await using backend = await startBackend(answers)
      await using lab = await serving([await deadPort(), backend.port])
      for (let count = 0; count < 10; count += 1) assert.equal((await ask(lab.httpPort, host, '/')).status, 200)
    })

    test('a request that an endpoint has seen is not sent again', async () => {
      let seen = 0
      const breaks: RequestListener = (request) => {
        seen += 1
        request.socket.destroy()
      }
      await using one = await startBackend(breaks)
      await using two = await startBackend(breaks)
      await using lab = await serving([one.port, two.port])
      assert.equal((await ask(lab.httpPort, host, '/')).status, 502)
      assert.equal(seen, 1)
      const post = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\n\r\nx`
      assert.equal((await sendRaw(lab.httpPort, post)).status, 502)
      assert.equal(seen, 2)
    })

    test('an endpoint that is silent for too long is answered for by 504', async () => {
      await using backend = await startBackend(() => {})
      await using lab = await serving([backend.port], { backendTimeoutMs: 300 })
      assert.equal((await ask(lab.httpPort, host, '/')).status, 504)
    })
  })
}
