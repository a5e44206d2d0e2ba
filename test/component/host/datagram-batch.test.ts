import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { test } from 'node:test'
import { type Datagram, DatagramBatch } from '../../../src/host/datagrams/index.ts'
import type { Ip } from '../../../src/model/ip.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { until } from '../../helpers/until.ts'

interface Opened extends Disposable {
  readonly batch: DatagramBatch
  readonly port: number
}

/** The socket has no other reader, such as `node:dgram`. */
async function openBatch(address: Ip): Promise<Opened> {
  const port = await findFreePort()
  const batch = DatagramBatch.open(address, port)
  assert.ok(batch, 'this machine gives batches')
  return { batch, port, [Symbol.dispose]: () => closeSync(batch.fd) }
}

async function openClients(
  type: 'udp4' | 'udp6',
  port: number,
  address: Ip,
  count: number,
): Promise<readonly Socket[]> {
  const clients = Array.from({ length: count }, () => createSocket(type))
  for (const client of clients) {
    client.connect(port, address)
    await once(client, 'connect')
  }
  return clients
}

async function closeAll(sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) {
    const closed = once(socket, 'close')
    socket.close()
    await closed
  }
}

/** Reads and answers until so many have come; the kernel may take its time between two sockets. */
async function untilReceived(
  batch: DatagramBatch,
  count: number,
  onDatagram: (datagram: Datagram, index: number) => void,
): Promise<void> {
  let left = count
  await until(
    'all datagrams have come',
    () => {
      const received = batch.receive()
      for (const [index, datagram] of batch.datagrams.slice(0, received).entries()) onDatagram(datagram, index)
      batch.send()
      left -= received
      return left === 0
    },
    30_000,
  )
}

for (const [type, text] of [
  ['udp4', '127.0.0.1'],
  ['udp6', '::1'],
] as const) {
  test(`datagrams to ${text} are read in batches and each is answered to where it came from`, async () => {
    const address = ipOf(text)
    using opened = await openBatch(address)
    const { batch } = opened
    const clients = await openClients(type, opened.port, address, 3)
    const answers = clients.map(async (client) => (await once(client, 'message'))[0].toString())
    for (const [index, client] of clients.entries()) client.send(`question ${index}`)
    const seen: string[] = []
    await untilReceived(batch, clients.length, (datagram, index) => {
      const question = datagram.bytes.toString('latin1', 0, datagram.length)
      seen.push(`${question} from ${datagram.address} ${datagram.port}`)
      batch.reply(index, batch.answer.write(question.replace('question', 'answer')))
    })
    const expected = clients.map((client, index) => `question ${index} from ${text} ${client.address().port}`)
    assert.deepEqual(seen.toSorted(), expected)
    assert.deepEqual(await Promise.all(answers), ['answer 0', 'answer 1', 'answer 2'])
    await closeAll(clients)
  })
}

test('more datagrams than fit into one batch are read with the next ones, the largest whole', async () => {
  const address = ipOf('127.0.0.1')
  using opened = await openBatch(address)
  const clients = await openClients('udp4', opened.port, address, 1)
  for (const sizes of [Array.from({ length: 70 }, (_, index) => index), [65_507]]) {
    for (const size of sizes) for (const client of clients) client.send(Buffer.alloc(size, 7))
    const seen: number[] = []
    await untilReceived(opened.batch, sizes.length, ({ bytes, length }) => {
      seen.push(length)
      assert.ok(bytes.subarray(0, length).every((byte) => byte === 7))
    })
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      sizes,
    )
  }
  await closeAll(clients)
})

test('an address of no machine here gives no batch: who opens it the usual way learns why', () => {
  assert.equal(DatagramBatch.open(ipOf('192.0.2.77'), 5353), undefined)
})
