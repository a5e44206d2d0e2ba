import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { EtcdCluster, etcdLack } from '../../test/helpers/etcd.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { type AdminAccess, PlatnetServer } from '../../test/helpers/platnet-server.ts'
import { warmUpObjects } from '../api/create-load.ts'
import { generateLoad } from '../api/load-order.ts'
import { processorSeconds } from '../processor-time.ts'
import { type BenchReport, type BenchRow, measureAlone, progress } from '../report.ts'

const folder = '.cache/bench-store'
const objects = 8_000

/** One server over SQLite, over one member of etcd, and over three; disks are synced everywhere. */
export async function benchStore(): Promise<BenchReport> {
  mkdirSync(folder, { recursive: true })
  const rows: BenchRow[] = await measureStore('SQLite', [])
  if (etcdLack !== undefined) {
    console.error(etcdLack)
    return { name: 'store', rows }
  }
  for (const members of [1, 3]) rows.push(...(await measureEtcd(members)))
  return { name: 'store', rows }
}

async function measureEtcd(members: number): Promise<readonly BenchRow[]> {
  await using etcd = await EtcdCluster.start({ members, syncs: true, folder })
  const name = members === 1 ? 'one etcd' : `${members} etcd`
  // The cluster lives until the measurement has ended.
  return await measureStore(name, ['--store=etcd', `--etcd-servers=${etcd.servers.join()}`], etcd.pids)
}

async function measureStore(
  name: string,
  flags: readonly string[],
  etcdPids: readonly number[] = [],
): Promise<BenchRow[]> {
  progress(name)
  const dataDir = mkdtempSync(`${folder}/platnet-`)
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, ['--components=api', '--console=false', ...flags])
  try {
    const access = await server.start()
    const creates = await measureCreates(name, access, server.pid, etcdPids)
    return [...creates, ...(await measureReads(name, access))]
  } finally {
    await server.stop('SIGTERM')
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measureCreates(
  name: string,
  access: AdminAccess,
  pid: number,
  etcdPids: readonly number[],
): Promise<BenchRow[]> {
  const before = [processorSeconds([pid]), processorSeconds(etcdPids)]
  const { perSecond, p50Ms, p99Ms } = await generateLoad({ kind: 'create', access, clients: 32, objects })
  const after = [processorSeconds([pid]), processorSeconds(etcdPids)]
  const [own = 0, etcd = 0] = after.map((seconds, index) => seconds - (before[index] ?? 0))
  const perCreateUs = (seconds: number) => (seconds * 1e6) / objects
  return [
    measureAlone(`${name}: durable creates, 32 clients`, '1/s', perSecond),
    measureAlone(`${name}: durable create, p50`, 'ms', p50Ms),
    measureAlone(`${name}: durable create, p99`, 'ms', p99Ms),
    measureAlone(
      `${name}: processor time a create, server (the first ${warmUpObjects} included)`,
      'µs',
      perCreateUs(own),
    ),
    ...(etcdPids.length === 0 ? [] : [measureAlone(`${name}: processor time a create, etcd`, 'µs', perCreateUs(etcd))]),
  ]
}

async function measureReads(name: string, access: AdminAccess): Promise<BenchRow[]> {
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
    measureAlone(`${name}: list of ${objects} objects, p50`, 'ms', list.p50Ms),
    measureAlone(`${name}: commit to watcher, 100 watchers, p99`, 'ms', watch.p99Ms),
  ]
}
