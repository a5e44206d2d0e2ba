// Run by dns.ts in namespaces of its own: an API server here, the DNS servers as processes beside it, dnsperf against each.
// Prints the report as one line of JSON.
import { existsSync, mkdirSync } from 'node:fs'
import { writeKubeconfigs } from '../../src/app/composition/cluster-files.ts'
import { ApiClient, type ClusterAccess, loadKubeconfig } from '../../src/client/index.ts'
import { residentMiB } from '../../test/helpers/platnet-server.ts'
import { hasProgram } from '../needs.ts'
import { type BenchRow, compare, measureAlone, percentile } from '../report.ts'
import { apiPort, dataDir, fill, identity, nameOf, services, startApi } from './cluster.ts'
import { compareLoads, compareUncached, type Peers } from './compare-loads.ts'
import type { LoadTarget } from './load.ts'
import { isFound, untilAnswered } from './pings.ts'
import { measureRelists } from './relists.ts'
import { corednsFile, startCoredns, startDnsmasq, startPlatnet, startUnbound, startUpstream } from './servers.ts'
import { measureShared } from './shared.ts'

const seconds = Number(process.env['BENCH_SECONDS'] ?? 4)
const sizes = (process.env['BENCH_SERVICES'] ?? '1000,10000').split(',').map(Number)
const parts = new Set((process.env['BENCH_PARTS'] ?? 'cluster,search,forward,change,shared,relist').split(','))
const most = Math.max(...sizes)

const startedMs = performance.now()

/** How far it is, for who waits. */
function tell(step: string): void {
  process.stderr.write(`${Math.round((performance.now() - startedMs) / 1000)} s: ${step}\n`)
}

interface Bench {
  readonly access: ClusterAccess
  readonly client: ApiClient
  readonly ours: LoadTarget
  /** Fed by the same API server. */
  readonly watching: Peers
  /** With the same names in their configuration. */
  readonly fixed: Peers
}

const hasLoad = hasProgram('dnsperf', 'every row of CPU per query and of queries per second')
const hasDnsmasq = hasProgram('dnsmasq', 'its own rows, and forwarded names, whose upstream it is')
const hasUnbound = hasProgram('unbound', 'its rows')

async function start(): Promise<Bench> {
  const access = await loadKubeconfig(`${dataDir}/admin.kubeconfig`)
  if (hasDnsmasq) await startUpstream()
  const ours = await startPlatnet()
  const fixed: Peers = {
    ...(hasUnbound && { unbound: await startUnbound(most) }),
    ...(hasDnsmasq && { dnsmasq: await startDnsmasq(most) }),
  }
  const watching: Peers =
    existsSync(corednsFile) && process.env['BENCH_PEERS'] !== 'none' ? { CoreDNS: await startCoredns(access) } : {}
  return { access, client: new ApiClient(access), ours, fixed, watching }
}

async function measureClusterNames({ access, ours, watching, fixed }: Bench): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  let filled = 0
  for (const size of sizes) {
    tell(`${size} Services`)
    await fill(access, filled, size)
    filled = size
    for (const target of [ours, ...Object.values({ ...watching, ...fixed })])
      await untilAnswered(target, nameOf(size - 1), isFound)
    rows.push(...compareMemory(`${size} Services, ${size * 2} endpoints: memory before any query`, ours, watching))
    if (!parts.has('cluster') || !hasLoad) continue
    tell('cluster')
    const names = Array.from({ length: size }, (_, index) => `${nameOf((index * 7919) % size)} A`)
    const what = `${size} Services, cluster names`
    rows.push(...(await compareLoads(what, ours, { ...watching, ...fixed }, names, seconds)))
    rows.push(...compareMemory(`${size} Services, ${size * 2} endpoints: memory`, ours, watching))
  }
  return rows
}

function compareMemory(what: string, ours: LoadTarget, peers: Peers): readonly BenchRow[] {
  const own = residentMiB(ours.pid)
  return Object.entries(peers).map(([name, { pid }]) => compare(what, 'MiB', own, name, residentMiB(pid)))
}

function measureSearch({ ours, watching, fixed }: Bench): Promise<BenchRow[]> {
  const searched = Array.from({ length: 2_000 }, (_, index) => `host-${index}.example.test.default.svc.cluster.local A`)
  return compareLoads('NXDOMAIN through a search path', ours, { ...watching, ...fixed }, searched, seconds)
}

async function measureForwarded({ ours, watching, fixed }: Bench): Promise<BenchRow[]> {
  const kept = Array.from({ length: 200 }, (_, index) => `kept-${index}.example.test A`)
  const { dnsmasq: _, ...resolving } = fixed
  return [
    ...(await compareLoads('forwarded names, cached', ours, { ...watching, ...fixed }, kept, seconds)),
    ...(await compareUncached(ours, { ...watching, ...resolving }, Math.min(seconds, 3))),
  ]
}

async function measureChanges({ client, ours }: Bench): Promise<BenchRow[]> {
  const tookMs: number[] = []
  for (let index = 0; index < 200; index += 1) {
    const metadata = { name: `change-${index}` }
    const spec = { clusterIP: `10.110.1.${index + 1}`, ports: [{ port: 80 }] }
    await client.create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec })
    tookMs.push(await untilAnswered(ours, `change-${index}.default.svc.cluster.local`, isFound))
  }
  return [measureAlone('change visible after the commit, p99', 'ms', percentile(tookMs, 0.99))]
}

async function measure(): Promise<readonly BenchRow[]> {
  mkdirSync(dataDir, { recursive: true })
  const api = await startApi()
  await writeKubeconfigs(identity, apiPort)
  const bench = await start()
  const rows = await measureClusterNames(bench)
  const steps: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = {
    ...(hasLoad && { search: () => measureSearch(bench) }),
    ...(hasLoad && hasDnsmasq && { forward: () => measureForwarded(bench) }),
    change: () => measureChanges(bench),
    shared: () => measureShared(),
    relist: () => measureRelists(api, bench, most),
  }
  for (const [part, step] of Object.entries(steps)) {
    tell(part)
    if (parts.has(part)) rows.push(...(await step()))
  }
  return rows
}

measure().then(
  (rows) => {
    const tookSeconds = Math.round((performance.now() - startedMs) / 1000)
    process.stdout.write(`${JSON.stringify({ name: `DNS, ${seconds} s a load, ${tookSeconds} s in all`, rows })}\n`)
    process.exit(0)
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
