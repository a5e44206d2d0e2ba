import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LiveServers } from '../../../../src/api/bootstrap/live-servers.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { parseIp } from '../../../../src/model/ip.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

function ip(text: string) {
  const parsed = parseIp(text)
  assert.ok(parsed)
  return parsed
}

it('A server that does not write its record any more is gone after a while, by the clock of each other server.', async () => {
  const store = openMemoryStore({ log: silentLogger })
  let nowMs = 0
  const [one, other] = ['192.0.2.1', '192.0.2.2'].map((address) => new LiveServers(store, ip(address), () => nowMs))
  assert.ok(one && other)
  // The clock of the other machine is wrong by years.
  assert.deepEqual(await other.renew(new Date(0)), ['192.0.2.2'])
  assert.deepEqual(await one.renew(new Date()), ['192.0.2.1', '192.0.2.2'])
  nowMs = 30_000
  assert.deepEqual(await one.renew(new Date()), ['192.0.2.1', '192.0.2.2'])
  await other.renew(new Date(1))
  nowMs = 60_000
  assert.deepEqual(await one.renew(new Date()), ['192.0.2.1', '192.0.2.2'])
  nowMs = 100_000
  assert.deepEqual(await one.renew(new Date()), ['192.0.2.1'])
  assert.deepEqual(await other.renew(new Date(2)), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(await other.leave(), ['192.0.2.1'])
  assert.deepEqual(await one.renew(new Date()), ['192.0.2.1'])
})

it('Addresses of the other family are not among the endpoints of one slice.', async () => {
  const store = openMemoryStore({ log: silentLogger })
  await new LiveServers(store, ip('2001:db8::1')).renew(new Date())
  assert.deepEqual(await new LiveServers(store, ip('192.0.2.1')).renew(new Date()), ['192.0.2.1'])
})
