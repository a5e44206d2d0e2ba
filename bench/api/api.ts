import { mkdirSync } from 'node:fs'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'
import { type BenchReport, compareFigures, type Figure } from '../report.ts'
import { createKubernetesTarget, isPeerBuilt } from './kubernetes-target.ts'
import { generateLoad } from './load-order.ts'
import { measureLoopDelay } from './loop-delay.ts'
import { measureNodeLoops } from './node-loop.ts'
import { createPlatnetTarget } from './platnet-target.ts'
import type { BenchTarget } from './target.ts'

const objects = 10_000
const folder = '.cache/bench-api'

/** The API server beside kube-apiserver with etcd, where `bench/api/build-peer.sh` has built them. */
export async function benchApi(): Promise<BenchReport> {
  mkdirSync(folder, { recursive: true })
  const ours = [...(await measure(await createPlatnetTarget(folder))), ...(await measureNode())]
  if (!isPeerBuilt()) {
    console.error('no peer: sh bench/api/build-peer.sh builds kube-apiserver and etcd (needs Go, takes minutes)')
    return { name: 'api', rows: compareFigures(ours, [], '') }
  }
  const peer = await createKubernetesTarget(folder)
  return { name: 'api', rows: compareFigures(ours, await measure(peer), peer.name) }
}

async function measure(target: BenchTarget): Promise<Figure[]> {
  try {
    const access = await target.start()
    const creates = await measureCreates(access)
    const memory = { metric: `resident memory after ${objects} creates`, unit: 'MiB', value: target.residentMiB() }
    const reads = [...(await measureLists(access)), ...(await measureWatches(access))]
    return [...creates, memory, ...reads, ...(await measureRestart(target))]
  } finally {
    await target.stop()
    target.remove()
  }
}

async function measureCreates(access: AdminAccess): Promise<Figure[]> {
  const { perSecond, p50Ms, p99Ms } = await generateLoad({ kind: 'create', access, clients: 32, objects })
  return [
    { metric: 'durable creates, 32 clients', unit: '1/s', value: perSecond },
    { metric: 'durable create, p50', unit: 'ms', value: p50Ms },
    { metric: 'durable create, p99', unit: 'ms', value: p99Ms },
  ]
}

async function measureLists(access: AdminAccess): Promise<Figure[]> {
  const { p50Ms } = await generateLoad({ kind: 'list', access, times: 7, expectedItems: objects })
  return [{ metric: `list of ${objects} objects, p50`, unit: 'ms', value: p50Ms }]
}

async function measureWatches(access: AdminAccess): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [watchers, writes, writesPerSecond] of [
    [100, 120, 40],
    [1000, 40, 8],
  ] as const) {
    const { p99Ms } = await generateLoad({ kind: 'watch', access, watchers, writers: 1, writes, writesPerSecond })
    const metric = `commit to watcher, ${watchers} watchers, p99`
    figures.push({ metric, unit: 'ms', value: p99Ms })
  }
  return figures
}

async function measureLoop(access: AdminAccess): Promise<Figure> {
  const metric = 'main loop delay of the server under 64 watches, 500 writes/s and lists, p99'
  return { metric, unit: 'ms', value: await measureLoopDelay(access, objects) }
}

/** The same under `platnet run`, while its agent lists 10,000 Services; needs root, since the agent writes rules. */
async function measureNode(): Promise<Figure[]> {
  if (process.getuid?.() !== 0) {
    console.error('not root: no rows for platnet run')
    return []
  }
  const { agentMs, serverMs, relistMs, writesPerSecond } = await measureNodeLoops()
  const load = `${Math.round(writesPerSecond)} writes/s, 64 watches, the agent lists 10,000 Services`
  return [
    { metric: `main loop delay of the server, p99: ${load}`, unit: 'ms', value: serverMs },
    { metric: `main loop delay of the agent, p99: ${load}`, unit: 'ms', value: agentMs },
    { metric: 'agent killed to rules for 10,000 Services', unit: 'ms', value: relistMs },
  ]
}

async function measureRestart(target: BenchTarget): Promise<Figure[]> {
  await target.stop()
  const startedMs = performance.now()
  const access = await target.start()
  const value = performance.now() - startedMs
  const residentMiB = target.residentMiB()
  const loop = target.hasLoop ? [await measureLoop(access)] : []
  return [
    { metric: `start to ready with ${objects} objects`, unit: 'ms', value },
    { metric: `resident memory when ready with ${objects} objects`, unit: 'MiB', value: residentMiB },
    ...loop,
  ]
}
