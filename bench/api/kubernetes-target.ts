import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseIp } from '../../src/model/ip.ts'
import { ensureCertificate, ensureClusterCa, writeSecretFile } from '../../src/pki/index.ts'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { type AdminAccess, isReady, residentMiB } from '../../test/helpers/platnet-server.ts'
import type { BenchTarget } from './target.ts'

interface Programs {
  readonly apiServer: string
  readonly etcd: string
}

const places: readonly Programs[] = [
  { apiServer: '.cache/peer/kube-apiserver', etcd: '.cache/peer/etcd-server' },
  { apiServer: '.cache/conformance/bin/kube-apiserver', etcd: '.cache/conformance/bin/etcd' },
]

/** Returns the programs that `bench/api/build-peer.sh` makes, or those of the conformance runs, of the same versions. */
function findPrograms(): Programs | undefined {
  return places.find(({ apiServer, etcd }) => existsSync(apiServer) && existsSync(etcd))
}

export function isPeerBuilt(): boolean {
  return findPrograms() !== undefined
}

/** The program of etcd beside kube-apiserver, for a server that is measured over the same one. */
export function peerEtcd(): string | undefined {
  return findPrograms()?.etcd
}

interface KubernetesOptions {
  /** One network for the addresses of Services, or one of each family. */
  readonly serviceRange?: string
  /** URLs of members of etcd that run already; absent: one member of its own on the same disk, as a small cluster has it. */
  readonly etcdServers?: readonly string[]
}

export interface KubernetesTarget extends BenchTarget {
  /** The folder with the CA that signs certificates of clients. */
  readonly pkiDir: string
  readonly serverPid: number
  /** The processes that it started: kube-apiserver, and etcd where that is its own. */
  readonly pids: readonly number[]
}

/** kube-apiserver with etcd. */
export async function createKubernetesTarget(
  folder: string,
  { serviceRange = '10.96.0.0/16', etcdServers }: KubernetesOptions = {},
): Promise<KubernetesTarget> {
  const dir = mkdtempSync(`${folder}/kubernetes-`)
  const access = await makeCertificates(dir, await findFreePort())
  const etcdPorts = [await findFreePort(), await findFreePort()] as const
  const etcd = etcdServers ?? [`http://127.0.0.1:${etcdPorts[0]}`]
  const programs = findPrograms()
  if (programs === undefined) throw new Error('kube-apiserver is not built: sh bench/api/build-peer.sh')
  let children: ChildProcess[] = []
  return {
    name: 'kube-apiserver + etcd',
    hasLoop: false,
    pkiDir: dir,
    get serverPid() {
      return children.at(-1)?.pid ?? 0
    },
    get pids() {
      return children.flatMap(({ pid }) => pid ?? [])
    },
    start: async () => {
      children = etcdServers === undefined ? [run(dir, programs.etcd, etcdFlags(dir, etcdPorts))] : []
      children.push(run(dir, programs.apiServer, apiServerFlags(dir, access.port, etcd, serviceRange)))
      while (!(await isReady(access)) || !(await hasNamespaces(access))) await sleep(20)
      return access
    },
    residentMiB: () => children.reduce((sum, { pid = 0 }) => sum + residentMiB(pid), 0),
    stop: async () => {
      for (const child of children.toReversed()) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

function run(dir: string, program: string, flags: readonly string[]): ChildProcess {
  const log = openSync(join(dir, 'log.txt'), 'a')
  return spawn(program, flags, { stdio: ['ignore', log, log] })
}

/** It is ready before it has made the namespaces of a new cluster. */
async function hasNamespaces(access: AdminAccess): Promise<boolean> {
  const admin = new AdminConnection(access, 2)
  const names = ['default', 'kube-node-lease']
  return Promise.all(names.map((name) => admin.send('GET', `/api/v1/namespaces/${name}`))).then(
    () => true,
    () => false,
  )
}

async function makeCertificates(dir: string, port: number): Promise<AdminAccess> {
  const ca = await ensureClusterCa(dir)
  const loopback = parseIp('127.0.0.1')
  await ensureCertificate(ca, dir, 'server', {
    commonName: 'kube-apiserver',
    ips: loopback === undefined ? [] : [loopback],
    usages: ['server'],
    days: 1,
  })
  await writeSecretFile(join(dir, 'clients-ca.crt'), ca.certPem)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await writeSecretFile(join(dir, 'accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const admin = { commonName: 'admin', organizations: ['system:masters'], usages: ['client' as const], days: 1 }
  const { certPem: cert, keyPem: key } = await ensureCertificate(ca, dir, 'admin', admin)
  return { host: '127.0.0.1', port, ca: ca.certPem, cert, key }
}

function etcdFlags(dir: string, [clientPort, peerPort]: readonly [number, number]): string[] {
  const [client, peer] = [`http://127.0.0.1:${clientPort}`, `http://127.0.0.1:${peerPort}`]
  return [
    `--data-dir=${dir}/etcd`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]
}

function apiServerFlags(dir: string, port: number, etcd: readonly string[], serviceRange: string): string[] {
  return [
    `--etcd-servers=${etcd.join()}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${dir}/server.crt`,
    `--tls-private-key-file=${dir}/server.key`,
    `--client-ca-file=${dir}/clients-ca.crt`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${dir}/accounts.key`,
    `--service-account-signing-key-file=${dir}/accounts.key`,
    '--authorization-mode=RBAC',
    `--service-cluster-ip-range=${serviceRange}`,
    `--cert-dir=${dir}`,
  ]
}
