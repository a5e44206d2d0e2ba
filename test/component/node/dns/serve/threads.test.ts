import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { cidrOf } from '../../../../helpers/addresses.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { type ServerShape, TestDnsServer } from '../../../../helpers/dns-server.ts'
import { watchStartedThreads } from '../../../../helpers/started-threads.ts'
import { until } from '../../../../helpers/until.ts'

test('sources that changed after a configuration was made stay when it is put into effect again', async (context) => {
  const shape: ServerShape = { access: 'cluster', servingThreads: 1 }
  const server = new TestDnsServer(shape)
  context.after(() => server.stop())
  await server.start()
  const question = makeQuery('none.default.svc.cluster.local.', recordType.A)
  const code = async () => ((await server.ask(question))?.readUInt16BE(2) ?? 0) & 0xf
  assert.equal(await code(), rcode.REFUSED)
  server.threads.changeSources([cidrOf('127.0.0.0/8')])
  // A thread takes its requests in order.
  await server.threads.series()
  assert.equal(await code(), rcode.NXDOMAIN)
  await server.change(shape)
  assert.equal(await code(), rcode.NXDOMAIN)
})

test('a thread that ended shortly before the threads are stopped is not started again', async (context) => {
  const workers = watchStartedThreads(context)
  const server = new TestDnsServer()
  context.after(() => server.stop())
  await server.start()
  await workers[1]?.terminate()
  await until('its end is noticed', () => server.lines.some((line) => line.includes('a DNS thread ended')), 30_000)
  const count = workers.length
  await server.stop()
  await sleep(300)
  assert.equal(workers.length, count)
})
