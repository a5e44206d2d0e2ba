import { type RunningProgram, startProgram } from '../../../host/index.ts'
import { Backoff } from '../../../loop/backoff.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import { DnsError } from '../errors.ts'
import { exemptionCommands, exemptionTable } from './exemption-rules.ts'

export interface ExemptionParts {
  readonly addresses: readonly Ip[]
  readonly port: number
  readonly log: Logger
}

const confirmWithinMs = 10_000

/**
 * While this holds, queries to the cluster DNS are answered on this node. The rules belong to a child whose input is a pipe from here: when this
 * process dies in whatever way, the child reads the end, ends, and the kernel drops its table; queries then go where the Service says.
 */
export class Exemption {
  readonly #parts: ExemptionParts
  readonly #backoff = new Backoff({ baseMs: 200, maxMs: 30_000 })
  #child: RunningProgram | undefined
  #retry: NodeJS.Timeout | undefined
  #wanted = false

  constructor(parts: ExemptionParts) {
    this.#parts = parts
  }

  get holds(): boolean {
    return this.#child !== undefined
  }

  /** It was taken and not given up, whether it holds already or not. */
  get isWanted(): boolean {
    return this.#wanted
  }

  /** Tries until it holds or is given up; failures are logged. */
  async take(): Promise<void> {
    this.#wanted = true
    try {
      await this.#takeOnce()
      this.#backoff.reset()
    } catch (error) {
      this.#tryLater(error)
    }
  }

  /** Queries go where the Service says as soon as this resolves. */
  async giveUp(): Promise<void> {
    this.#wanted = false
    clearTimeout(this.#retry)
    const child = this.#child
    if (child === undefined) return
    child.stdin?.end('quit\n')
    const kill = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await child.exited
    clearTimeout(kill)
  }

  async #takeOnce(): Promise<void> {
    const { addresses, port, log } = this.#parts
    const child = await startHolder()
    child.stdin?.on('error', () => {})
    try {
      child.stdin?.write(`${exemptionCommands(addresses, port)}list tables inet\n`)
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
    if (this.#wanted) this.#tryLater(new DnsError('exemption-failed', 'the nft that held the rules ended'))
  }

  #tryLater(error: unknown): void {
    if (!this.#wanted) return
    const delayMs = Math.round(this.#backoff.nextDelayMs())
    this.#parts.log.warn('queries to the cluster DNS go through its Service for now; tried again', { error, delayMs })
    this.#retry = setTimeout(() => void this.take(), delayMs)
  }
}

/**
 * An `nft` that waits for commands. Its input ends when the kernel has freed all memory of a process that was killed, tens of milliseconds later:
 * `setpriv` (util-linux) has it killed with the thread that started it, which is sooner.
 */
function startHolder(): Promise<RunningProgram> {
  const pipes = { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' } as const
  return startProgram('setpriv', ['--pdeathsig', 'KILL', 'nft', '-i'], pipes).catch(() =>
    startProgram('nft', ['-i'], pipes),
  )
}

/** Resolves when nft lists our table, rejects with what it says instead. */
async function confirm(child: RunningProgram): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const refuse = (said: string) =>
    reject(
      new DnsError('exemption-failed', `nft did not take the rules of the cluster DNS: ${said.trim()}`, {
        remedy: 'nftables 1.0 or newer and a kernel with nf_tables are needed; "nft list ruleset" shows what is there',
      }),
    )
  let listed = ''
  child.stdout?.on('data', (chunk) => {
    listed = `${listed}${String(chunk)}`.slice(-65_536)
    if (listed.includes(`table inet ${exemptionTable}\n`)) resolve()
  })
  child.stderr?.on('data', (chunk) => refuse(String(chunk)))
  void child.exited.then(({ exitCode }) => refuse(`it ended with ${exitCode}`))
  const deadline = setTimeout(() => refuse('no answer'), confirmWithinMs)
  await promise.finally(() => clearTimeout(deadline))
}
