import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningProgram, runProgram } from '../host/index.ts'
import type { Ip } from '../model/ip.ts'

/** The program under demonstration, as the steps see it. */
export interface Daemon {
  /** Resolves when its processes run, which is long before it is ready. */
  start(): Promise<void>
  /** SIGKILL to every process of it at once; resolves with their number when all are gone. */
  kill(): Promise<number>
}

/** Under the private /run, so nothing of it outlives the demo. */
export const dataDirectory = '/run/platnet-demo'
export const controlSocket = `${dataDirectory}/control.sock`
export const adminKubeconfig = `${dataDirectory}/admin.kubeconfig`

/** The options of CNI: nothing is written to the host's own folders. */
const podNetwork = ['--cni-conf-dir', `${dataDirectory}/net.d`, '--cni-cache-dir', `${dataDirectory}/cni`]

/** `platnet run` with everything it writes in `dataDirectory`, its log beside it. */
export class PlatnetDaemon implements Daemon {
  readonly #nodeAddress: Ip
  readonly #flags: readonly string[]
  readonly #logFile = join(dataDirectory, 'daemon.log')
  #program: RunningProgram | undefined

  /** `flags` are added to those that say where things are. */
  constructor(nodeAddress: Ip, flags: readonly string[] = []) {
    this.#nodeAddress = nodeAddress
    this.#flags = flags
  }

  async start(): Promise<void> {
    await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
    const launcher = resolve(import.meta.dirname, '../../scripts/platnet')
    const places = ['--data-dir', dataDirectory, '--control-socket', controlSocket, ...podNetwork]
    const options = [...places, '--node-name', 'demo', '--node-ip', this.#nodeAddress, ...this.#flags]
    const log = await open(this.#logFile, 'a', 0o600)
    try {
      const output = { stdout: log.fd, stderr: log.fd }
      this.#program = await runProgram(launcher, ['run', ...options], { background: true, ...output })
    } finally {
      await log.close()
    }
  }

  async kill(): Promise<number> {
    if (this.#program === undefined) return 0
    const pids = listProcessTree(this.#program.pid)
    for (const pid of pids) killIfThere(pid)
    while (pids.some(isAlive)) await sleep(5)
    return pids.length
  }

  /** The end of its log, for a demo that failed. */
  async readLogTail(lines: number): Promise<string> {
    const text = await readFile(this.#logFile, 'utf8').catch(() => '')
    return text.trimEnd().split('\n').slice(-lines).join('\n')
  }
}

/** A process and all that descend from it, which may lead process groups of their own (proc(5), children). */
function listProcessTree(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : []
  return [pid, ...children.flatMap(listProcessTree)]
}

function killIfThere(pid: number): void {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL')
}

/** A zombie is gone: this process is the first of its namespace and waits only for its own children. */
function isAlive(pid: number): boolean {
  const file = `/proc/${pid}/status`
  return existsSync(file) && !/^State:\s+[ZX]/m.test(readFileSync(file, 'utf8'))
}
