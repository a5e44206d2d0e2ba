// The inner part of `npm run bench -- proxy`, in namespaces of its own: an API core with one cluster after the other, and
// each proxy alone on a node of it. Prints its report as one line of JSON; how far it is on standard error.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { describeError } from '../../src/model/errors.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { type AdminAccess, PlatnetServer } from '../../test/helpers/platnet-server.ts'
import type { BenchReport } from '../report.ts'
import { BenchCluster, type Size } from './cluster.ts'
import { handWrittenTarget } from './hand-written.ts'
import { measureProxy, type Outcome } from './measure.ts'
import { NodeLab, serverAddress } from './node-lab.ts'
import { reportRows } from './rows.ts'
import {
  isPeerBuilt,
  kubeProxyForms,
  kubeProxyTarget,
  type ProxyTarget,
  platnetModes,
  platnetTarget,
} from './targets.ts'

const grid = (process.env['BENCH_PROXY_GRID'] ?? '1000x4,10000x2,30000x3').split(',').map(parseSize)
/** What hangs must not keep the others from being measured. */
const cellSeconds = Number(process.env['BENCH_PROXY_CELL_SECONDS'] ?? '600')
const peers = (process.env['BENCH_PROXY_PEERS'] ?? 'iptables,nftables,by-hand').split(',')
const modes = (process.env['BENCH_PROXY_MODES'] ?? 'nftables,iptables').split(',')

function parseSize(text: string): Size {
  const [services = Number.NaN, endpoints = Number.NaN] = text.split('x').map(Number)
  if (!(services > 0 && endpoints > 0)) throw new Error(`BENCH_PROXY_GRID: expected such as 1000x4, found ${text}`)
  return { services, endpoints }
}

async function startServer(folder: string): Promise<{ server: PlatnetServer; access: AdminAccess }> {
  const flags = ['--components=api', '--dialect=kubernetes', `--bind-address=${serverAddress}`]
  const server = new PlatnetServer(folder, await findFreePort(), {}, flags)
  return { server, access: await server.start() }
}

function targets(kubeconfig: string, size: Size): ProxyTarget[] {
  const kubeProxies = kubeProxyForms.filter((form) => peers.includes(form) && isPeerBuilt())
  return [
    ...platnetModes.filter((mode) => modes.includes(mode)).map((mode) => platnetTarget(kubeconfig, mode)),
    ...kubeProxies.map((form) => kubeProxyTarget(kubeconfig, form)),
    ...(peers.includes('by-hand') ? [handWrittenTarget(size)] : []),
  ]
}

async function measureSize(size: Size): Promise<Map<string, Outcome>> {
  const folder = `/run/bench-server-${size.services}`
  const { server, access } = await startServer(folder)
  const cluster = new BenchCluster(access, size)
  try {
    await cluster.create()
    const outcomes = new Map<string, Outcome>()
    await warmUp(join(folder, 'admin.kubeconfig'), cluster)
    for (const target of targets(join(folder, 'admin.kubeconfig'), size))
      outcomes.set(target.name, await measureCell(target, cluster))
    return outcomes
  } finally {
    cluster.close()
    await server.stop('SIGTERM')
  }
}

/** An agent of a node that has run before finds its compiled code on disk. */
async function warmUp(kubeconfig: string, cluster: BenchCluster): Promise<void> {
  const lab = new NodeLab()
  try {
    await lab.create()
    const target = platnetTarget(kubeconfig, 'nftables')
    const program = await target.start(lab)
    await target.untilReady(cluster, AbortSignal.timeout(cellSeconds * 1000))
    // It writes the compiled code when it reports to be ready.
    await sleep(2_000)
    program.kill('SIGKILL')
    await program.exited
  } finally {
    await lab.remove()
  }
}

async function measureCell(target: ProxyTarget, cluster: BenchCluster): Promise<Outcome> {
  const { services, endpoints } = cluster.size
  const startedMs = performance.now()
  const outcome = await measureProxy(target, cluster, AbortSignal.timeout(cellSeconds * 1000))
  const tookSeconds = Math.round((performance.now() - startedMs) / 1000)
  console.error(`${services} x ${endpoints}: ${target.name} took ${tookSeconds} s: ${JSON.stringify(outcome)}`)
  return outcome
}

async function measure(): Promise<BenchReport> {
  if (!isPeerBuilt()) console.error('no peer: sh bench/proxy/build-peer.sh builds kube-proxy (needs Go, takes minutes)')
  await runProgram('ip', ['addr', 'add', serverAddress, 'dev', 'lo'], { timeoutMs: 10_000 })
  const rows = []
  for (const size of grid) {
    const outcomes = await measureSize(size).catch(
      (error: unknown) => new Map<string, Outcome>([['the cluster', { figures: {}, failure: describeError(error) }]]),
    )
    rows.push(...reportRows(size, outcomes))
  }
  return { name: 'proxy', rows }
}

process.stdout.write(`${JSON.stringify(await measure())}\n`)
process.exit(0)
