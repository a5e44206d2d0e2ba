import type { Component, Health, HealthLevel } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import { emptyXorHash, type XorHash } from '../../model/xor-hash.ts'
import { orderCommits } from '../../netfilter/commit-order.ts'
import type { SavedHook } from '../../netfilter/parse.ts'
import { renderRestore } from '../../netfilter/render.ts'
import type { Hook, Ruleset, TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { Stamp } from '../../netfilter/state-chain.ts'
import type { Logger } from '../../observe/logger.ts'
import { RulesError } from './errors.ts'
import { type HookDrift, planHooks } from './hook-plan.ts'
import type { Iptables } from './iptables.ts'
import { readHooks, readStamp, readTables } from './read-kernel.ts'
import { addReports, reportRestore, unchanged, type VerifyReport, type WriteReport } from './reports.ts'
import { sliceChange } from './slices.ts'
import { WantedTable } from './wanted-table.ts'

/** Told of everything the writer does, for metrics and events. */
export interface RulesObserver {
  wrote(report: WriteReport): void
  failed(error: unknown): void
  verified(report: VerifyReport): void
}

export interface RulesWriterOptions {
  readonly iptables: Iptables
  readonly hooks: readonly Hook[]
  readonly log: Logger
  readonly observer?: RulesObserver
  /** Time between two comparisons with the kernel; stretched to 50 times what the last one's reading took. 30 s if not given. */
  readonly verifyIntervalMs?: number
  /** Changes of more new or removed chains than this are cut into several restores; 1,000 if not given. */
  readonly chainsPerSlice?: number
}

/** Between a restart that trusted PLAT-STATE and the comparison that makes sure. */
const verifyAfterAdoptionMs = 1000

/**
 * The only writer of one family's nat and filter tables. Calls are carried out one after the other. A write that fails keeps
 * everything it carried; the next call, also one without changes, writes it along with its own.
 */
export class RulesWriter implements Component {
  readonly name: string
  readonly #options: RulesWriterOptions
  readonly #tables: Readonly<Record<TableName, WantedTable>> = {
    nat: new WantedTable('nat'),
    filter: new WantedTable('filter'),
  }
  #objects: XorHash = emptyXorHash
  #wasAsked = false
  #isKernelKnown = false
  #areHooksEnsured = false
  /** How often; tells a reader whether what it read of the hooks may be older. */
  #hooksPlaced = 0
  #queue: Promise<unknown> = Promise.resolve()
  #verifying: Promise<VerifyReport> | undefined
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #health: Health = { level: 'unknown', message: 'nothing written yet', sinceMs: 0 }

  constructor(options: RulesWriterOptions) {
    this.name = options.iptables.choice.family === 'IPv4' ? 'rules' : 'rules-ipv6'
    this.#options = options
  }

  async start(_scope: { signal: AbortSignal }): Promise<void> {
    const { choice } = this.#options.iptables
    this.#options.log.info('writing rules', { ...choice })
    this.#isRunning = true
    this.#scheduleVerify(this.#intervalMs)
  }

  /** Rules stay in the kernel: only `cleanupRules` removes them. */
  async stop(_scope: { signal: AbortSignal }): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await Promise.allSettled([this.#verifying, this.#queue])
  }

  health(): Health {
    return this.#health
  }

  /**
   * Makes the kernel hold exactly `full`. The first call compares PLAT-STATE with what it would write: where that agrees,
   * nothing is written and nothing else is read; else the tables are read and only what differs is written. Later calls
   * compare with memory. Throws RulesError.
   */
  sync(full: Ruleset, objects: XorHash): Promise<WriteReport> {
    return this.#exclusive(() => {
      this.#wasAsked = true
      for (const table of this.#eachTable()) table.wantAll(full[table.name])
      this.#objects = objects
      return this.#write()
    })
  }

  /** Writes the chains of `changes` and whatever earlier failures left, in one restore unless it is very large. Throws RulesError. */
  write(changes: readonly TableChange[], objects: XorHash): Promise<WriteReport> {
    return this.#exclusive(() => {
      if (!this.#wasAsked) throw new RulesError('not-synced', 'the first write must be a sync')
      for (const { table, set, remove } of changes) {
        for (const name of remove) this.#tables[table].want(name, undefined)
        for (const [name, chain] of set) this.#tables[table].want(name, chain)
      }
      this.#objects = objects
      return this.#write()
    })
  }

  /**
   * Reads the tables and puts right what others changed: missing, different and unwanted PLAT chains, and the hooks. Writes go
   * on while it reads. Throws RulesError; before the first sync it does nothing.
   */
  verify(): Promise<VerifyReport> {
    this.#verifying ??= this.#verifyOnce().finally(() => {
      this.#verifying = undefined
    })
    return this.#verifying
  }

  async #verifyOnce(): Promise<VerifyReport> {
    await this.#queue
    if (!this.#isKernelKnown) return { drift: [], readMs: 0, write: unchanged }
    const startedMs = performance.now()
    const hooksPlaced = this.#hooksPlaced
    for (const table of this.#eachTable()) table.beginRead()
    const held = await readTables(this.#options.iptables)
    const readMs = performance.now() - startedMs
    const report = await this.#exclusive(async () => {
      const drift = this.#eachTable().flatMap((table) => table.compare(held[table.name].chains))
      const chains = await this.#flush()
      if (hooksPlaced !== this.#hooksPlaced) return { drift, readMs, write: chains }
      const hooks = await this.#placeHooks({ nat: held.nat.hooks, filter: held.filter.hooks })
      return { drift: [...drift, ...hooks.drift], readMs, write: addReports(chains, hooks.write) }
    })
    this.#reportDrift(report)
    return report
  }

  #eachTable(): readonly WantedTable[] {
    return [this.#tables.nat, this.#tables.filter]
  }

  /** Runs one operation at a time and keeps health; a failure is the caller's to handle. */
  #exclusive<T>(operation: () => T | Promise<T>): Promise<T> {
    const result = this.#queue.then(operation)
    this.#queue = result.then(
      () =>
        this.#setHealth(
          this.#isKernelKnown ? 'ok' : 'unknown',
          this.#isKernelKnown ? 'rules are in place' : 'nothing written yet',
        ),
      (error: unknown) => {
        this.#setHealth('degraded', describeError(error))
        this.#options.observer?.failed(error)
      },
    )
    return result
  }

  #setHealth(level: HealthLevel, message: string): void {
    const { level: before, sinceMs } = this.#health
    this.#health = { level, message, sinceMs: level === before ? sinceMs : Date.now() }
  }

  async #write(): Promise<WriteReport> {
    const startedMs = performance.now()
    if (!this.#isKernelKnown) await this.#learnKernel()
    const written = await this.#flush()
    const hooks = this.#areHooksEnsured
      ? unchanged
      : (await this.#placeHooks(await readHooks(this.#options.iptables, this.#options.hooks))).write
    const report = { ...addReports(written, hooks), durationMs: performance.now() - startedMs }
    this.#options.log.debug('rules written', { ...report })
    this.#options.observer?.wrote(report)
    return report
  }

  async #learnKernel(): Promise<void> {
    const tables = this.#eachTable()
    const stamps = await Promise.all(tables.map((table) => readStamp(this.#options.iptables, table.name)))
    for (const [index, table] of tables.entries()) table.setStamp(stamps[index])
    if (tables.every((table, index) => isStampOf(stamps[index], table))) {
      this.#options.log.info('the kernel holds our rules already, by PLAT-STATE')
      for (const table of tables) table.adopt()
      if (this.#isRunning) this.#scheduleVerify(verifyAfterAdoptionMs)
    } else {
      const held = await readTables(this.#options.iptables)
      for (const table of tables) table.compare(held[table.name].chains)
    }
    this.#isKernelKnown = true
  }

  async #placeHooks(
    held: Readonly<Record<TableName, readonly SavedHook[]>>,
  ): Promise<{ drift: readonly HookDrift[]; write: WriteReport }> {
    const { hooks, iptables } = this.#options
    this.#areHooksEnsured = false
    const { drift, text } = planHooks(hooks, held, iptables.choice.family)
    const startedMs = performance.now()
    if (text !== '') await iptables.restore(text)
    this.#areHooksEnsured = true
    this.#hooksPlaced++
    if (text === '') return { drift, write: unchanged }
    return { drift, write: reportRestore(text, [], performance.now() - startedMs) }
  }

  /** Writes everything unwritten. Each restore that succeeds is taken off, also when a later one fails. */
  async #flush(): Promise<WriteReport> {
    const { chainsPerSlice = 1000 } = this.#options
    const changes = this.#eachTable()
      .map((table) => table.change(this.#objects, table.name === 'nat'))
      .filter((change) => change !== undefined)
    const sliced = changes.map((change) =>
      sliceChange(change, (chain) => this.#tables[change.table].heldBefore(chain), chainsPerSlice),
    )
    let report = unchanged
    for (const { before } of sliced)
      for (const change of before) report = addReports(report, await this.#restore([change]))
    const main = sliced.map((slices) => slices.main).filter((change) => change.set.size > 0 || change.remove.length > 0)
    if (main.length > 0) report = addReports(report, await this.#restore(this.#inCommitOrder(main)))
    for (const { after } of sliced)
      for (const change of after) report = addReports(report, await this.#restore([change]))
    return report
  }

  #inCommitOrder(changes: readonly TableChange[]): readonly TableChange[] {
    const filter = changes.find((change) => change.table === 'filter')
    const held = [...(filter?.set.keys() ?? [])].map((name) => [name, this.#tables.filter.knownBefore(name)] as const)
    return orderCommits({ nat: new Map(), filter: new Map(held) }, changes)
  }

  async #restore(changes: readonly TableChange[]): Promise<WriteReport> {
    const { iptables } = this.#options
    const text = renderRestore(changes, iptables.choice.family)
    if (this.#options.log.enabled('trace')) this.#options.log.trace('restore', { text })
    const startedMs = performance.now()
    try {
      await iptables.restore(text)
    } catch (error) {
      for (const change of changes) this.#tables[change.table].doubt(change)
      throw error
    }
    for (const change of changes) this.#tables[change.table].confirm(change)
    return reportRestore(text, changes, performance.now() - startedMs)
  }

  get #intervalMs(): number {
    return this.#options.verifyIntervalMs ?? 30_000
  }

  #scheduleVerify(delayMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#verifyAndReschedule(), delayMs)
    this.#timer.unref()
  }

  async #verifyAndReschedule(): Promise<void> {
    let delayMs = this.#intervalMs
    try {
      const { readMs } = await this.verify()
      delayMs = Math.max(delayMs, 50 * readMs)
    } catch (error) {
      this.#options.log.warn('comparing the rules with the kernel failed', { error: describeError(error) })
    }
    if (this.#isRunning) this.#scheduleVerify(delayMs)
  }

  #reportDrift(report: VerifyReport): void {
    const { log, observer } = this.#options
    const named = report.drift.slice(0, 10)
    for (const drift of named) log.warn('rules changed by others were put right', { ...drift })
    const unnamed = report.drift.length - named.length
    if (unnamed > 0) log.warn('more rules changed by others were put right', { chains: unnamed })
    observer?.verified(report)
  }
}

function isStampOf(stamp: Stamp | undefined, table: WantedTable): boolean {
  return stamp !== undefined && stamp.rules.value === table.rules.value && stamp.rules.count === table.rules.count
}
