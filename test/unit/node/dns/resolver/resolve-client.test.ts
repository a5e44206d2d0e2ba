import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { ForwardedQuestion } from '../../../../../src/node/dns/plugins/forward/resolve-request.ts'
import type {
  DatagramPlace,
  HandedDatagrams,
  ListeningPlaces,
  SharedProgress,
} from '../../../../../src/node/dns/resolver/batches.ts'
import { unpackDatagrams } from '../../../../../src/node/dns/resolver/datagram-pack.ts'
import { ResolveClient } from '../../../../../src/node/dns/resolver/resolve-client.ts'
import { Query } from '../../../../../src/node/dns/wire/query.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { until } from '../../../../helpers/until.ts'

const place = { address: ipOf('127.0.0.1'), port: 53 }

function handOver(client: ResolveClient, text: string): boolean {
  return client.handOver(place, Buffer.from(text), text.length, Buffer.alloc(28))
}

function question(): ForwardedQuestion {
  const query = new Query()
  const bytes = makeQuery('www.example.test.', 1)
  query.parse(bytes, bytes.length)
  return { block: '.:53', query, client: '127.0.0.1', overTcp: false, limit: 1232, wantsCopy: false }
}

/** The next datagrams that are handed over. */
async function receive(port: MessagePort): Promise<readonly string[]> {
  const { packed } = await new Promise<HandedDatagrams>((resolve) => {
    const take = (message: HandedDatagrams | SharedProgress) => {
      if (!('packed' in message)) return
      port.off('message', take)
      resolve(message)
    }
    port.on('message', take)
  })
  const texts: string[] = []
  unpackDatagrams(packed, (bytes) => void texts.push(bytes.toString()))
  return texts
}

/** The thread with the resolver says where it listens. */
async function listenAt(own: MessagePort, resolver: MessagePort, places: readonly DatagramPlace[]): Promise<void> {
  const received = once(own, 'message')
  resolver.postMessage({ places } satisfies ListeningPlaces)
  await received
}

test('datagrams of a place where the thread with the resolver does not listen are not handed over', async (context) => {
  const client = new ResolveClient()
  context.after(() => client.close())
  const { port1, port2 } = new MessageChannel()
  client.connect(port1)
  await listenAt(port1, port2, [{ ...place, port: 54 }])
  assert.equal(handOver(client, 'elsewhere'), false)
  await listenAt(port1, port2, [{ ...place, port: 54 }, place])
  assert.equal(handOver(client, 'here'), true)
  assert.deepEqual(await receive(port2), ['here'])
  await listenAt(port1, port2, [])
  assert.equal(handOver(client, 'nowhere'), false)
})

test('without a resolver no datagram is kept for later, and questions have no answer at once', async (context) => {
  const client = new ResolveClient()
  context.after(() => client.close())
  assert.equal(handOver(client, 'stale'), false)
  assert.equal(await client.resolve(question()), undefined)
  const { port1, port2 } = new MessageChannel()
  client.connect(port1)
  await listenAt(port1, port2, [place])
  assert.equal(handOver(client, 'fresh'), true)
  assert.deepEqual(await receive(port2), ['fresh'])
})

test('when the resolver ends, open questions have no answer at once, and what waited for it is dropped', async (context) => {
  const client = new ResolveClient()
  context.after(() => client.close())
  const first = new MessageChannel()
  // In the event of the end itself: the datagram waits for the end of that turn, when there is no resolver any more.
  first.port1.once('close', () => handOver(client, 'stale'))
  client.connect(first.port1)
  await listenAt(first.port1, first.port2, [place])
  const asked = client.resolve(question())
  first.port2.close()
  assert.equal(await asked, undefined)
  assert.equal(handOver(client, 'refused'), false)
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  const second = new MessageChannel()
  client.connect(second.port1)
  assert.equal(handOver(client, 'too early'), false)
  await listenAt(second.port1, second.port2, [place])
  assert.equal(handOver(client, 'fresh'), true)
  assert.deepEqual(await receive(second.port2), ['fresh'])
})

test('datagrams for a thread that does not keep up are dropped at a bound, and handed over again once it has taken what waits', async (context) => {
  const client = new ResolveClient()
  context.after(() => client.close())
  const { port1, port2 } = new MessageChannel()
  client.connect(port1)
  await listenAt(port1, port2, [place])
  const [{ taken }] = (await once(port2, 'message')) as [SharedProgress]
  const received: Uint8Array[] = []
  const long = 'x'.repeat(1000)
  // The other thread reads no message meanwhile.
  for (let turn = 0; turn < 3_000; turn += 1) {
    assert.equal(handOver(client, long), true)
    await new Promise(setImmediate)
  }
  const [dropped] = [...client.series()].map((line) => line.kind === 'counter' && line.value)
  port2.on('message', ({ packed }: HandedDatagrams) => void received.push(packed))
  await until('the messages that were sent are there', () => received.length > 0 && handOver(client, 'probe'))
  await new Promise(setImmediate)
  const bytes = received.reduce((sum, packed) => sum + packed.length, 0)
  assert.ok(bytes > 1_000_000 && bytes < 1_100_000, String(bytes))
  assert.equal(
    dropped,
    3_000 - received.filter(({ length }) => length > 1000).length,
    'each one that is dropped is counted',
  )
  const before = received.length
  Atomics.add(taken, 0, bytes)
  handOver(client, 'after')
  await until('a datagram is handed over again', () => received.length > before)
})
