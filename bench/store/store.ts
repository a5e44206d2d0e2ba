import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { EtcdCluster, etcdLack } from '../../test/helpers/etcd.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { type AdminAccess, PlatnetServer } from '../../test/helpers/platnet-server.ts'
import { warmUpObjects } from '../api/create-load.ts'
import { createKubernetesTarget, isPeerBuilt, peerEtcd } from '../api/kubernetes-target.ts'
import { generateLoad } from '../api/load-order.ts'
import { processorSeconds } from '../processor-time.ts'
import { type BenchReport, type BenchRow, compareFigures, type Figure, progress } from '../report.ts'

const folder = '.cache/bench-store'
const objects = Number(process.env['BENCH_STORE_OBJECTS'] ?? 8_000)

/** A server that is ready, and the members of etcd below it. */
interface Running {
  readonly access: AdminAccess
  readonly pid: number
  readonly etcdPids: readonly number[]
}

/**
 * One server over SQLite, over one member of etcd and over three, and kube-apiserver over as many members; disks are synced everywhere.
 * SQLite stands beside kube-apiserver over one member.
 */
export async function benchStore(): Promise<BenchReport> {
  mkdirSync(folder, { recursive: true })
  const overSqlite = await measureOurs('SQLite', [], [])
  if (etcdLack !== undefined) {
    console.error(etcdLack)
    return { name: 'store', rows: toRows('SQLite', overSqlite, []) }
  }
  const [overOne, peerOverOne] = await measureEtcd(1)
  const [overThree, peerOverThree] = await measureEtcd(3)
  const rows = [
    ...toRows('SQLite', overSqlite, peerOverOne),
    ...toRows('one etcd', overOne, peerOverOne),
    ...toRows('3 etcd', overThree, peerOverThree),
  ]
  return { name: 'store', rows }
}

function toRows(name: string, ours: readonly Figure[], peer: readonly Figure[]): readonly BenchRow[] {
  return compareFigures(ours, peer, 'kube-apiserver').map((row) => ({ ...row, metric: `${name}: ${row.metric}` }))
}

/** Returns our figures and those of kube-apiserver, each over new members of one program of etcd. */
async function measureEtcd(members: number): Promise<readonly [readonly Figure[], readonly Figure[]]> {
  const startMembers = () => EtcdCluster.start({ members, syncs: true, folder, program: peerEtcd() })
  const ours = await withEtcd(startMembers, ({ servers, pids }) =>
    measureOurs(`${members} etcd`, ['--store=etcd', `--etcd-servers=${servers.join()}`], pids),
  )
  if (process.env['BENCH_PEERS'] === 'none') return [ours, []]
  if (!isPeerBuilt()) {
    console.error('no peer: sh bench/api/build-peer.sh builds kube-apiserver and etcd (needs Go, takes minutes)')
    return [ours, []]
  }
  return [ours, await withEtcd(startMembers, (etcd) => measurePeer(etcd))]
}

async function withEtcd<Result>(
  start: () => Promise<EtcdCluster>,
  measure: (etcd: EtcdCluster) => Promise<Result>,
): Promise<Result> {
  await using etcd = await start()
  return await measure(etcd)
}

async function measureOurs(
  name: string,
  flags: readonly string[],
  etcdPids: readonly number[],
): Promise<readonly Figure[]> {
  progress(name)
  const dataDir = mkdtempSync(`${folder}/platnet-`)
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, ['--components=api', '--console=false', ...flags])
  try {
    const access = await server.start()
    return await measure({ access, pid: server.pid, etcdPids })
  } finally {
    await server.stop('SIGTERM')
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measurePeer({ servers, pids }: EtcdCluster): Promise<readonly Figure[]> {
  progress(`kube-apiserver over ${pids.length} etcd`)
  const target = await createKubernetesTarget(folder, { etcdServers: servers })
  try {
    const access = await target.start()
    return await measure({ access, pid: target.serverPid, etcdPids: pids })
  } finally {
    await target.stop()
    target.remove()
  }
}

async function measure(running: Running): Promise<readonly Figure[]> {
  return [...(await measureCreates(running)), ...(await measureReads(running.access))]
}

async function measureCreates({ access, pid, etcdPids }: Running): Promise<readonly Figure[]> {
  const before = [processorSeconds([pid]), processorSeconds(etcdPids)]
  const { perSecond, p50Ms, p99Ms } = await generateLoad({ kind: 'create', access, clients: 32, objects })
  const after = [processorSeconds([pid]), processorSeconds(etcdPids)]
  const [server = 0, etcd = 0] = after.map((seconds, index) => ((seconds - (before[index] ?? 0)) * 1e6) / objects)
  const perCreate = `processor time a create (the first ${warmUpObjects} included)`
  const parts = [
    { metric: `${perCreate}: server`, unit: 'µs', value: server },
    { metric: `${perCreate}: etcd`, unit: 'µs', value: etcd },
  ]
  return [
    { metric: 'durable creates, 32 clients', unit: '1/s', value: perSecond },
    { metric: 'durable create, p50', unit: 'ms', value: p50Ms },
    { metric: 'durable create, p99', unit: 'ms', value: p99Ms },
    { metric: `${perCreate}: all processes`, unit: 'µs', value: server + etcd },
    ...(etcdPids.length === 0 ? [] : parts),
  ]
}

async function measureReads(access: AdminAccess): Promise<readonly Figure[]> {
  const list = await generateLoad({ kind: 'list', access, times: 7, expectedItems: objects })
  const watch = await generateLoad({
    kind: 'watch',
    access,
    watchers: 100,
    writers: 1,
    writes: 120,
    writesPerSecond: 40,
  })
  return [
    { metric: `list of ${objects} objects, p50`, unit: 'ms', value: list.p50Ms },
    { metric: 'commit to watcher, 100 watchers, p99', unit: 'ms', value: watch.p99Ms },
  ]
}
