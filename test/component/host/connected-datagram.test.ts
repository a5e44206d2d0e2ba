import assert from 'node:assert/strict'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type ConnectedDatagram, ConnectedDatagrams } from '../../../src/host/datagrams/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { until } from '../../helpers/until.ts'

interface Server {
  readonly socket: Socket
  readonly port: number
  readonly seen: { readonly text: string; readonly from: RemoteInfo }[]
}

/** A server on the loopback that gives each datagram back. */
async function openServer(context: TestContext, address: string): Promise<Server> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  const seen: Server['seen'] = []
  socket.on('message', (bytes, from) => {
    seen.push({ text: bytes.toString(), from })
    socket.send(bytes, from.port, from.address)
  })
  context.after(() => socket.close())
  return { socket, port: socket.address().port, seen }
}

interface Client {
  readonly datagram: ConnectedDatagram
  readonly received: string[]
  readonly errors: unknown[]
}

function openClient(context: TestContext, address: string, port: number, source?: string): Client {
  const received: string[] = []
  const errors: unknown[] = []
  const sockets = new ConnectedDatagrams({
    address: ipOf(address),
    port,
    source: source === undefined ? undefined : ipOf(source),
  })
  const datagram = sockets.open({
    onMessage: (bytes, length) => void received.push(bytes.toString('latin1', 0, length)),
    onError: (error) => void errors.push(error),
  })
  context.after(() => {
    datagram.close()
    sockets.close()
  })
  return { datagram, received, errors }
}

for (const address of ['127.0.0.1', '::1'])
  test(`many sockets to ${address} send and receive, each by its own port`, async (context) => {
    const server = await openServer(context, address)
    const clients = Array.from({ length: 40 }, () => openClient(context, address, server.port))
    for (let round = 0; round < 5; round += 1)
      for (const [index, { datagram }] of clients.entries()) datagram.send(Buffer.from(`${index} ${round}`))
    await until('all answers are here', () => clients.every(({ received }) => received.length === 5))
    for (const [index, { received }] of clients.entries())
      assert.deepEqual(
        received.toSorted(),
        [0, 1, 2, 3, 4].map((round) => `${index} ${round}`),
      )
    assert.equal(new Set(server.seen.map(({ from }) => from.port)).size, clients.length)
  })

test('a socket changes to another random port, by which it goes on', async (context) => {
  const server = await openServer(context, '127.0.0.1')
  const { datagram, received } = openClient(context, '127.0.0.1', server.port)
  for (let round = 0; round < 20; round += 1) {
    datagram.send(Buffer.from(`round ${round}`))
    await until('its answer is here', () => received.length === round + 1)
    assert.ok(datagram.changePort())
  }
  const ports = new Set(server.seen.map(({ from }) => from.port))
  assert.ok(ports.size >= 19, `${ports.size} ports`)
  assert.ok(Math.max(...ports) - Math.min(...ports) > 1000, 'they are spread over the range')
})

test('only what comes from the address and port of the peer is received, before and after a change of the port', async (context) => {
  const server = await openServer(context, '127.0.0.1')
  const stranger = createSocket('udp4')
  stranger.bind(0, '127.0.0.1')
  await once(stranger, 'listening')
  context.after(() => stranger.close())
  const { datagram, received } = openClient(context, '127.0.0.1', server.port)
  for (const name of ['first', 'second']) {
    datagram.send(Buffer.from(name))
    await until('the answer is here', () => received.includes(name))
    const port = server.seen.at(-1)?.from.port ?? 0
    await new Promise((resolve) => stranger.send('forged', port, '127.0.0.1', resolve))
    datagram.send(Buffer.from(`${name} again`))
    await until('the next answer is here', () => received.includes(`${name} again`))
    datagram.changePort()
  }
  assert.ok(!received.includes('forged'))
})

test('a source address stays over changes of the port', async (context) => {
  const server = await openServer(context, '127.0.0.1')
  const { datagram, received } = openClient(context, '127.0.0.1', server.port, '127.0.0.9')
  for (let round = 0; round < 3; round += 1) {
    datagram.send(Buffer.from(`${round}`))
    await until('the answer is here', () => received.length === round + 1)
    datagram.changePort()
  }
  assert.deepEqual(new Set(server.seen.map(({ from }) => from.address)), new Set(['127.0.0.9']))
  assert.ok(new Set(server.seen.map(({ from }) => from.port)).size > 1)
})

test('a peer without a listener is reported at once', async (context) => {
  const { datagram, errors } = openClient(context, '127.0.0.1', await findFreePort())
  datagram.send(Buffer.from('question'))
  await until('the error is here', () => errors.length > 0)
  assert.match(String(errors[0]), /ECONNREFUSED/)
})

test('a Node without node:ffi sends and receives as well, and cannot change the port', async (context) => {
  const server = await openServer(context, '127.0.0.1')
  context.mock.method(process, 'getBuiltinModule', () => undefined)
  const { datagram, received } = openClient(context, '127.0.0.1', server.port)
  context.mock.restoreAll()
  datagram.send(Buffer.from('question'))
  await until('the answer is here', () => received.length === 1)
  assert.equal(datagram.changePort(), false)
})
