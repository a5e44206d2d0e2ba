import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { HealthProbe } from '../../../../src/node/dns/plugins/health/metrics.ts'
import { until } from '../../../helpers/until.ts'

const soon = () => ({ signal: AbortSignal.timeout(5_000) })

function failuresOf(probe: HealthProbe): number | undefined {
  const series = [...probe.series()].find(({ name }) => name === 'coredns_health_request_failures_total')
  return series?.kind === 'counter' ? series.value : undefined
}

test('the probe of our own health keeps one connection, and counts the answers that fail', async () => {
  const seen = { connections: 0, requests: 0 }
  const server = createServer((_, response) => {
    seen.requests += 1
    response.writeHead(seen.requests > 2 ? 503 : 200).end('OK')
  })
  server.on('connection', () => {
    seen.connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const probe = new HealthProbe({ address: '127.0.0.1', port, intervalMs: 100 })
  probe.start()
  await until('a third request fails', () => failuresOf(probe) === 1, 10_000)
  assert.deepEqual(seen, { connections: 1, requests: 3 })
  await probe.stop(soon())
  await new Promise((resolve) => server.close(resolve))
})

test('a connection that was closed meanwhile is no failure', async () => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    let requests = 0
    socket.on('data', () => {
      requests += 1
      if (requests > 1) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const probe = new HealthProbe({ address: '127.0.0.1', port, intervalMs: 100 })
  probe.start()
  await until('the second connection serves', () => connections === 2, 10_000)
  await probe.stop(soon())
  assert.equal(failuresOf(probe), 0)
  server.close()
})
