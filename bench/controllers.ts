import { setTimeout as sleep } from 'node:timers/promises'
import { createControllerManager, createControllerMetrics } from '../src/controllers/index.ts'
import type { EndpointSlice } from '../src/controllers/objects/endpoints.ts'
import { createDialectTypes } from '../src/controllers/objects/types.ts'
import { Caches } from '../src/controllers/runtime/caches.ts'
import { createDialect } from '../src/model/dialect.ts'
import { createMetrics, silentLogger } from '../src/observe/index.ts'
import { startTestServer, type TestServer } from '../test/helpers/api-server.ts'
import { clientOfServer } from '../test/helpers/controllers.ts'
import { type BenchReport, measureAlone, percentile } from './report.ts'

const services = 1_000
const podsPerService = 5
const changesPerSecond = 100
const changes = 1_000

/**
 * How long after a pod's status was sent its Service's slice shows it, at a steady rate of changes. API core (store in memory), controllers and this
 * client share one process, as `platnet server` has it. kube-controller-manager is not built here, so there is no peer.
 */
export async function benchControllers(): Promise<BenchReport> {
  await using server = await startTestServer()
  const dialect = createDialect('kubernetes')
  const manager = createControllerManager({
    client: clientOfServer(server),
    dialect,
    controllers: ['endpoints', 'endpointslice', 'endpointslice-mirroring'],
    clusterCidrs: [],
    nodeGraceMs: 40_000,
    eventTtlMs: 3_600_000,
    metrics: createControllerMetrics(createMetrics()),
    log: silentLogger,
  })
  await fill(server)
  const observer = new SliceObserver(server)
  const startedMs = performance.now()
  await Promise.all([manager.start({ signal: AbortSignal.timeout(60_000) }), observer.start()])
  await observer.untilReadyEndpoints(services * podsPerService)
  const fromNothingMs = performance.now() - startedMs
  const { delaysMs, writes } = await changeSteadily(server, observer)
  const memoryMb = process.memoryUsage().rss / 1024 / 1024
  await observer.stop()
  await manager.stop({ signal: AbortSignal.timeout(5_000) })
  return {
    name: `${services} Services, ${services * podsPerService} pods, ${changesPerSecond} changes/s`,
    rows: [
      measureAlone('pod status sent → slice seen, p50', 'ms', percentile(delaysMs, 0.5)),
      measureAlone('pod status sent → slice seen, p99', 'ms', percentile(delaysMs, 0.99)),
      measureAlone('slice writes a change', '', writes / changes),
      measureAlone('all slices and Endpoints from nothing', 's', fromNothingMs / 1000),
      measureAlone('memory (API core, controllers and client together)', 'MiB', memoryMb),
    ],
  }
}

/** Sees the slices as a client does. */
class SliceObserver {
  readonly #caches: Caches
  readonly #waiting = new Map<string, { ready: boolean; seen: () => void }>()
  readonly #slices
  writes = 0

  constructor(server: TestServer) {
    this.#caches = new Caches({ client: clientOfServer(server), log: silentLogger })
    this.#slices = this.#caches.of(createDialectTypes(createDialect('kubernetes')).endpointSlices)
    this.#slices.onChange(({ next }) => next && this.#look(next))
  }

  async start(): Promise<void> {
    await this.#slices.start({ signal: AbortSignal.timeout(60_000) })
  }

  async stop(): Promise<void> {
    await this.#slices.stop()
  }

  async untilReadyEndpoints(count: number): Promise<void> {
    const ready = () =>
      [...this.#slices.list()].reduce((sum, slice) => sum + slice.endpoints.filter((e) => e.conditions.ready).length, 0)
    while (ready() < count) await sleep(100)
  }

  seen(pod: string, ready: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.set(pod, { ready, seen: resolve })
    return promise
  }

  #look(slice: EndpointSlice): void {
    this.writes += 1
    for (const { targetRef, conditions } of slice.endpoints) {
      const pod = targetRef?.name ?? ''
      const waiting = this.#waiting.get(pod)
      if (waiting === undefined || waiting.ready !== conditions.ready) continue
      this.#waiting.delete(pod)
      waiting.seen()
    }
  }
}

async function changeSteadily(server: TestServer, observer: SliceObserver) {
  const writesBefore = observer.writes
  const delays: Promise<number>[] = []
  const firstMs = performance.now()
  for (let change = 0; change < changes; change++) {
    const dueMs = firstMs + (change * 1000) / changesPerSecond
    await sleep(Math.max(0, dueMs - performance.now()))
    // A stride that is coprime to the number of pods meets every Service before one comes again.
    delays.push(timeChange(server, observer, (change * 7) % (services * podsPerService)))
  }
  const delaysMs = await Promise.all(delays)
  return { delaysMs, writes: observer.writes - writesBefore }
}

async function timeChange(server: TestServer, observer: SliceObserver, index: number): Promise<number> {
  const sentMs = performance.now()
  const seen = observer.seen(`pod-${index}`, false).then(() => performance.now() - sentMs)
  await setReady(server, index, false)
  return seen
}

async function fill(server: TestServer): Promise<void> {
  await inParallel(services, (index) =>
    create(server, 'services', {
      metadata: { name: `service-${index}` },
      spec: { selector: { app: `app-${index}` }, ports: [{ port: 80 }] },
    }),
  )
  await inParallel(services * podsPerService, async (index) => {
    const metadata = { name: `pod-${index}`, labels: { app: `app-${index % services}` } }
    await create(server, 'pods', { metadata, spec: { containers: [{ name: 'main' }] } })
    await setReady(server, index, true)
  })
}

async function create(server: TestServer, resource: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', `/api/v1/namespaces/default/${resource}`, { body })
  if (code !== 201) throw new Error(text)
}

async function setReady(server: TestServer, index: number, ready: boolean): Promise<void> {
  const ip = `10.244.${index >> 8}.${index & 255}`
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
  const { code, text } = await server.call('PATCH', `/api/v1/namespaces/default/pods/pod-${index}/status`, {
    body: { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  if (code !== 200) throw new Error(text)
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}
