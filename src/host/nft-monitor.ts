import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../loop/backoff.ts'
import type { Component, Health } from '../loop/component.ts'
import { describeError } from '../model/errors.ts'
import type { IpFamily } from '../model/ip.ts'
import type { Logger } from '../observe/index.ts'
import { type RunningProgram, type StartOptions, startProgram } from './exec.ts'

/** What one commit by one process changed in the tables of iptables. */
export interface NftCommit {
  readonly family: IpFamily
  /** Chains that were made, removed, or whose rules changed. A removed table stands without a chain. */
  readonly changes: readonly { readonly table: string; readonly chain?: string }[]
  /** In the first pid namespace of the machine; absent where the kernel does not tell. */
  readonly pid?: number
  /** At most 15 characters: `iptables-nft-re`. */
  readonly program?: string
}

export interface NftListener {
  onCommit(commit: NftCommit): void
  /** Commits may have been missed: the monitor starts to listen, or was away. */
  onGap(): void
}

type Start = (file: string, args: readonly string[], options: StartOptions) => Promise<RunningProgram>

/** Where the tables of iptables are changed, and by whom: a `nft monitor` that is started again when it ends. */
export class NftMonitor implements Component {
  readonly name = 'nft-monitor'
  readonly #log: Logger
  readonly #start: Start
  readonly #listeners = new Set<NftListener>()
  readonly #stopping = new AbortController()
  #program: RunningProgram | undefined
  #loop: Promise<void> = Promise.resolve()
  #health: Health = { level: 'degraded', message: 'not started', sinceMs: Date.now() }

  constructor(log: Logger, start: Start = startProgram) {
    this.#log = log
    this.#start = start
  }

  subscribe(listener: NftListener): void {
    this.#listeners.add(listener)
  }

  /** Does not wait: where there is no nft, changes by others are found by comparison alone. */
  async start(): Promise<void> {
    this.#loop = this.#runUntilStopped()
  }

  async stop(_scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    this.#program?.kill('SIGKILL')
    await this.#loop
    this.#setHealth('stopped', 'stopped')
  }

  health(): Health {
    return this.#health
  }

  get isListening(): boolean {
    return this.#program !== undefined
  }

  async #runUntilStopped(): Promise<void> {
    const { signal } = this.#stopping
    const backoff = new Backoff({ baseMs: 500, maxMs: 60_000 })
    while (!signal.aborted) {
      const startedMs = performance.now()
      const reason = await this.#runOnce().catch(describeError)
      this.#program = undefined
      if (signal.aborted) return
      if (performance.now() - startedMs > 60_000) backoff.reset()
      if (this.#health.message !== reason) this.#log.warn('nft monitor does not run, will start it again', { reason })
      this.#setHealth('degraded', reason)
      await sleep(backoff.nextDelayMs(), undefined, { signal }).catch(() => {})
    }
  }

  async #runOnce(): Promise<string> {
    const program = await this.#start('nft', ['monitor'], { stdout: 'pipe' })
    this.#program = program
    if (this.#stopping.signal.aborted) program.kill('SIGKILL')
    this.#setHealth('ok', '')
    for (const listener of this.#listeners) listener.onGap()
    const reader = new CommitReader((commit) => this.#tell(commit))
    if (program.stdout) for await (const line of createInterface(program.stdout)) reader.readLine(line)
    const { exitCode, signal } = await program.exited
    return `nft monitor ended (${signal ?? `exit code ${exitCode}`})`
  }

  #tell(commit: NftCommit): void {
    for (const listener of this.#listeners) listener.onCommit(commit)
  }

  #setHealth(level: Health['level'], message: string): void {
    this.#health = { level, message, sinceMs: Date.now() }
  }
}

const families: Readonly<Record<string, IpFamily>> = { ip: 'IPv4', ip6: 'IPv6' }

/** Puts the lines of `nft monitor` together to commits; what is not about chains of iptables' families is passed over. */
export class CommitReader {
  readonly #onCommit: (commit: NftCommit) => void
  readonly #chains = new Map<string, { family: IpFamily; table: string; chain?: string }>()

  constructor(onCommit: (commit: NftCommit) => void) {
    this.#onCommit = onCommit
  }

  readLine(line: string): void {
    const change = /^\w+ (?:rule|chain|table) (ip6?) (\S+)(?: (\S+))?/.exec(line)
    if (change !== null) this.#note(families[change[1] ?? ''], change[2], change[3])
    const end = /^# new generation \d+(?: by process (\d+) \((.*)\))?/.exec(line)
    if (end !== null) this.#finish(end[1], end[2])
  }

  #note(family: IpFamily | undefined, table: string | undefined, chain: string | undefined): void {
    if (family === undefined || table === undefined) return
    this.#chains.set(`${family} ${table} ${chain}`, { family, table, ...(chain !== undefined && { chain }) })
  }

  #finish(pid: string | undefined, program: string | undefined): void {
    const changes = [...this.#chains.values()]
    this.#chains.clear()
    for (const family of new Set(changes.map((change) => change.family))) {
      this.#onCommit({
        family,
        changes: changes.filter((each) => each.family === family).map(({ family: _, ...place }) => place),
        ...(pid !== undefined && { pid: Number(pid) }),
        ...(program !== undefined && { program }),
      })
    }
  }
}
