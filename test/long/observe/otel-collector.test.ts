import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { buildOtelCollector } from '../../helpers/go-program.ts'
import { startTestTracing } from '../../helpers/tracing-env.ts'
import { until, untilAsync } from '../../helpers/until.ts'

const built = buildOtelCollector()
const skip = 'lack' in built ? built.lack : false
const remote = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }
const link = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), isSampled: true }

async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** OpenTelemetry's collector with one receiver, and what it prints. */
async function startCollector(protocol: 'grpc' | 'http') {
  assert.ok('file' in built)
  const port = await findFreePort()
  const config = [
    `receivers::otlp::protocols::${protocol}::endpoint: 127.0.0.1:${port}`,
    'exporters::debug::verbosity: detailed',
    'service::pipelines::traces::receivers: [otlp]',
    'service::pipelines::traces::exporters: [debug]',
    'service::telemetry::metrics::level: none',
  ]
  const program = await runProgram(
    built.file,
    config.map((each) => `--config=yaml:${each}`),
    {
      background: true,
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const printed = { text: '' }
  for (const stream of [program.stdout, program.stderr])
    stream?.on('data', (chunk) => {
      printed.text += chunk
    })
  await untilAsync('the collector listens', () => isListening(port), 30_000).catch((error) => {
    throw new Error(printed.text, { cause: error })
  })
  const stop = async () => {
    program.kill('SIGTERM')
    await program.exited
  }
  return { endpoint: `http://127.0.0.1:${port}`, printed, [Symbol.asyncDispose]: stop }
}

describe("OpenTelemetry's own collector", { skip }, () => {
  for (const [protocol, receiver] of [
    ['grpc', 'grpc'],
    ['http/protobuf', 'http'],
    ['http/json', 'http'],
  ] as const) {
    test(`reads what we export over ${protocol}`, async () => {
      await using collector = await startCollector(receiver)
      const { tracing, metrics } = await startTestTracing({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_SERVICE_NAME: 'my-node',
      })
      const span = tracing.tracer.start('sync rules', {
        kind: 'consumer',
        parent: remote,
        links: [link],
        attributes: { 'platnet.family': 'IPv4', 'platnet.services': 7 },
      })
      span.end({ error: 'the lock is held' })
      await tracing.stop({ signal: AbortSignal.timeout(5000) })
      await until('the collector prints the span', () => collector.printed.text.includes('sync rules'), 10_000)
      const { text } = collector.printed
      for (const line of [
        /service\.name: Str\(my-node\)/,
        /Trace ID\s*: a{32}/,
        /Parent ID\s*: b{16}/,
        new RegExp(`ID\\s*: ${span.context?.spanId}`),
        /Name\s*: sync rules/,
        /Kind\s*: Consumer/,
        /Status code\s*: Error/,
        /Status message\s*: the lock is held/,
        /platnet\.family: Str\(IPv4\)/,
        /platnet\.services: Int\(7\)/,
        /Trace ID\s*: c{32}/,
      ])
        assert.match(text, line)
      assert.match((await metrics.text()).body, /^platnet_tracing_spans_exported_total 1$/m)
    })
  }
})
