import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from '../../src/host/index.ts'
import { percentile } from '../report.ts'
import { type BenchCluster, clusterIp, endpointAddress } from './cluster.ts'
import { NodeLab } from './node-lab.ts'
import { type ProxyTarget, usageOf } from './targets.ts'

const changes = 60
const connects = 3_000
const idleSeconds = 10

/** What one proxy shows at one size. */
export interface Figures {
  readonly firstSyncMs: number
  readonly changeP50Ms: number
  readonly changeP99Ms: number
  readonly firstPacketP50Us: number
  readonly firstPacketP99Us: number
  readonly failedConnects: number
  readonly residentMiB: number
  readonly idleCpuPercent: number
  readonly restartMs: number
}

/** On a new node, from an empty kernel to a restart with all rules in place. Throws at the latest when the signal aborts. */
export async function measureProxy(target: ProxyTarget, cluster: BenchCluster, signal: AbortSignal): Promise<Figures> {
  const lab = new NodeLab()
  let program: RunningProgram | undefined
  signal.addEventListener('abort', () => lab.stopPrograms(), { once: true })
  try {
    await lab.create()
    const startedMs = performance.now()
    program = await target.start(lab)
    await untilLastAnswers(lab, cluster)
    const firstSyncMs = performance.now() - startedMs
    await target.untilReady(cluster, signal)
    await sleep(2_000)
    const changesMs = await timeChanges(lab, cluster)
    const connectsUs = await timeConnects(lab, cluster)
    const idle = await measureIdle(program.pid)
    await kill(program)
    const restartedMs = performance.now()
    program = await target.start(lab)
    await target.untilReady(cluster, signal)
    return {
      firstSyncMs,
      changeP50Ms: percentile(changesMs, 0.5),
      changeP99Ms: percentile(changesMs, 0.99),
      firstPacketP50Us: percentile(connectsUs, 0.5),
      firstPacketP99Us: percentile(connectsUs, 0.99),
      failedConnects: connectsUs.filter((tookUs) => tookUs === Number.POSITIVE_INFINITY).length,
      ...idle,
      restartMs: performance.now() - restartedMs,
    }
  } finally {
    if (program) await kill(program)
    await lab.remove()
  }
}

async function kill(program: RunningProgram): Promise<void> {
  program.kill('SIGKILL')
  await program.exited
}

/** The dispatch goes in last and at once, with both: when one of the last Services answers, all do. */
async function untilLastAnswers(lab: NodeLab, { size }: BenchCluster): Promise<void> {
  const last = size.services - 1
  await lab.untilReached(clusterIp(last), endpointAddress(last, 0))
}

/** From the API's answer to the first connection that the new endpoint takes; each Service gets its old one back. */
async function timeChanges(lab: NodeLab, cluster: BenchCluster): Promise<number[]> {
  const tookMs: number[] = []
  for (let change = 0; change < changes; change += 1) {
    const service = Math.floor(change / 2) * Math.floor(cluster.size.services / changes)
    const generation = (change + 1) % 2
    await cluster.changeFirstEndpoint(service, generation)
    const startedMs = performance.now()
    await lab.untilReached(clusterIp(service), endpointAddress(service, 0, generation))
    tookMs.push(performance.now() - startedMs)
    await sleep(20)
  }
  return tookMs
}

async function timeConnects(lab: NodeLab, { size }: BenchCluster): Promise<number[]> {
  const tookUs: number[] = []
  for (let count = 0; count < connects; count += 1) {
    tookUs.push(await lab.timeConnect(clusterIp((count * 7919) % size.services)))
  }
  return tookUs
}

async function measureIdle(pid: number): Promise<Pick<Figures, 'residentMiB' | 'idleCpuPercent'>> {
  const before = usageOf(pid).cpuSeconds
  await sleep(idleSeconds * 1000)
  const { residentMiB, cpuSeconds } = usageOf(pid)
  return { residentMiB, idleCpuPercent: (100 * (cpuSeconds - before)) / idleSeconds }
}
