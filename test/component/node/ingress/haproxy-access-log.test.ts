import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { until } from '../../../helpers/until.ts'

/** Bytes that a pipe holds (pipe(7)); a line of the access log has more than 200. */
const pipeBytes = 65_536
const lineBytes = 200

test('haproxy answers on while no agent reads its access log, and the next agent reads the lines of new requests', {
  skip: haproxySkipReason(),
}, async () => {
  await using lab = await HaproxyLab.create({ accessLog: 1 })
  using servers = await EchoServers.start(1)
  const table = withEndpoints(routingTable({ 'a.example.com': { prefix: ['/'] } }), () => servers.ports)
  await lab.driver.start()
  await lab.driver.apply(table, wholeChange(table))
  await lab.driver.stop({ signal: AbortSignal.timeout(5000) })
  const startMs = performance.now()
  const statuses = new Set<number>()
  const rounds = Math.ceil((2 * pipeBytes) / lineBytes / 16)
  for (let round = 0; round < rounds; round += 1) {
    const answers = await Promise.all(Array.from({ length: 16 }, () => ask(lab.httpPort, 'a.example.com', '/unread')))
    for (const { status } of answers) statuses.add(status)
  }
  assert.deepEqual([...statuses], [200])
  assert.ok(performance.now() - startMs < 10_000, 'haproxy waited for a reader')
  await lab.restartDriver()
  await lab.driver.apply(table, wholeChange(table))
  await until('the waiting lines are read', () => lab.served.some(({ path }) => path === '/unread'))
  await ask(lab.httpPort, 'a.example.com', '/read')
  await until('the line of a new request is read', () => lab.served.some(({ path }) => path === '/read'))
  const unread = lab.served.filter(({ path }) => path === '/unread')
  assert.ok(unread.length < rounds * 16, 'the pipe was never full')
})
