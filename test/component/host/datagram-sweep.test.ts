import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { DatagramBatch, DatagramSweep } from '../../../src/host/datagrams/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { until, untilAsync } from '../../helpers/until.ts'

/** A sweep with one socket that Node does not watch, and what sends datagrams to it. */
async function openSweep(context: TestContext) {
  const port = await findFreePort()
  const batch = DatagramBatch.open(ipOf('127.0.0.1'), port)
  const sweep = DatagramSweep.open()
  assert.ok(batch && sweep)
  const client = createSocket('udp4')
  client.connect(port, '127.0.0.1')
  await once(client, 'connect')
  context.after(() => {
    client.close()
    sweep.remove(batch.fd)
    sweep.calls.close(batch.fd)
    sweep.close()
  })
  /** Resolves once the datagram waits at the socket: a busy kernel delivers also those of loopback later. */
  const send = async (text: string) => {
    const before = bytesWaiting(port)
    client.send(text)
    await until('the datagram waits at the socket', () => bytesWaiting(port) > before)
  }
  return { batch, sweep, send }
}

/** What the kernel holds of unread datagrams of a port of 127.0.0.1. */
function bytesWaiting(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const line = readFileSync('/proc/net/udp', 'utf8')
    .split('\n')
    .find((each) => each.trim().split(/\s+/)[1] === address)
  const [, received = ''] = line?.trim().split(/\s+/)[4]?.split(':') ?? []
  return Number.parseInt(received, 16)
}

test('a turn ends after some milliseconds, however many datagrams come, and goes on when Node has had its own', async (context) => {
  const { batch, sweep, send } = await openSweep(context)
  let looks = 0
  // This reader never empties its socket.
  sweep.add(batch.fd, {
    onReadable: () => {
      looks += 1
      return 2
    },
  })
  await send('stays')
  await until('a turn has found the datagram', () => {
    sweep.noteDelivered(2)
    sweep.plan()
    return looks > 0
  })
  // This runs, so the turn has ended.
  const before = looks
  await until('another turn has begun', () => looks > before)
})

test('a turn waits for more only where several datagrams came', async (context) => {
  const { batch, sweep, send } = await openSweep(context)
  const waits = context.mock.method(sweep.calls, 'epoll_wait')
  waits.mock.resetCalls()
  let looked = 0
  const received: string[] = []
  sweep.add(batch.fd, {
    onReadable: () => {
      const count = batch.receive()
      for (const { bytes, length } of batch.datagrams.slice(0, count))
        received.push(bytes.toString('latin1', 0, length))
      return count
    },
    sendQueued: () => {
      looked += 1
    },
  })
  sweep.noteDelivered(1)
  sweep.plan()
  await new Promise(setImmediate)
  assert.deepEqual(
    waits.mock.calls.map(({ arguments: given }) => given[3]),
    [0],
  )
  assert.equal(looked, 1)
  await send('one')
  await untilAsync('a turn has found the datagram', async () => {
    waits.mock.resetCalls()
    looked = 0
    // Else a busy machine may cut the turn short, and another one follows.
    const clock = context.mock.method(performance, 'now', () => 0)
    sweep.noteDelivered(2)
    sweep.plan()
    await new Promise(setImmediate)
    clock.mock.restore()
    return received.length > 0
  })
  assert.deepEqual(
    waits.mock.calls.map(({ arguments: [, , , timeoutMs] }) => timeoutMs),
    [1, 1],
  )
  assert.deepEqual(received, ['one'])
  assert.equal(looked, 2, 'before the first look, and after the one that found something')
})
