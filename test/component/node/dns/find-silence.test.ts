import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { parseIp } from '../../../../src/model/ip.ts'
import { findSilence } from '../../../../src/node/dns/plane/find-silence.ts'

const loopback = parseIp('127.0.0.1') ?? assert.fail()

/** A server that answers with what `answer` makes of a query; resolves with its port. */
async function serve(context: TestContext, answer: (query: Buffer) => Buffer | undefined): Promise<number> {
  const socket = createSocket('udp4', (query, { port, address }) => {
    const reply = answer(query)
    if (reply !== undefined) socket.send(reply, port, address)
  })
  context.after(() => socket.close())
  socket.bind(0, loopback)
  await once(socket, 'listening')
  return socket.address().port
}

test('an answer of any kind is no silence', async (context) => {
  const port = await serve(context, (query) => query)
  assert.equal(await findSilence(loopback, port, 'cluster.local'), undefined)
})

test('a server that loses the first query answers the second', async (context) => {
  let queries = 0
  const port = await serve(context, (query) => (queries++ === 0 ? undefined : query))
  assert.equal(await findSilence(loopback, port, 'cluster.local'), undefined)
})

test('no answer, or one to another question, is silence', async (context) => {
  const port = await serve(context, (query) => Buffer.from([query[0] ?? 0, (query[1] ?? 0) ^ 1, ...query.subarray(2)]))
  assert.equal(await findSilence(loopback, port, 'cluster.local'), 'DNS on 127.0.0.1 does not answer')
})
