import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterAccess, loadKubeconfig } from '../../src/client/index.ts'
import { httpGet } from './http-get.ts'
import { launcher } from './program.ts'

/** How a test or a load generator reaches a server as its administrator. */
export interface AdminAccess {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** `platnet server` as a process of its own, on one port and data directory over all its lives. */
export class PlatnetServer {
  readonly dataDir: string
  readonly #port: number
  readonly #environment: NodeJS.ProcessEnv
  readonly #flags: readonly string[]
  readonly #program: string
  #child: ChildProcess | undefined

  /** The API core alone where `flags` do not say otherwise: the managers' ports are for one server of this machine. */
  constructor(
    dataDir: string,
    port: number,
    environment: NodeJS.ProcessEnv = {},
    flags: readonly string[] = ['--components=api'],
    program = launcher,
  ) {
    this.dataDir = dataDir
    this.#port = port
    this.#environment = environment
    this.#flags = flags
    this.#program = program
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Resolves with how to reach it once it is ready; the whole of its start is in the time that takes. */
  async start(): Promise<AdminAccess> {
    const flags = ['--data-dir', this.dataDir, '--bind-address', '127.0.0.1', '--secure-port', String(this.#port)]
    const child = spawn(this.#program, ['server', ...flags, ...this.#flags, '--log-level', 'warn'], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...this.#environment },
    })
    this.#child = child
    const kubeconfig = join(this.dataDir, 'admin.kubeconfig')
    for (;;) {
      if (child.exitCode !== null) throw new Error(`platnet server ended with code ${child.exitCode}`)
      const access = existsSync(kubeconfig) ? toAdminAccess(await loadKubeconfig(kubeconfig)) : undefined
      if (access !== undefined && (await isReady(access))) return access
      await sleep(10)
    }
  }

  /** SIGKILL, or SIGTERM when it may end in its own way. The exit code, where it has one. */
  async stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    child.kill(signal)
    await once(child, 'exit')
    return child.exitCode
  }
}

export async function isReady(access: AdminAccess): Promise<boolean> {
  const { status } = await httpGet({ ...access, path: '/readyz' }).catch(() => ({ status: 0 }))
  return status === 200
}

export function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

export async function readAdminAccess(kubeconfig: string): Promise<AdminAccess> {
  const access = toAdminAccess(await loadKubeconfig(kubeconfig))
  if (access === undefined) throw new Error(`${kubeconfig} holds no client certificate`)
  return access
}

function toAdminAccess(access: ClusterAccess): AdminAccess | undefined {
  const { certificateAuthority: ca, clientCertificate: cert, clientKey: key } = access
  const { hostname, port } = new URL(access.server)
  if (ca === undefined || cert === undefined || key === undefined) return undefined
  return { host: hostname, port: Number(port), ca, cert, key }
}
