import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import type { ListenAddress } from '../../../../../src/node/dns/plugins/client.ts'
import { packResults, type RequestBatch, unpackRequests } from '../../../../../src/node/dns/resolver/batches.ts'
import { ResolveClient } from '../../../../../src/node/dns/resolver/resolve-client.ts'
import { Responder } from '../../../../../src/node/dns/serve/responder.ts'
import { UdpServer } from '../../../../../src/node/dns/serve/udp-server.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { servedBlock } from '../../../../helpers/dns-server.ts'
import { TestZone } from '../../../../helpers/dns-zone.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { makeService } from '../../../../helpers/services.ts'

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
  port2.on('message', (batch: RequestBatch) => {
    const results = unpackRequests(batch).map(
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
