import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import type {
  HandedCopy,
  HandedDatagrams,
  ListeningPlaces,
  SharedProgress,
} from '../../../../../src/node/dns/resolver/batches.ts'
import { ResolveServer } from '../../../../../src/node/dns/resolver/resolve-server.ts'
import { ipOf } from '../../../../helpers/addresses.ts'

test('a copy that is handed back has the memory of its own content, and no more', async (context) => {
  const { port1, port2 } = new MessageChannel()
  const pack = Buffer.alloc(1_000, 1)
  const message = Buffer.alloc(2_000, 2).subarray(100, 150)
  const server = new ResolveServer(port1, {
    find: () => undefined,
    takeDatagrams: (_, giveCopy) =>
      giveCopy({
        block: '.:53',
        question: pack.subarray(30, 60),
        copy: { message, kind: 'success', ageMs: 1, leftMs: 2 },
      }),
  })
  context.after(() => server.close())
  const handed: HandedDatagrams = { place: { address: ipOf('127.0.0.1'), port: 53 }, packed: new Uint8Array(0) }
  port2.postMessage(handed)
  const [{ question, copy }] = (await once(port2, 'message')) as [HandedCopy]
  assert.deepEqual(question, new Uint8Array(30).fill(1))
  assert.deepEqual(copy, { message: new Uint8Array(50).fill(2), kind: 'success', ageMs: 1, leftMs: 2 })
  assert.deepEqual([question.buffer.byteLength, copy.message.buffer.byteLength], [30, 50])
})

test('a flood of datagrams for long answers gives a bounded number of copies', async (context) => {
  const { port1, port2 } = new MessageChannel()
  const copy = { message: Buffer.alloc(60_000), kind: 'success', ageMs: 1, leftMs: 2 } as const
  const server = new ResolveServer(port1, {
    find: () => undefined,
    takeDatagrams: (_, giveCopy) => {
      for (let count = 0; count < 1_000; count += 1) giveCopy({ block: '.:53', question: Buffer.alloc(20), copy })
      server.tellPlaces([])
    },
  })
  context.after(() => server.close())
  const copies: number[] = []
  for (let turn = 0; turn < 2; turn += 1) {
    const { promise, resolve } = Promise.withResolvers<void>()
    let count = 0
    port2.removeAllListeners('message')
    port2.on('message', (message: HandedCopy | ListeningPlaces) => {
      if ('places' in message) resolve()
      else count += 1
    })
    const handed: HandedDatagrams = { place: { address: ipOf('127.0.0.1'), port: 53 }, packed: new Uint8Array(0) }
    port2.postMessage(handed)
    await promise
    copies.push(count)
  }
  assert.deepEqual(copies, [4, 4])
})

test('the other thread sees how many bytes were taken, and its end is heard', async () => {
  const { port1, port2 } = new MessageChannel()
  const taken = new Int32Array(new SharedArrayBuffer(4))
  const before: number[] = []
  const end = Promise.withResolvers<void>()
  const server = new ResolveServer(port1, {
    find: () => undefined,
    takeDatagrams: () => {
      before.push(Atomics.load(taken, 0))
      server.tellPlaces([])
    },
    onEnd: end.resolve,
  })
  port2.postMessage({ taken } satisfies SharedProgress)
  for (const length of [10, 30]) {
    const packed = new Uint8Array(length)
    port2.postMessage({ place: { address: ipOf('127.0.0.1'), port: 53 }, packed } satisfies HandedDatagrams)
    await once(port2, 'message')
  }
  assert.deepEqual(before, [10, 40])
  port2.close()
  await end.promise
})
