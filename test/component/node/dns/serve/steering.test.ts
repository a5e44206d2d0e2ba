import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { DatagramBatch } from '../../../../../src/host/datagrams/index.ts'
import { steeringProgram } from '../../../../../src/node/dns/serve/steering.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { encodeName } from '../../../../../src/node/dns/wire/name.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { until } from '../../../../helpers/until.ts'

const clients = 24

/** Sends the message from 24 ports to an address that two sockets share, and returns how many each got. */
async function spread(t: TestContext, zones: readonly string[] | undefined, message: Buffer) {
  const port = await findFreePort()
  const open = () => {
    const batch = DatagramBatch.open(ipOf('127.0.0.1'), port)
    assert.ok(batch, 'this machine gives batches')
    t.after(() => closeSync(batch.fd))
    assert.equal(batch.steer(steeringProgram(zones?.map(encodeName))), true)
    return batch
  }
  const batches = [open(), open()] as const
  for (let count = 0; count < clients; count += 1) {
    const client = createSocket('udp4')
    t.after(() => client.close())
    client.send(message, port, '127.0.0.1')
    await once(client, 'listening')
  }
  const got = [0, 0]
  await until('all have come', () => {
    for (const [index, batch] of batches.entries()) got[index] = (got[index] ?? 0) + batch.receive()
    return got.reduce((sum, count) => sum + count, 0) === clients
  })
  return got
}

const zones = ['cluster.local.', 'in-addr.arpa.']
const edns = { udpSize: 1232 }

test('names that upstreams answer go to the socket that was bound first, with OPT and without', async (t) => {
  for (const message of [
    makeQuery('www.example.com.', recordType.A),
    makeQuery('www.example.com.', recordType.A, { edns }),
    makeQuery('.', recordType.NS),
    makeQuery('x.', recordType.NS, { edns }),
    makeQuery('cluster.local.example.', recordType.A),
    Buffer.from('short'),
  ])
    assert.deepEqual(await spread(t, zones, message), [clients, 0], message.toString('latin1'))
})

test('names of the zones, in any case, and all names where nothing is forwarded go to both', async (t) => {
  // Each of 24 going to one of two sockets has a probability of 1e-7.
  const isShared = async (own: readonly string[] | undefined, message: Buffer) => {
    const got = await spread(t, own, message)
    assert.ok(
      got.every((count) => count > 0),
      `${got} of ${message.toString('latin1')}`,
    )
  }
  await isShared(zones, makeQuery('web.default.svc.cluster.local.', recordType.A))
  await isShared(zones, makeQuery('web.default.svc.cluster.LOCAL.', recordType.AAAA, { edns }))
  await isShared(zones, makeQuery('1.0.96.10.In-Addr.Arpa.', recordType.PTR))
  await isShared(undefined, makeQuery('www.example.com.', recordType.A))
  await isShared(['.'], makeQuery('www.example.com.', recordType.A))
  await isShared(
    Array.from({ length: 100 }, (_, index) => `zone-${index}.`),
    makeQuery('www.example.com.', recordType.A),
  )
})
