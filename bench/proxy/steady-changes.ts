import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../in-parallel.ts'
import { percentile } from '../report.ts'
import { type BenchCluster, clusterIp, endpointAddress } from './cluster.ts'
import type { Figures } from './measure.ts'
import type { NodeLab } from './node-lab.ts'
import { usageOf } from './usage.ts'

const perSecond = Number(process.env['BENCH_PROXY_RATE'] ?? '200')
const seconds = Number(process.env['BENCH_PROXY_RATE_SECONDS'] ?? '60')
/** What has not come by then after the last change is lost. */
const patienceSeconds = 5

interface Change {
  readonly service: number
  readonly generation: number
  readonly answeredMs: number
}

/**
 * Replaces first endpoints at a steady rate, of one Service after the other. Meanwhile the newest change that was answered is followed
 * until a packet meets it, then the next newest. At the end every Service that changed is asked for its endpoint.
 */
export async function timeSteadyChanges(lab: NodeLab, cluster: BenchCluster, pid: number): Promise<Partial<Figures>> {
  const generations = new Map<number, number>()
  const before = usageOf(pid).cpuSeconds
  const startedMs = performance.now()
  let newest: Change | undefined
  const making = makeChanges(cluster, generations, (change) => {
    newest = change
  })
  const lags = await followNewest(lab, making, () => newest)
  const tookSeconds = (performance.now() - startedMs) / 1000
  const cpuSeconds = usageOf(pid).cpuSeconds - before
  const lost = await countLost(lab, generations)
  await setBack(cluster, generations)
  return {
    steadyPerSecond: (await making) / tookSeconds,
    steadyLagP50Ms: percentile(lags, 0.5),
    steadyLagP99Ms: percentile(lags, 0.99),
    steadyLost: lost,
    steadyCpuPercent: (100 * cpuSeconds) / tookSeconds,
  }
}

/** Returns how many changes were made. */
async function makeChanges(
  cluster: BenchCluster,
  generations: Map<number, number>,
  onAnswer: (change: Change) => void,
): Promise<number> {
  const startedMs = performance.now()
  const pending: Promise<void>[] = []
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const dueMs = startedMs + (1000 * count) / perSecond - performance.now()
    if (dueMs > 0) await sleep(dueMs)
    const service = (count * 7919) % cluster.size.services
    const generation = 1 - (generations.get(service) ?? 0)
    generations.set(service, generation)
    const answer = () => onAnswer({ service, generation, answeredMs: performance.now() })
    pending.push(cluster.changeFirstEndpoint(service, generation).then(answer))
  }
  await Promise.all(pending)
  return pending.length
}

async function followNewest(
  lab: NodeLab,
  making: Promise<number>,
  newest: () => Change | undefined,
): Promise<readonly number[]> {
  const lags: number[] = []
  let isMaking = true
  let last: Change | undefined
  const end = () => {
    isMaking = false
  }
  making.then(end, end)
  while (isMaking) {
    const change = newest()
    if (change === undefined || change === last) {
      await sleep(1)
      continue
    }
    last = change
    const { service, generation, answeredMs } = change
    await lab.isReached(clusterIp(service), endpointAddress(service, 0, generation), patienceSeconds)
    lags.push(performance.now() - answeredMs)
  }
  return lags
}

async function countLost(lab: NodeLab, generations: ReadonlyMap<number, number>): Promise<number> {
  let lost = 0
  const endMs = performance.now() + 1000 * patienceSeconds
  for (const [service, generation] of generations) {
    const left = Math.max(0.2, (endMs - performance.now()) / 1000)
    if (!(await lab.isReached(clusterIp(service), endpointAddress(service, 0, generation), left))) lost += 1
  }
  return lost
}

async function setBack(cluster: BenchCluster, generations: ReadonlyMap<number, number>): Promise<void> {
  const changed = [...generations].filter(([, generation]) => generation !== 0).map(([service]) => service)
  await inParallel(changed.length, async (index) => {
    const service = changed[index]
    if (service !== undefined) await cluster.changeFirstEndpoint(service, 0)
  })
}
