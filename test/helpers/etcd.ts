import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from './free-port.ts'

/** The reason why tests with etcd are skipped here; undefined where they run. */
export const etcdLack =
  spawnSync('etcd', ['--version']).status === 0 ? undefined : 'etcd is not on this machine (Debian: etcd-server)'

interface EtcdTls {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

interface EtcdOptions {
  readonly members?: number
  /** Files of certificates: clients speak TLS and show a certificate. */
  readonly tls?: EtcdTls
  readonly flags?: readonly string[]
  /** Absent: the one that is installed. */
  readonly program?: string | undefined
  /** Writes reach the disk, as outside of tests. */
  readonly syncs?: boolean
  /** The folder for the data; absent: memory. */
  readonly folder?: string
}

/** A cluster of etcd on the loopback, its data in a folder of its own. */
export class EtcdCluster implements AsyncDisposable {
  readonly servers: readonly string[]
  readonly #folder: string
  readonly #peers: readonly string[]
  readonly #options: EtcdOptions
  readonly #members: (ChildProcess | undefined)[] = []

  private constructor(servers: readonly string[], peers: readonly string[], options: EtcdOptions) {
    this.servers = servers
    this.#peers = peers
    this.#options = options
    const parent = options.folder ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
    this.#folder = mkdtempSync(join(parent, 'plt-etcd-'))
  }

  get pids(): readonly number[] {
    return this.#members.flatMap((member) => member?.pid ?? [])
  }

  static async start(options: EtcdOptions = {}): Promise<EtcdCluster> {
    const count = options.members ?? 1
    const scheme = options.tls === undefined ? 'http' : 'https'
    const addresses = async (protocol: string) => {
      const found: string[] = []
      while (found.length < count) found.push(`${protocol}://127.0.0.1:${await findFreePort()}`)
      return found
    }
    const cluster = new EtcdCluster(await addresses(scheme), await addresses('http'), options)
    for (let index = 0; index < count; index++) cluster.startMember(index)
    for (let index = 0; index < count; index++) await cluster.ready(index)
    return cluster
  }

  /** Starts a member with the data that it has. */
  startMember(index: number): void {
    const { tls, flags = [], syncs = false, program = 'etcd' } = this.#options
    const [server = '', peer = ''] = [this.servers[index], this.#peers[index]]
    const trust =
      tls === undefined
        ? []
        : ['--cert-file', tls.cert, '--key-file', tls.key, '--client-cert-auth', '--trusted-ca-file', tls.ca]
    const child = spawn(
      program,
      [
        ...['--name', `m${index}`, '--data-dir', join(this.#folder, `m${index}`)],
        ...['--listen-client-urls', server, '--advertise-client-urls', server],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', this.#peers.map((url, member) => `m${member}=${url}`).join(',')],
        ...['--heartbeat-interval', '50', '--election-timeout', '500', '--log-level', 'error', '--logger', 'zap'],
        ...(syncs ? [] : ['--unsafe-no-fsync']),
        ...trust,
        ...flags,
      ],
      { stdio: ['ignore', 'ignore', process.env['ETCD_LOG'] === undefined ? 'ignore' : 'inherit'] },
    )
    this.#members[index] = child
  }

  /** Resolves once the member takes part: it has a leader. */
  async ready(index: number): Promise<void> {
    const deadlineMs = performance.now() + 20_000
    while (performance.now() < deadlineMs) {
      if (this.etcdctl(['endpoint', 'health'], index).status === 0) return
      if (this.#members[index]?.exitCode != null)
        throw new Error(`etcd ended with code ${this.#members[index]?.exitCode}`)
      await sleep(50)
    }
    throw new Error('etcd does not answer')
  }

  etcdctl(
    words: readonly string[],
    index = 0,
    input = '',
  ): { readonly status: number | null; readonly stdout: string } {
    const { tls } = this.#options
    const trust = tls === undefined ? [] : ['--cacert', tls.ca, '--cert', tls.cert, '--key', tls.key]
    const options = { encoding: 'utf8', input, env: { ...process.env, ETCDCTL_API: '3' }, timeout: 5_000 } as const
    return spawnSync('etcdctl', ['--endpoints', this.servers[index] ?? '', ...trust, ...words], options)
  }

  /** Replaces the data of the only member by a snapshot and starts it again. */
  async restore(snapshot: string): Promise<void> {
    await this.kill(0)
    const data = join(this.#folder, 'm0')
    rmSync(data, { recursive: true, force: true })
    const [peer = ''] = this.#peers
    const place = ['--name', 'm0', '--initial-cluster', `m0=${peer}`, '--initial-advertise-peer-urls', peer]
    const { status } = this.etcdctl(['snapshot', 'restore', snapshot, '--data-dir', data, ...place])
    if (status !== 0) throw new Error('the snapshot was not restored')
    this.startMember(0)
    await this.ready(0)
  }

  signal(index: number, signal: NodeJS.Signals): void {
    this.#members[index]?.kill(signal)
  }

  async kill(index: number): Promise<void> {
    const member = this.#members[index]
    if (member === undefined || member.exitCode !== null || member.signalCode !== null) return
    member.kill('SIGKILL')
    await once(member, 'exit')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map((_, index) => this.kill(index)))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
