import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import type { ListenAddress } from '../../../../../src/node/dns/plugins/client.ts'
import {
  type GiveCopy,
  packResults,
  type RequestBatch,
  type SharedProgress,
  unpackRequests,
} from '../../../../../src/node/dns/resolver/batches.ts'
import { DatagramPack } from '../../../../../src/node/dns/resolver/datagram-pack.ts'
import { ResolveClient } from '../../../../../src/node/dns/resolver/resolve-client.ts'
import { type LocalResolver, Responder } from '../../../../../src/node/dns/serve/responder.ts'
import { type Forward, keepClient, UdpServer } from '../../../../../src/node/dns/serve/udp-server.ts'
import { rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readLayout, readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { encodeName } from '../../../../../src/node/dns/wire/name.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp, servedBlock } from '../../../../helpers/dns-server.ts'
import { TestZone } from '../../../../helpers/dns-zone.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { makeService } from '../../../../helpers/services.ts'
import { answerBytes, seeAnswer } from '../../../../helpers/upstream-messages.ts'

const block = servedBlock({ cache: undefined, forwards: true })

test('questions that wait together are answered in one batch: from memory, later, or not at all', (context) =>
  answerMany(context, true))

test('waiting questions are answered one by one on a Node without node:ffi', (context) => answerMany(context, false))

async function answerMany(context: TestContext, isBatched: boolean): Promise<void> {
  const { zone } = new TestZone().add({ service: makeService('default/web', '10.96.4.2'), slices: [] })
  zone.setNamespace('default', true)
  zone.markSynced()
  const line = new ResolveClient()
  // The resolver gives every question back, its AA bit set: an answer of its kind.
  const { port1, port2 } = new MessageChannel()
  port2.on('message', (message: RequestBatch | SharedProgress) => {
    if ('taken' in message) return
    const results = unpackRequests(message).map(
      ({ id, question }) => ({ id, message: question, plugin: 'forward', ageMs: 0 }) as const,
    )
    port2.postMessage(packResults(results))
  })
  line.connect(port1)
  const listenAddress: ListenAddress = {
    address: ipOf('127.0.0.1'),
    port: await findFreePort(),
    access: 'all',
    blocks: [0],
  }
  const responder = new Responder({ resolve: (request) => line.resolve(request), writeLog: () => {} })
  responder.configure({ blocks: [block], addresses: [listenAddress], clusterSources: [], maxConnections: 1 }, [
    zone.table,
  ])
  const server = new UdpServer({ current: listenAddress }, responder)
  if (!isBatched) context.mock.method(process, 'getBuiltinModule', () => undefined)
  await server.listen()
  context.mock.restoreAll()

  const client = createSocket('udp4')
  client.connect(listenAddress.port, listenAddress.address)
  await once(client, 'connect')
  const kinds = [
    'web.default.svc.cluster.local.',
    'www.example.test.',
    'absent.default.svc.cluster.local.',
    'no question',
  ] as const
  const expected: string[] = []
  const all = Promise.withResolvers<void>()
  const seen: string[] = []
  client.on('message', (bytes: Buffer) => {
    const { id, rcode } = readMessage(bytes, bytes.length)
    seen.push(`${id} ${rcode}`)
    if (seen.length === 150) all.resolve()
  })
  // All of them wait before the listener, on this same thread, has a turn to read one.
  for (let id = 0; id < 200; id += 1) {
    const kind = id % kinds.length
    const name = kinds[kind] ?? ''
    client.send(kind === 3 ? Buffer.from(name) : makeQuery(name, recordType.A, { id }))
    if (kind !== 3) expected.push(`${id} ${kind === 2 ? 3 : 0}`)
  }
  await all.promise
  assert.deepEqual(seen.toSorted(), expected.toSorted())
  const closed = once(client, 'close')
  client.close()
  await closed
  await server.close()
  line.close()
  port2.close()
}

test('a datagram is answered where the resolver is, from the socket of that thread, and the thread that received it gets a copy', async () => {
  const port = await findFreePort()
  const listenAddress: ListenAddress = { address: ipOf('127.0.0.1'), port, access: 'all', blocks: [0] }
  const cache = { zones: [encodeName('.')], keepTtl: false }
  const blocks = [servedBlock({ cache, forwards: true })]
  const settings = { blocks, addresses: [listenAddress], clusterSources: [], maxConnections: 1 }
  const refuse = () => Promise.reject(new Error('nothing waits on a promise'))
  const received = new Responder({ resolve: refuse, writeLog: () => {} })
  const resolving = new Responder({ resolve: refuse, writeLog: () => {}, localResolver: () => cached })
  for (const responder of [received, resolving]) responder.configure(settings, [])
  const copies: string[] = []
  const giveCopy: GiveCopy = ({ block: id, question }) =>
    copies.push(`${id} ${readMessage(Buffer.from(question), question.length).id}`)
  const answering = new UdpServer({ current: listenAddress }, resolving, {
    forward: (datagram) => {
      resolving.forward({
        ...datagram,
        bytes: Buffer.from(datagram.bytes.subarray(0, datagram.length)),
        client: keepClient(datagram.client),
      })
      return true
    },
  })
  let handedOver = 0
  const receiving = new UdpServer({ current: listenAddress }, received, {
    forward: ({ bytes, length, source }) => {
      handedOver += 1
      const pack = new DatagramPack()
      pack.add(bytes, length, source)
      answering.takeHandedOver(pack.take(), giveCopy)
      return true
    },
  })
  await answering.listen()
  await receiving.listen()
  const asked = Array.from({ length: 24 }, async (_, id) => {
    const answer = await askUdp(makeQuery('www.example.test.', recordType.A, { id }), port, 30_000)
    assert.ok(answer)
    const seen = seeAnswer(answer)
    assert.deepEqual([seen.id, seen.records], [id, ['A 192.0.2.1 20']])
  })
  await Promise.all(asked)
  // The kernel chooses the socket by the client's port: each of 24 going to the same one has a probability of 1e-7.
  assert.ok(handedOver > 0 && handedOver < 24, `${handedOver} of 24`)
  assert.equal(new Set(copies).size, handedOver)
  await Promise.all([answering.close(), receiving.close()])
})

test('while the thread with the resolver is not running, a datagram for it gets SERVFAIL at once', async (context) => {
  const port = await findFreePort()
  const listenAddress: ListenAddress = { address: ipOf('127.0.0.1'), port, access: 'all', blocks: [0] }
  const line = new ResolveClient()
  const responder = new Responder({ resolve: (request) => line.resolve(request), writeLog: () => {} })
  responder.configure({ blocks: [block], addresses: [listenAddress], clusterSources: [], maxConnections: 1 }, [])
  const forward: Forward = ({ bytes, length, client, source }) =>
    line.handOver(client.listener.current, bytes, length, source)
  const server = new UdpServer({ current: listenAddress }, responder, { forward })
  await server.listen()
  context.after(() => server.close())
  const codeOf = async (name: string) => {
    const answer = await askUdp(makeQuery(name, recordType.A), port, 10_000)
    return answer && readMessage(answer, answer.length).rcode
  }
  assert.equal(await codeOf('before.example.test.'), rcode.SERVFAIL)
  const { port1, port2 } = new MessageChannel()
  line.connect(port1)
  const closed = once(port1, 'close')
  port2.close()
  await closed
  assert.equal(await codeOf('after.example.test.'), rcode.SERVFAIL)
})

/** A resolver whose cache has every name, for 20 s more. */
const cached: LocalResolver = {
  ask: (_, { query }) => {
    const message = answerBytes(query.bytes.subarray(0, query.length), { addresses: ['192.0.2.1'], ttl: 20 })
    const copy = { message, kind: 'success', ageMs: 0, leftMs: 20_000 } as const
    const layout = readLayout(message, message.length)
    return { kind: 'message', plugin: 'cache', message, layout, ageMs: 0, ageSeconds: 0, ttlSeconds: undefined, copy }
  },
  noteFailure: (_, __, error) => {
    throw error
  },
}
