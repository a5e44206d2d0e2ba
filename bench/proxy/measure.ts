import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from '../../src/host/index.ts'
import { describeError } from '../../src/model/errors.ts'
import { percentile } from '../report.ts'
import { type BenchCluster, clusterIp, endpointAddress } from './cluster.ts'
import { CommitCount } from './commit-count.ts'
import { NodeLab } from './node-lab.ts'
import { timeSteadyChanges } from './steady-changes.ts'
import type { ProxyTarget } from './targets.ts'
import { kernelMemoryMiB, usageOf } from './usage.ts'

/** What may be measured of a proxy that has written everything once; all of it unless `BENCH_PROXY_PARTS` says which. */
const parts = (process.env['BENCH_PROXY_PARTS'] ?? 'connect,change,rate,idle,restart').split(',')
const changes = 60
/** A proxy that needs seconds for a change makes fewer of them. */
const changesSeconds = 60
/** After a write that took an endpoint away, one that adds some waits for as long as that took: a single change is what is measured. */
const restMs = 300
const connects = 10_000
const idleSeconds = 10
/** Before it is measured at rest: the last changes are written meanwhile, and the garbage of all changes is collected. */
const settleSeconds = 30

/** What one proxy shows at one size. */
export interface Figures {
  readonly firstSyncMs: number
  readonly firstPacketP50Us: number
  readonly firstPacketP99Us: number
  readonly failedConnects: number
  readonly changeP50Ms: number
  readonly changeP99Ms: number
  /** Of an endpoint that is there no longer, whatever its place among the others. */
  readonly removalP50Ms: number
  readonly removalP99Ms: number
  /** Of one that comes beside the others. */
  readonly additionP50Ms: number
  readonly additionP99Ms: number
  readonly residentMiB: number
  readonly idleCpuPercent: number
  readonly restartMs: number
  /** Commits to the kernel's tables from the restart until it was ready, and two seconds more. */
  readonly restartCommits: number
  /** Of the smallest write of a change into the same rules, by itself; none of the peers. */
  readonly bareWriteP50Ms: number
  readonly bareWriteP99Ms: number
  /** What rules and elements take, by the whole machine's figure. */
  readonly kernelMiB: number
  readonly steadyPerSecond: number
  readonly steadyLagP50Ms: number
  readonly steadyLagP99Ms: number
  readonly steadyLost: number
  readonly steadyCpuPercent: number
}

/** What was measured, and why the rest was not. */
export interface Outcome {
  readonly figures: Partial<Figures>
  readonly failure?: string
}

/** On a new node, from an empty kernel to a restart with all rules in place; as far as it gets until the signal aborts. */
export async function measureProxy(target: ProxyTarget, cluster: BenchCluster, signal: AbortSignal): Promise<Outcome> {
  const figures: Partial<Figures> = {}
  try {
    for await (const some of measureInTurn(target, cluster, signal)) Object.assign(figures, some)
    return { figures }
  } catch (error) {
    return { figures, failure: describeError(error) }
  }
}

