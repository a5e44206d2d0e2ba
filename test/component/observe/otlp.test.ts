import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { type CollectorMood, startGrpcCollector, startHttpCollector } from '../../helpers/otlp-collector.ts'
import { startTestTracing } from '../../helpers/tracing-env.ts'
import { until } from '../../helpers/until.ts'

const protocols = {
  grpc: { start: startGrpcCollector, contentType: 'application/grpc' },
  'http/protobuf': { start: startHttpCollector, contentType: 'application/x-protobuf' },
  'http/json': { start: startHttpCollector, contentType: 'application/json' },
} as const

const soon = () => ({ signal: AbortSignal.timeout(5000) })
const remote = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }
const link = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), isSampled: true }

for (const [protocol, { start, contentType }] of Object.entries(protocols)) {
  describe(`Spans over ${protocol}`, () => {
    test('arrive as they are, with the resource and the headers of the environment', async () => {
      await using collector = await start()
      const { tracing } = await startTestTracing({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=lab',
        OTEL_SERVICE_NAME: 'my-node',
      })
      const attributes = { text: 'naïve 𝄞', whole: 7, yes: true, share: 0.5 }
      const span = tracing.tracer.start('work', { kind: 'producer', parent: remote, links: [link], attributes })
      span.end({ error: 'no room' })
      await tracing.stop(soon())
      const { startNs, endNs, resource, ...seen } = await collector.span('work')
      assert.deepEqual(seen, {
        traceId: remote.traceId,
        spanId: span.context?.spanId,
        parentSpanId: remote.spanId,
        name: 'work',
        kind: 4,
        attributes,
        links: [{ traceId: link.traceId, spanId: link.spanId }],
        statusCode: 2,
        statusMessage: 'no room',
        service: 'my-node',
      })
      assert.equal(resource['deployment.environment'], 'lab')
      assert.equal(resource['process.pid'], String(process.pid))
      assert.ok(Math.abs(Number(startNs / 1_000_000n) - Date.now()) < 10_000)
      assert.ok(endNs - startNs < 1_000_000_000n)
      assert.equal(collector.requests[0]?.['x-tenant'], 'blue')
      assert.equal(collector.requests[0]?.['content-type'], contentType)
    })

    const moods: readonly CollectorMood[] = ['refuse', 'hang', 'garbage']
    for (const mood of moods) {
      test(`hold nothing up while the collector's mood is ${mood}, and what does not fit is counted`, async () => {
        await using collector = await start()
        collector.mood = mood
        const { tracing, metrics } = await startTestTracing({
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_EXPORTER_OTLP_TIMEOUT: '300',
          OTEL_BSP_MAX_QUEUE_SIZE: '50',
        })
        const startedMs = performance.now()
        for (let index = 0; index < 1000; index++) tracing.tracer.start('work').end()
        assert.ok(performance.now() - startedMs < 5_000, 'making spans waited')
        await until('an export was tried', () => collector.requests.length > 0)
        const stoppingMs = performance.now()
        await tracing.stop({ signal: AbortSignal.timeout(600) })
        assert.ok(performance.now() - stoppingMs < 5_000, 'the stop waited')
        assert.deepEqual(collector.spans, [])
        const { body } = await metrics.text()
        assert.match(body, /^platnet_tracing_spans_dropped_total\{reason="queue_full"\} 950$/m)
        assert.match(body, /^platnet_tracing_spans_waiting 0$/m)
        const taken = Number(/^platnet_tracing_spans_exported_total (\d+)$/m.exec(body)?.[1])
        const refused = Number(/^platnet_tracing_spans_dropped_total\{reason="refused"\} (\d+)$/m.exec(body)?.[1])
        assert.equal(taken + refused, 50)
      })
    }
  })
}

test('A collector that was away gets the spans of that time', async () => {
  const first = await startGrpcCollector()
  const { endpoint } = first
  await first[Symbol.asyncDispose]()
  const { tracing, lines } = await startTestTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  tracing.tracer.start('while away').end()
  await until('it is missed', () => lines.some((line) => line.startsWith('warn')))
  await using collector = await startGrpcCollector(Number(new URL(endpoint).port))
  await collector.span('while away')
  assert.equal(lines.filter((line) => line.startsWith('warn')).length, 1)
  await tracing.stop(soon())
})

test('A peer that sends without end fills no memory', async () => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const pour = () => {
      while (socket.write(Buffer.alloc(65_536, 0x41))) if (socket.destroyed) return
      socket.once('drain', pour)
    }
    pour()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const beforeBytes = process.memoryUsage().rss
  for (const protocol of Object.keys(protocols)) {
    const { tracing } = await startTestTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${address.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    })
    tracing.tracer.start('work').end()
    await tracing.stop({ signal: AbortSignal.timeout(600) })
  }
  assert.ok(process.memoryUsage().rss - beforeBytes < 100 * 1024 * 1024)
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})
