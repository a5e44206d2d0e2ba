import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../loop/backoff.ts'
import type { Component, Health } from '../loop/component.ts'
import { describeError } from '../model/errors.ts'
import type { IpFamily } from '../model/ip.ts'
import type { Logger } from '../observe/index.ts'
import { type BackgroundOptions, type RunningProgram, runProgram } from './programs/index.ts'

/** A part of a table that changed: a chain or its rules, a set, an element of a set, or without these the table itself. */
export interface NftTableChange {
  readonly table: string
  readonly chain?: string
  /** Without `key` the set was made or removed, or so many of its elements changed that none is named. Only sets of our own table are reported. */
  readonly set?: string
  /** Key of an element that came or went, its bytes in hexadecimal. */
  readonly key?: string
}

/** The changes of one commit by one process to the tables of IPv4 or IPv6. */
export interface NftCommit {
  readonly family: IpFamily
  readonly changes: readonly NftTableChange[]
  /** The netlink port of the socket that made the commit, unique in the network namespace. */
  readonly portId?: number
  /** The pid in the machine's first pid namespace; absent if the kernel does not report it. */
  readonly pid?: number
  /** Name of the program, at most 15 characters: `iptables-nft-re`. */
  readonly program?: string
}

export interface NftListener {
  onCommit(commit: NftCommit): void
  /** Called when commits may have been missed: the monitor starts to listen, or was away. */
  onGap(): void
}

type Start = (file: string, args: readonly string[], options: BackgroundOptions) => Promise<RunningProgram>

const program = join(import.meta.dirname, 'nft-events.pl')
/** The table whose sets and elements are reported too. */
const ownTable = 'platnet'

/** Reports changes to the tables of nftables, which those of iptables-nft are too, and their authors, through a small program that listens to the kernel and is restarted when it ends. */
export class NftMonitor implements Component {
  readonly name = 'nft-monitor'
  readonly #log: Logger
  readonly #start: Start
  readonly #listeners = new Set<NftListener>()
  readonly #stopping = new AbortController()
  #program: RunningProgram | undefined
  #isListening = false
  #loop: Promise<void> = Promise.resolve()
  #health: Health = { level: 'degraded', message: 'not started', sinceMs: Date.now() }

  constructor(log: Logger, start: Start = runProgram) {
    this.#log = log
    this.#start = start
  }

  subscribe(listener: NftListener): void {
    this.#listeners.add(listener)
  }

  /** Starts without waiting: if the program cannot listen, foreign changes are found by comparison alone. */
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
    return this.#isListening
  }

  async #runUntilStopped(): Promise<void> {
    const { signal } = this.#stopping
    const backoff = new Backoff({ baseMs: 500, maxMs: 60_000 })
    while (!signal.aborted) {
      const startedMs = performance.now()
      const reason = await this.#runOnce().catch(describeError)
      this.#program = undefined
      this.#isListening = false
      if (signal.aborted) return
      if (performance.now() - startedMs > 60_000) backoff.reset()
      if (this.#health.message !== reason)
        this.#log.warn('the monitor of foreign changes ended and is started again', { reason })
      this.#setHealth('degraded', reason)
      await sleep(backoff.nextDelayMs(), undefined, { signal }).catch(() => {})
    }
  }

  async #runOnce(): Promise<string> {
    const running = await this.#start('perl', [program, ownTable], {
      background: true,
      stdout: 'pipe',
      stderr: 'ignore',
    })
    this.#program = running
    if (this.#stopping.signal.aborted) running.kill('SIGKILL')
    const reader = new CommitReader({ onCommit: (commit) => this.#tell(commit), onGap: () => this.#tellGap() })
    if (running.stdout) for await (const line of createInterface(running.stdout)) reader.readLine(line)
    const { exitCode, signal } = await running.exited
    return `${basename(program)} ended (${signal ?? `exit code ${exitCode}`})`
  }

  #tellGap(): void {
    this.#isListening = true
    this.#setHealth('ok', '')
    for (const listener of this.#listeners) listener.onGap()
  }

  #tell(commit: NftCommit): void {
    for (const listener of this.#listeners) listener.onCommit(commit)
  }

  #setHealth(level: Health['level'], message: string): void {
    this.#health = { level, message, sinceMs: Date.now() }
  }
}

const families: Readonly<Record<string, IpFamily>> = { ip: 'IPv4', ip6: 'IPv6' }

/** Combines the lines of `nft-events.pl` to commits. */
export class CommitReader {
  readonly #listener: NftListener
  #changes: (NftTableChange & { readonly family: IpFamily })[] = []

  constructor(listener: NftListener) {
    this.#listener = listener
  }

  readLine(line: string): void {
    const [kind = '', ...words] = line.split(' ')
    if (kind === 'end') this.#finish(words)
    else if (kind === 'gap') {
      this.#changes = []
      this.#listener.onGap()
    } else this.#note(kind, words)
  }

  #note(kind: string, [familyName = '', table, name, key]: readonly string[]): void {
    const family = families[familyName]
    if (family === undefined || table === undefined) return
    if (kind === 'table') this.#changes.push({ family, table })
    if (name === undefined) return
    if (kind === 'chain') this.#changes.push({ family, table, chain: name })
    if (kind === 'set') this.#changes.push({ family, table, set: name })
    if (kind === 'element' && key !== undefined) this.#changes.push({ family, table, set: name, key })
  }

  #finish([pid, portId, program]: readonly string[]): void {
    const changes = this.#changes
    this.#changes = []
    for (const family of new Set(changes.map((change) => change.family))) {
      this.#listener.onCommit({
        family,
        changes: changes.filter((each) => each.family === family).map(({ family: _, ...place }) => place),
        ...(pid !== undefined && pid !== '0' && { pid: Number(pid) }),
        ...(portId !== undefined && { portId: Number(portId) }),
        ...(program !== undefined && program !== '?' && { program }),
      })
    }
  }
}
