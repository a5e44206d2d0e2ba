import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { parseIp } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { httpListener } from '../../../src/serve/index.ts'
import { until } from '../../helpers/until.ts'

/** Sends a request for another protocol to a listener that refuses it, and bytes behind the answer; `received` grows. */
async function ask(context: TestContext, refuse: RequestListener, { allowHalfOpen = false, behind = '' } = {}) {
  const exchange: { received: number; socket: Duplex | undefined } = { received: 0, socket: undefined }
  const listener = httpListener({
    name: 'test',
    address: parseIp('127.0.0.1') ?? assert.fail(),
    port: 0,
    log: silentLogger,
    handler: (_, response) => response.end(),
    upgrades: {
      takes: () => true,
      handle: (request, response, { socket }) => {
        exchange.socket = socket
        refuse(request, response)
      },
    },
  })
  await listener.start()
  context.after(() => listener.stop({ signal: AbortSignal.timeout(0) }))
  const client = connect({ port: listener.port ?? 0, host: '127.0.0.1', allowHalfOpen })
  context.after(() => client.destroy())
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  client.once('data', () => client.write(behind))
  client.on('data', (part: Buffer) => (exchange.received += part.length))
  return exchange
}

describe('a refused request for another protocol', () => {
  const refuse: RequestListener = (_, response) => response.writeHead(403).end('no')

  test('closes its connection, also when the client has sent more', async (context) => {
    for (const behind of ['', 'x']) {
      const exchange = await ask(context, refuse, { behind })
      await until('the connection is closed', () => exchange.socket?.closed === true, 5_000)
    }
  })

  test('closes its connection when the client does not', async (context) => {
    const exchange = await ask(context, refuse, { allowHalfOpen: true })
    await until('the connection is closed', () => exchange.socket?.closed === true, 5_000)
  })

  test('is answered in full where the answer is longer than the buffers', async (context) => {
    const part = Buffer.alloc(4_000_000)
    const exchange = await ask(context, (_, response) => {
      response.writeHead(403)
      if (response.write(part)) assert.fail('the buffers take the whole part')
      response.once('drain', () => response.end(part))
    })
    await until('all came', () => exchange.received > 2 * part.length, 5_000)
  })
})
