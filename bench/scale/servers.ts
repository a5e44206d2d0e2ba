import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { EtcdCluster } from '../../test/helpers/etcd.ts'
import { ServerGroup } from '../../test/helpers/etcd-fault-lab.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { httpGet } from '../../test/helpers/http-get.ts'
import { type AdminAccess, PlatnetServer, readAdminAccess, residentMiB } from '../../test/helpers/platnet-server.ts'
import { createKubernetesTarget } from '../api/kubernetes-target.ts'
import { processorSeconds } from '../processor-time.ts'

/** A server under measurement. */
export interface ScaleServer {
  /** The folder of the CA that signs the certificates of its agents. */
  readonly pkiDir: string
  readonly access: AdminAccess
  /** The processes that count; of a server that ran already its own metrics say what it uses. */
  readonly pids?: readonly number[]
}

export interface Servers extends AsyncDisposable {
  readonly list: readonly ScaleServer[]
  /** The members of etcd that were started here. */
  readonly etcdPids: readonly number[]
}

const etcdMembers = 3
const flags = ['--components=api', '--dialect=kubernetes', '--max-watches=100000', '--console=false']

/**
 * Returns the servers of BENCH_SCALE_SERVERS: a number of servers over three members of etcd, or data directories of running servers with
 * commas between them; one server over SQLite when it is not set.
 */
export function openServers(folder: string): Promise<Servers> {
  const named = process.env['BENCH_SCALE_SERVERS'] ?? ''
  if (named === '') return startOne(folder)
  return /^\d+$/.test(named) ? startGroup(folder, Number(named)) : findRunning(named.split(','))
}

/** kube-apiserver with a member of etcd of its own: both processes count together, as our server has its store inside. */
export async function openPeer(folder: string): Promise<Servers> {
  const target = await createKubernetesTarget(folder)
  const access = await target.start()
  await letAgentsIn(access)
  return {
    list: [{ pkiDir: target.pkiDir, access, pids: target.pids }],
    etcdPids: [],
    [Symbol.asyncDispose]: async () => {
      await target.stop()
      target.remove()
    },
  }
}

/** Gives nodes what `platnet agent` needs, by one role. */
async function letAgentsIn(access: AdminAccess): Promise<void> {
  const admin = new AdminConnection(access, 1)
  const path = '/apis/rbac.authorization.k8s.io/v1'
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scale-agents' }
  const metadata = { name: roleRef.name }
  const rules = [
    { apiGroups: ['', 'discovery.k8s.io', 'networking.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'patch'] },
    { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  ]
  const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'Group', name: 'system:nodes' }]
  await admin.send('POST', `${path}/clusterroles`, JSON.stringify({ metadata, rules }))
  await admin.send('POST', `${path}/clusterrolebindings`, JSON.stringify({ metadata, roleRef, subjects }))
  admin.close()
}

function pkiOf(dataDir: string): string {
  return join(dataDir, 'pki')
}

async function findRunning(dataDirs: readonly string[]): Promise<Servers> {
  const list = await Promise.all(
    dataDirs.map(async (dataDir) => ({ pkiDir: pkiOf(dataDir), access: await accessOf(dataDir) })),
  )
  return { list, etcdPids: [], [Symbol.asyncDispose]: async () => {} }
}

async function startOne(folder: string): Promise<Servers> {
  const dataDir = mkdtempSync(`${folder}/platnet-`)
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, flags)
  const access = await server.start()
  return {
    list: [{ pkiDir: pkiOf(dataDir), access, pids: [server.pid] }],
    etcdPids: [],
    [Symbol.asyncDispose]: async () => {
      await server.stop('SIGTERM')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Starts servers over etcd with disks synced and etcd's own time limits. */
async function startGroup(folder: string, count: number): Promise<Servers> {
  const dataDir = mkdtempSync(`${folder}/group-`)
  const times = ['--heartbeat-interval=100', '--election-timeout=1000']
  const etcd = await EtcdCluster.start({ members: etcdMembers, syncs: true, folder: dataDir, flags: times })
  const group = await ServerGroup.start(dataDir, count, etcd.servers, async () => flags)
  const list = Array.from({ length: count }, (_, index) => ({
    pkiDir: pkiOf(join(dataDir, `s${index}`)),
    access: group.access(index),
    pids: [group.pid(index)],
  }))
  return {
    list,
    etcdPids: etcd.pids,
    [Symbol.asyncDispose]: async () => {
      await group.stop()
      await etcd[Symbol.asyncDispose]()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

function accessOf(dataDir: string): Promise<AdminAccess> {
  return readAdminAccess(join(dataDir, 'admin.kubeconfig'))
}

/** What a server has used up to now: processor seconds of all its threads, and resident memory. */
export interface ServerUsage {
  readonly cpuSeconds: number
  readonly residentMiB: number
  readonly atMs: number
}

export async function usageOf({ access, pids }: ScaleServer): Promise<ServerUsage> {
  if (pids !== undefined) {
    const residentSum = pids.reduce((sum, pid) => sum + residentMiB(pid), 0)
    return { cpuSeconds: processorSeconds(pids), residentMiB: residentSum, atMs: performance.now() }
  }
  const { body } = await httpGet({ ...access, path: '/metrics' })
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1])
  return {
    cpuSeconds: read('process_cpu_seconds_total'),
    residentMiB: read('process_resident_memory_bytes') / 1024 / 1024,
    atMs: performance.now(),
  }
}

/** Processor time between two readings, as a share of one core. */
export function coresBetween(before: ServerUsage, after: ServerUsage): number {
  return (after.cpuSeconds - before.cpuSeconds) / ((after.atMs - before.atMs) / 1000)
}
