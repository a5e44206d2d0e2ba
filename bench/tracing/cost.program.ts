// The inner part of `npm run bench -- tracing`: processor time of one API create, one forwarded DNS query and the spans of one change, by the
// share of traces that are exported. Prints its figures as one line of JSON.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { silentTracer, type Tracer } from '../../src/observe/index.ts'
import { RecordingTracer } from '../../src/observe/tracing/recording-tracer.ts'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { makeQuery } from '../../test/helpers/dns-messages.ts'
import { TestDnsServer } from '../../test/helpers/dns-server.ts'
import { FakeUpstream } from '../../test/helpers/fake-upstream.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { startGrpcCollector } from '../../test/helpers/otlp-collector.ts'
import { PlatnetServer, residentMiB } from '../../test/helpers/platnet-server.ts'
import { startTestTracing } from '../../test/helpers/tracing-env.ts'
import { answerBytes } from '../../test/helpers/upstream-messages.ts'
import { processorMs } from '../processor-time.ts'
import type { TracingFigure } from './tracing.ts'

const shares = [undefined, 0.01, 1] as const
type Share = (typeof shares)[number]

const collector = await startGrpcCollector()

function environment(share: Share): Record<string, string> {
  if (share === undefined) return {}
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(share),
    OTEL_BSP_SCHEDULE_DELAY: '1000',
    OTEL_BSP_MAX_QUEUE_SIZE: '100000',
  }
}

/** A server of its own; the load comes from this process, over 16 connections. */
async function measureCreates(share: Share, count: number) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'platnet-tracing-'))
  const server = new PlatnetServer(dataDir, await findFreePort(), environment(share))
  const startedMs = performance.now()
  const access = await server.start()
  const readyMs = performance.now() - startedMs
  const restMiB = residentMiB(server.pid)
  const connection = new AdminConnection(access, 16)
  const createMany = async (from: number, to: number) => {
    let next = from
    const worker = async () => {
      for (let index = next++; index < to; index = next++)
        await connection.call('POST', '/api/v1/namespaces/default/configmaps', {
          metadata: { name: `m-${index}` },
          data: { key: 'value' },
        })
    }
    await Promise.all(Array.from({ length: 16 }, worker))
  }
  await createMany(0, 500)
  const beforeMs = processorMs(server.pid)
  await createMany(500, 500 + count)
  const cpuMs = processorMs(server.pid) - beforeMs
  await server.stop('SIGTERM')
  rmSync(dataDir, { recursive: true })
  return { readyMs, restMiB, microseconds: (cpuMs * 1000) / count }
}

async function withTracer<T>(share: Share, work: (tracer: Tracer) => Promise<T>): Promise<T> {
  if (share === undefined) return work(silentTracer)
  const { tracing } = await startTestTracing(environment(share))
  try {
    return await work(tracing.tracer)
  } finally {
    await tracing.stop({ signal: AbortSignal.timeout(10_000) })
  }
}

/** Client, server threads and upstream are in this process: its processor time is more than that of the server. */
async function measureQueries(share: Share, count: number): Promise<number> {
  const upstream = await new FakeUpstream(({ bytes }) => [answerBytes(bytes, { addresses: ['192.0.2.7'] })]).start()
  const cpu = await withTracer(share, async (tracer) => {
    const server = new TestDnsServer({
      tracer,
      servingThreads: 1,
      resolver: { targets: [upstream.target], cache: false },
    })
    await server.start()
    const askMany = async (many: number) => {
      for (let asked = 0; asked < many; asked += 20)
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => server.ask(makeQuery(`n${asked + index}.example.com.`, 1))),
        )
    }
    await askMany(1000)
    const before = process.cpuUsage()
    await askMany(count)
    const { user, system } = process.cpuUsage(before)
    await server.stop()
    return (user + system) / count
  })
  await upstream.stop()
  return cpu
}

/** The steps of one change on an agent: the event, the sync, its plan and its write; nothing is exported meanwhile. */
async function measureSteps(share: Share, count: number): Promise<number> {
  const sampling = { ratio: share ?? 0, followsParent: true }
  const sink = { add: () => {}, drop: () => {} }
  const tracer: Tracer = share === undefined ? silentTracer : new RecordingTracer(sampling, sink)
  const before = process.cpuUsage()
  for (let index = 0; index < count; index++) {
    const event = tracer.start('watch services', { kind: 'consumer' })
    const sync = event.child('sync rules')
    sync.child('plan rules').end()
    sync.child('iptables-restore').end()
    sync.end()
    event.end()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** The middle of three runs, each share in turn, so that the load of the machine falls on all of them. */
async function inTurn<T>(measure: (share: Share) => Promise<T>, by: (result: T) => number): Promise<readonly T[]> {
  const results = new Map<Share, T[]>(shares.map((share) => [share, []]))
  for (let round = 0; round < 3; round++) for (const share of shares) results.get(share)?.push(await measure(share))
  return shares.map((share) => {
    const sorted = [...(results.get(share) ?? [])].sort((one, other) => by(one) - by(other))
    return sorted[1] ?? (sorted[0] as T)
  })
}

const creates = await inTurn(
  (share) => measureCreates(share, 3000),
  ({ microseconds }) => microseconds,
)
const queries = await inTurn(
  (share) => measureQueries(share, 4000),
  (cpu) => cpu,
)
const steps = await inTurn(
  (share) => measureSteps(share, 200_000),
  (cpu) => cpu,
)
const figures: readonly TracingFigure[] = [
  {
    metric: 'API create: processor time of the server',
    unit: 'µs',
    byShare: creates.map(({ microseconds }) => microseconds),
  },
  { metric: 'API server: start to ready', unit: 'ms', byShare: creates.map(({ readyMs }) => readyMs) },
  { metric: 'API server: memory when ready', unit: 'MiB', byShare: creates.map(({ restMiB }) => restMiB) },
  {
    metric: 'forwarded DNS query: processor time of server, client and upstream',
    unit: 'µs',
    byShare: queries,
  },
  { metric: 'the four spans of a change on an agent', unit: 'µs', byShare: steps },
]
process.stdout.write(`${JSON.stringify(figures)}\n`)
process.exit()
