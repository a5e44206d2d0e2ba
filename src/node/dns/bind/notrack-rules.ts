import { type RunningProgram, runProgram } from '../../../host/index.ts'
import { Backoff } from '../../../loop/backoff.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import { DnsError } from '../errors.ts'
import { notrackCommands, notrackTable } from './notrack-commands.ts'

export interface NotrackRulesParts {
  readonly addresses: readonly Ip[]
  readonly port: number
  readonly log: Logger
}

const confirmWithinMs = 10_000

/**
 * Keeps queries to the cluster DNS away from connection tracking, and so from the rules of its Service: this node answers them. The rules belong to
 * a child whose input is a pipe from this process. When this process dies, the child reads the end of the pipe and exits, and the kernel drops its
 * table: queries then go to the endpoints of the Service.
 */
export class NotrackRules {
  readonly #parts: NotrackRulesParts
  readonly #backoff = new Backoff({ baseMs: 200, maxMs: 30_000 })
  #child: RunningProgram | undefined
  #retry: NodeJS.Timeout | undefined
  #wanted = false

  constructor(parts: NotrackRulesParts) {
    this.#parts = parts
  }

  get areInstalled(): boolean {
    return this.#child !== undefined
  }

  /** True from `install` to `remove`, whether or not the rules are in the kernel yet. */
  get areWanted(): boolean {
    return this.#wanted
  }

  /** Installs the rules, and tries again until they are installed or removed; logs failures. */
  async install(): Promise<void> {
    this.#wanted = true
    try {
      await this.#installOnce()
      this.#backoff.reset()
    } catch (error) {
      this.#retryLater(error)
    }
  }

  /** Queries go to the endpoints of the Service as soon as this resolves. */
  async remove(): Promise<void> {
    this.#wanted = false
    clearTimeout(this.#retry)
    const child = this.#child
    if (child === undefined) return
    child.stdin?.end('quit\n')
    const kill = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await child.exited
    clearTimeout(kill)
  }

  async #installOnce(): Promise<void> {
    const { addresses, port, log } = this.#parts
    const child = await startHolder()
    child.stdin?.on('error', () => {})
    try {
      child.stdin?.write(`${notrackCommands(addresses, port)}list tables inet\n`)
      await confirm(child)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    this.#child = child
    void child.exited.then(() => this.#onExit())
    log.info('queries to the cluster DNS are answered here', { addresses, port, pid: child.pid })
  }

  #onExit(): void {
    this.#child = undefined
    if (this.#wanted) this.#retryLater(new DnsError('notrack-failed', 'the nft that held the rules ended'))
  }

  #retryLater(error: unknown): void {
    if (!this.#wanted) return
    const delayMs = Math.round(this.#backoff.nextDelayMs())
    this.#parts.log.warn('queries to the cluster DNS go through its Service for now; tried again', { error, delayMs })
    this.#retry = setTimeout(() => void this.install(), delayMs)
  }
}

/**
 * Starts an `nft` that waits for commands. The input of the child ends only when the kernel has freed all memory of a killed process, tens of
 * milliseconds later; `setpriv` (util-linux) kills the child with the thread that started it, which is sooner.
 */
function startHolder(): Promise<RunningProgram> {
  // It would keep what it read in .nft.history of this folder; without the variable, of its working directory.
  const env = { HOME: '/nonexistent' }
  const pipes = { background: true, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe', env } as const
  return runProgram('setpriv', ['--pdeathsig', 'KILL', 'nft', '-i'], pipes).catch(() =>
    runProgram('nft', ['-i'], pipes),
  )
}

/** Resolves when nft lists our table, and rejects with its output otherwise. */
async function confirm(child: RunningProgram): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const refuse = (said: string) =>
    reject(
      new DnsError('notrack-failed', `nft did not take the rules of the cluster DNS: ${said.trim()}`, {
        remedy: 'nftables 1.0 or newer and Linux 5.12 or newer are needed; "nft list ruleset" shows what is there',
      }),
    )
  let [listed, said] = ['', '']
  child.stdout?.on('data', (chunk) => {
    listed = `${listed}${String(chunk)}`.slice(-65_536)
    if (listed.includes(`table inet ${notrackTable}\n`)) resolve()
  })
  // Its line editor complains here, too, where the machine knows no terminals.
  child.stderr?.on('data', (chunk) => {
    said = `${said}${String(chunk)}`.slice(-4_096)
    if (said.includes('Error: ')) refuse(said)
  })
  void child.exited.then(({ exitCode }) => refuse(`it ended with ${exitCode}. ${said}`))
  const deadline = setTimeout(() => refuse(`no answer. ${said}`), confirmWithinMs)
  await promise.finally(() => clearTimeout(deadline))
}
