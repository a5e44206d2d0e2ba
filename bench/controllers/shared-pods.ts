import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Informer, type InformerHandler } from '../../src/client/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { startTestServer } from '../../test/helpers/api-server.ts'
import { clientOfServer } from '../../test/helpers/controllers.ts'
import { inParallel } from '../in-parallel.ts'
import type { StartManager } from './managers.ts'
import { create, createNode, createPod, setReady } from './pods.ts'

const [services, pods, changes] = [100, 1_000, 20]
const app = 'shared'
const resource = { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices' }
const deadlineMs = 120_000

export interface SharedFigures {
  /** From the status of one Pod until the slices of all Services show it. */
  readonly changeMs: number
  /** Processor time of the manager for each change. */
  readonly cpuMs: number
  readonly writes: number
}

const what = `${services} Services over the same ${pods} pods: one changes`

export const sharedRows = [
  { metric: `${what}, until all slices show it`, unit: 'ms', of: ({ changeMs }: SharedFigures) => changeMs },
  { metric: `${what}, processor time of the manager`, unit: 'ms', of: ({ cpuMs }: SharedFigures) => cpuMs },
  { metric: `${what}, slice writes`, unit: '', of: ({ writes }: SharedFigures) => writes },
] as const

/** Counts in how many slices each Pod is ready. */
class ReadyCounts implements InformerHandler {
  readonly #bySlice = new Map<string, ReadonlySet<string>>()
  writes = 0

  // biome-ignore lint/suspicious/noExplicitAny: an observer reads slices of either manager
  onReplace(items: readonly any[]): void {
    for (const item of items) this.#take(item)
  }

  // biome-ignore lint/suspicious/noExplicitAny: see above
  onEvent(_type: string, object: any): void {
    this.writes += 1
    this.#take(object)
  }

  onProgress(): void {}

  get all(): number {
    return this.#bySlice.values().reduce((sum, { size }) => sum + size, 0)
  }

  of(pod: string): number {
    return this.#bySlice.values().reduce((sum, ready) => sum + Number(ready.has(pod)), 0)
  }

  // biome-ignore lint/suspicious/noExplicitAny: see above
  #take({ metadata, endpoints }: any): void {
    const ready: { targetRef: { name: string }; conditions: { ready: boolean } }[] = endpoints ?? []
    const names = ready.filter(({ conditions }) => conditions.ready).map(({ targetRef }) => targetRef.name)
    this.#bySlice.set(metadata.name, new Set(names))
  }
}

/** Many Services over one Deployment's Pods, of which one changes at a time. */
export async function measureSharedPods(start: StartManager): Promise<SharedFigures> {
  await using server = await startTestServer({ sweepsNamespaces: false })
  await createNode(server)
  const spec = { selector: { app }, ports: [{ port: 80 }] }
  await inParallel(services, (index) => create(server, 'services', { metadata: { name: `service-${index}` }, spec }))
  await inParallel(pods, (index) => createPod(server, index, app))
  const counts = new ReadyCounts()
  const client = clientOfServer(server)
  const informer = new Informer({ client, collection: { resource }, handler: counts, log: silentLogger })
  await informer.start({ signal: AbortSignal.timeout(deadlineMs) })
  const folder = mkdtempSync(join(tmpdir(), 'plt-bench-'))
  await using manager = start(server, folder)
  await until(() => counts.all === services * pods)
  await sleep(3_000)
  const before = { cpuMs: manager.cpuMs(), writes: counts.writes }
  let changeMs = 0
  for (let change = 0; change < changes; change++) {
    const startedMs = performance.now()
    await setReady(server, change * 7, false)
    await until(() => counts.of(`pod-${change * 7}`) === 0)
    changeMs += performance.now() - startedMs
  }
  // Endpoints may be written after the slices.
  await sleep(3_000)
  const cpuMs = manager.cpuMs() - before.cpuMs
  await informer.stop()
  rmSync(folder, { recursive: true })
  return { changeMs: changeMs / changes, cpuMs: cpuMs / changes, writes: (counts.writes - before.writes) / changes }
}

async function until(isDone: () => boolean): Promise<void> {
  const endMs = performance.now() + deadlineMs
  while (!isDone()) {
    if (performance.now() > endMs) throw new Error('the slices do not show the pods in time')
    await sleep(5)
  }
}
