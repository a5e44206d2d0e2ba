import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EndpointSlice } from '../../src/controllers/objects/endpoints.ts'
import { createDialectTypes } from '../../src/controllers/objects/types.ts'
import { Caches } from '../../src/controllers/runtime/caches.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../test/helpers/api-server.ts'
import { clientOfServer } from '../../test/helpers/controllers.ts'
import { inParallel } from '../in-parallel.ts'
import { type BenchReport, type BenchRow, compare, measureAlone, percentile } from '../report.ts'
import { isPeerBuilt, type StartManager, startOurs, startPeer } from './managers.ts'
import { create, createNode, createPod, setReady } from './pods.ts'
import { measureRollout } from './rollout.ts'
import { measureSharedPods, sharedRows } from './shared-pods.ts'

const services = 1_000
const podsPerService = 5
const changesPerSecond = 100
const changes = 1_000
const peerName = 'kube-controller-manager'
/** What has not come by then does not come. */
const deadlineMs = 60_000

/**
 * How long after a pod's status was sent its Service's slice shows it, at a steady rate of changes, and what a rollout costs. The managers are processes of their own, one
 * after the other, on the same API core (store in memory), which shares a process with the client.
 */
export async function benchControllers(): Promise<BenchReport> {
  const ours = await measure(startOurs)
  const peer = isPeerBuilt() ? await measure(startPeer).catch(reportPeer) : undefined
  if (!isPeerBuilt()) console.error('no peer: sh bench/build-kubernetes.sh kube-controller-manager builds it')
  const row = (metric: string, unit: string, of: (figures: Figures) => number): BenchRow =>
    peer === undefined ? measureAlone(metric, unit, of(ours)) : compare(metric, unit, of(ours), peerName, of(peer))
  return {
    name: `${services} Services, ${services * podsPerService} pods, ${changesPerSecond} changes/s`,
    rows: [
      row('pod status sent → slice seen, p50', 'ms', ({ delaysMs }) => percentile(delaysMs, 0.5)),
      row('pod status sent → slice seen, p99', 'ms', ({ delaysMs }) => percentile(delaysMs, 0.99)),
      row('slice writes a change', '', ({ writes }) => writes / changes),
      row('all slices and Endpoints from nothing', 's', ({ fromNothingMs }) => fromNothingMs / 1000),
      row('memory of the manager', 'MiB', ({ memoryMiB }) => memoryMiB),
      row('rollout of 1,000 pods', 's', ({ rollout }) => rollout?.seconds ?? Number.NaN),
      row('API writes a pod of the rollout', '', ({ rollout }) => rollout?.writesPerPod ?? Number.NaN),
      ...sharedRows.map(({ metric, unit, of }) => row(metric, unit, ({ shared }) => of(shared))),
    ],
  }
}

function reportPeer(error: unknown): undefined {
  console.error('the peer could not be measured', error)
}

type Figures = Awaited<ReturnType<typeof measure>>

async function measure(start: StartManager) {
  await using server = await startTestServer({ sweepsNamespaces: false })
  await fill(server)
  const folder = mkdtempSync(join(tmpdir(), 'plt-bench-'))
  const observer = new SliceObserver(server)
  await observer.start()
  const startedMs = performance.now()
  await using manager = start(server, folder)
  await observer.untilReadyEndpoints(services * podsPerService)
  const fromNothingMs = performance.now() - startedMs
  // What the start brought must not be counted among the changes.
  await sleep(2_000)
  const { delaysMs, writes } = await changeSteadily(server, observer)
  const memoryMiB = manager.residentMiB()
  const rollout = await measureRollout(server)
  await observer.stop()
  rmSync(folder, { recursive: true })
  await manager[Symbol.asyncDispose]()
  const shared = await measureSharedPods(start)
  const p99 = percentile(delaysMs, 0.99)
  console.error(`${start.name}: ${JSON.stringify({ fromNothingMs, p99, writes, memoryMiB, rollout, shared })}`)
  return { fromNothingMs, delaysMs, writes, memoryMiB, rollout, shared }
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
    const endMs = performance.now() + deadlineMs
    while (ready() < count) {
      if (performance.now() > endMs) throw new Error(`${ready()} of ${count} endpoints are in slices`)
      await sleep(100)
    }
  }

  seen(pod: string, ready: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.set(pod, { ready, seen: resolve })
    const giveUp = setTimeout(() => reject(new Error(`no slice shows the change of ${pod}`)), deadlineMs)
    return promise.finally(() => clearTimeout(giveUp))
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
  await createNode(server)
  await inParallel(services, (index) =>
    create(server, 'services', {
      metadata: { name: `service-${index}` },
      spec: { selector: { app: `app-${index}` }, ports: [{ port: 80 }] },
    }),
  )
  await inParallel(services * podsPerService, (index) => createPod(server, index, `app-${index % services}`))
}