/** The data plane before the changes: these take longest where a proxy is slow. */
async function* measureInTurn(
  target: ProxyTarget,
  cluster: BenchCluster,
  signal: AbortSignal,
): AsyncGenerator<Partial<Figures>, void> {
  const lab = new NodeLab()
  let program: RunningProgram | undefined
  signal.addEventListener('abort', () => lab.stopProbe(), { once: true })
  try {
    await lab.create()
    const kernelMiB = kernelMemoryMiB()
    const startedMs = performance.now()
    program = await target.start(lab)
    await untilLastAnswers(lab, cluster)
    yield { firstSyncMs: performance.now() - startedMs }
    await target.untilReady(cluster, signal)
    await sleep(2_000)
    yield { kernelMiB: kernelMemoryMiB() - kernelMiB }
    if (parts.includes('connect')) yield await timeConnects(lab, cluster)
    if (target.isFixed) return
    if (parts.includes('change')) yield await timeChanges(lab, cluster)
    if (parts.includes('change') && cluster.size.endpoints > 1) yield await timeRemovals(lab, cluster)
    if (parts.includes('rate')) yield await timeSteadyChanges(lab, cluster, program.pid)
    if (parts.includes('idle')) yield await measureIdle(program.pid)
    if (!parts.includes('restart')) return
    await kill(program)
    if (target.timeBareWrites) yield bareWrites(await target.timeBareWrites(lab.netns))
    const commits = await CommitCount.start(lab)
    const restartedMs = performance.now()
    program = await target.start(lab)
    await target.untilReady(cluster, signal)
    yield { restartMs: performance.now() - restartedMs }
    await sleep(2_000)
    yield { restartCommits: commits.stop() }
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
async function timeChanges(lab: NodeLab, cluster: BenchCluster): Promise<Partial<Figures>> {
  const tookMs: number[] = []
  const endMs = performance.now() + changesSeconds * 1000
  for (let change = 0; change < changes && performance.now() < endMs; change += 1) {
    const service = Math.floor(change / 2) * Math.floor(cluster.size.services / changes)
    const generation = (change + 1) % 2
    await cluster.changeFirstEndpoint(service, generation)
    const startedMs = performance.now()
    await lab.untilReached(clusterIp(service), endpointAddress(service, 0, generation))
    tookMs.push(performance.now() - startedMs)
    await sleep(20)
  }
  return { changeP50Ms: percentile(tookMs, 0.5), changeP99Ms: percentile(tookMs, 0.99) }
}

/** One endpoint after the other goes and comes back, each of another Service and at the next place. */
async function timeRemovals(lab: NodeLab, cluster: BenchCluster): Promise<Partial<Figures>> {
  const { services, endpoints } = cluster.size
  const [removals, additions]: [number[], number[]] = [[], []]
  const endMs = performance.now() + changesSeconds * 1000
  for (let change = 0; change < changes / 2 && performance.now() < endMs; change += 1) {
    const service = change * Math.floor((2 * services) / changes)
    const endpoint = change % endpoints
    const address = endpointAddress(service, endpoint)
    await cluster.leaveOutEndpoint(service, endpoint)
    removals.push(await lab.timeUntilGone(clusterIp(service), address))
    await sleep(restMs)
    await cluster.leaveOutEndpoint(service, undefined)
    const startedMs = performance.now()
    await lab.untilReached(clusterIp(service), address)
    additions.push(performance.now() - startedMs)
    await sleep(restMs)
  }
  return {
    removalP50Ms: percentile(removals, 0.5),
    removalP99Ms: percentile(removals, 0.99),
    additionP50Ms: percentile(additions, 0.5),
    additionP99Ms: percentile(additions, 0.99),
  }
}

function bareWrites(tookMs: readonly number[]): Partial<Figures> {
  return { bareWriteP50Ms: percentile(tookMs, 0.5), bareWriteP99Ms: percentile(tookMs, 0.99) }
}

async function timeConnects(lab: NodeLab, { size }: BenchCluster): Promise<Partial<Figures>> {
  const services = Array.from({ length: connects }, (_, count) => clusterIp((count * 7919) % size.services))
  const tookUs = await lab.timeConnects(services)
  return {
    firstPacketP50Us: percentile(tookUs, 0.5),
    firstPacketP99Us: percentile(tookUs, 0.99),
    failedConnects: tookUs.filter((each) => each === Number.POSITIVE_INFINITY).length,
  }
}

async function measureIdle(pid: number): Promise<Pick<Figures, 'residentMiB' | 'idleCpuPercent'>> {
  await sleep(settleSeconds * 1000)
  const before = usageOf(pid).cpuSeconds
  await sleep(idleSeconds * 1000)
  const { residentMiB, cpuSeconds } = usageOf(pid)
  return { residentMiB, idleCpuPercent: (100 * (cpuSeconds - before)) / idleSeconds }
}
