import type { Component, Health, HealthLevel } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import { emptyXorHash, type XorHash } from '../../model/xor-hash.ts'
import type { SavedHook, SavedTables } from '../../netfilter/parse.ts'
import type { Hook, Ruleset, TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { AddressSets } from '../../netfilter/sets.ts'
import { stampsMatch } from '../../netfilter/state-chain.ts'
import type { Logger } from '../../observe/logger.ts'
import { AddressSetWriter } from './address-sets.ts'
import { affectedChains, isOurChain } from './affected-chains.ts'
import { type BatchSize, batchSizes, isGoneAlready, splitIntoRestores } from './batches.ts'
import { keepChainInUse } from './chains-in-use.ts'
import { RulesError } from './errors.ts'
import { type HookDrift, planHooks } from './hook-plan.ts'
import type { ChainCounters, Iptables } from './iptables.ts'
import { OwnCommits, type SeenCommit } from './own-commits.ts'
import { type ChainDifference, previewChanges } from './preview.ts'
import { ChangeReader, readBeforeWriting, readChains, readHooks, readStamps, readTables } from './read-kernel.ts'
import { addReports, reportRestore, unchanged, type VerifyReport, type WriteReport } from './reports.ts'
import { renderInTimeSlices } from './restore-text.ts'
import { VerifySchedule } from './verify-schedule.ts'
import { type Drift, WantedTable } from './wanted-table.ts'

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
  /** Time between two comparisons with the kernel; stretched to 50 times what the last one's reading took. Else 30 s, with legacy 8 s. */
  readonly verifyIntervalMs?: number
  /** Where somebody tells of changes by others, comparing is only a safety net: half an hour at least. */
  readonly isWatched?: () => boolean
  /** How large changes are cut; what suits the flavour if not given. */
  readonly batches?: BatchSize
}

const noSets: AddressSets = new Map()

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
  #isRecognised = false
  #areHooksEnsured = false
  /** How often; tells a reader whether what it read of the hooks may be older. */
  #hooksPlaced = 0
  readonly #ownCommits = new OwnCommits()
  readonly #addressSets: AddressSetWriter
  readonly #changes: ChangeReader
  #sets: AddressSets = noSets
  #queue: Promise<unknown> = Promise.resolve()
  #verifying: Promise<VerifyReport> | undefined
  readonly #schedule: VerifySchedule
  #health: Health = { level: 'unknown', message: 'nothing written yet', sinceMs: 0 }

  constructor(options: RulesWriterOptions) {
    this.name = options.iptables.choice.family === 'IPv4' ? 'rules' : 'rules-ipv6'
    this.#options = options
    this.#changes = new ChangeReader(options.iptables, options.hooks)
    this.#addressSets = new AddressSetWriter(options.iptables.choice.family, options.iptables.run)
    const { flavour } = options.iptables.choice
    this.#schedule = new VerifySchedule({ ...options, flavour, verify: () => this.verify() })
  }

  async start(_scope: { signal: AbortSignal }): Promise<void> {
    const { choice } = this.#options.iptables
    this.#options.log.info('writing rules', { ...choice })
    this.#schedule.start()
  }

  /** Rules stay in the kernel: only `cleanupRules` removes them. */
  async stop(_scope: { signal: AbortSignal }): Promise<void> {
    this.#schedule.stop()
    await Promise.allSettled([this.#verifying, this.#queue])
  }

  health(): Health {
    return this.#health
  }

  /**
   * Whether PLAT-STATE vouches for the rules of these very objects, in both tables, and the hooks stand. Who is told so need not know
   * the rules to rely on them; `sync` compares these afterwards. Writes nothing. Throws RulesError.
   */
  recognises(objects: XorHash): Promise<boolean> {
    return this.#exclusive(async () => {
      const { iptables, hooks } = this.#options
      if (!stampsMatch(objects, await readStamps(iptables))) return false
      const { drift } = planHooks(hooks, await readHooks(iptables, hooks), iptables.choice.family)
      this.#isRecognised = drift.length === 0
      return this.#isRecognised
    })
  }

  /** Whether no packet meets rules of ours: the built-in chains lead to none of them. Writes nothing. Throws RulesError. */
  isUnhooked(): Promise<boolean> {
    const { iptables, hooks } = this.#options
    return this.#exclusive(async () => {
      const held = await readHooks(iptables, hooks)
      return held.nat.length + held.filter.length === 0
    })
  }

  /**
   * Makes the kernel hold exactly `full`. The first call compares PLAT-STATE with what it would write: where that agrees,
   * nothing is written and nothing else is read; else the tables are read and only what differs is written. Later calls
   * compare with memory. `sets` are those that the rules name, and never change afterwards. Throws RulesError.
   */
  sync(full: Ruleset, objects: XorHash, sets: AddressSets = noSets): Promise<WriteReport> {
    return this.#exclusive(async () => {
      this.#wasAsked = true
      this.#sets = sets
      for (const table of this.#eachTable()) await table.wantAll(full[table.name])
      this.#objects = objects
      return this.#write()
    })
  }

  /** Writes the chains of `changes` and whatever earlier failures left, in one restore unless it is very large. Throws RulesError. */
  write(changes: readonly TableChange[], objects: XorHash, sets: AddressSets = noSets): Promise<WriteReport> {
    return this.#exclusive(() => {
      this.#sets = sets
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

  /** What the kernel holds otherwise than it should now, writes that failed included; changes nothing. Throws RulesError. */
  async preview(): Promise<readonly ChainDifference[]> {
    if (!this.#wasAsked)
      throw new RulesError('not-synced', 'the rules are still being planned: ask again in a few seconds')
    const { iptables, hooks } = this.#options
    return this.#exclusive(async () =>
      previewChanges(this.#wanted, await readTables(iptables, this.#wanted, hooks), hooks, iptables.choice.family),
    )
  }

  /** Packets and bytes that the rules of a chain in nat took since it was written: the first of each connection. Throws RulesError. */
  countersOf(table: TableName, chain: string): Promise<ChainCounters> {
    return this.#options.iptables.readCounters(table, chain)
  }

  async #verifyOnce(): Promise<VerifyReport> {
    await this.#queue
    if (!this.#isKernelKnown) return { drift: [], readMs: 0, write: unchanged }
    const startedMs = performance.now()
    const hooksPlaced = this.#hooksPlaced
    for (const table of this.#eachTable()) table.beginRead()
    const held = await this.#changes.readIfChanged(this.#wanted)
    const readMs = performance.now() - startedMs
    if (held === undefined) return this.#reportDrift({ drift: [], readMs, write: unchanged })
    const differing = await this.#findDiffering(held)
    const report = await this.#exclusive(async () => {
      const drift = this.#eachTable().flatMap((table) => table.compare(held[table.name].chains, differing[table.name]))
      const chains = await this.#flushOrRecover()
      if (hooksPlaced !== this.#hooksPlaced) return { drift, readMs, write: chains }
      const hooks = await this.#placeHooks({ nat: held.nat.hooks, filter: held.filter.hooks })
      return { drift: [...drift, ...hooks.drift], readMs, write: addReports(chains, hooks.write) }
    })
    if (report.drift.length === 0) this.#changes.remember()
    return this.#reportDrift(report)
  }

  /**
   * Reads the chains that these commits changed, our own commits left out, and puts right what differs. `too-many` where
   * reading everything is cheaper; then nothing was done. Throws RulesError.
   */
  async verifyChains(commits: readonly SeenCommit[], maxChains: number): Promise<VerifyReport | 'too-many'> {
    const report = await this.#exclusive(async () => {
      const foreign = this.#isKernelKnown ? commits.filter((commit) => !this.#ownCommits.includes(commit)) : []
      const affected = affectedChains(foreign)
      if (affected === undefined || affected.nat.size + affected.filter.size > maxChains) return 'too-many'
      return this.#verifyAffected(affected)
    })
    return report === 'too-many' ? report : this.#reportDrift(report)
  }

  async #verifyAffected(affected: Readonly<Record<TableName, ReadonlySet<string>>>): Promise<VerifyReport> {
    const { iptables } = this.#options
    const startedMs = performance.now()
    const drift: Drift[] = []
    for (const table of this.#eachTable()) {
      const ours = new Set([...affected[table.name]].filter(isOurChain))
      drift.push(...table.compareChains(ours, await readChains(iptables, table.name, ours)))
    }
    const readMs = performance.now() - startedMs
    const chains = await this.#flushOrRecover()
    const builtins = [...affected.nat, ...affected.filter].filter((name) => !isOurChain(name))
    if (builtins.length === 0) return { drift, readMs, write: chains }
    const hooks = await this.#placeHooks(await readHooks(iptables, this.#options.hooks))
    return { drift: [...drift, ...hooks.drift], readMs, write: addReports(chains, hooks.write) }
  }

  get #wanted(): Ruleset {
    return { nat: this.#tables.nat.chains, filter: this.#tables.filter.chains }
  }

  #eachTable(): readonly WantedTable[] {
    return [this.#tables.nat, this.#tables.filter]
  }

  /** Runs one operation at a time and keeps health; a failure is the caller's to handle. */
  #exclusive<T>(operation: () => T | Promise<T>): Promise<T> {
    const result = this.#queue.then(operation)
    this.#queue = result.then(
      () => this.#updateHealth(),
      (error: unknown) => {
        this.#setHealth('degraded', describeError(error))
        this.#options.observer?.failed(error)
      },
    )
    return result
  }

  #updateHealth(): void {
    if (this.#isKernelKnown) this.#setHealth('ok', `rules are in place${this.#options.iptables.caveat}`)
    else if (this.#isRecognised) this.#setHealth('ok', 'rules are in place by PLAT-STATE, to be compared')
    else this.#setHealth('unknown', 'nothing written yet')
  }

  #setHealth(level: HealthLevel, message: string): void {
    const { level: before, sinceMs } = this.#health
    this.#health = { level, message, sinceMs: level === before ? sinceMs : Date.now() }
  }

  async #write(): Promise<WriteReport> {
    const startedMs = performance.now()
    if (!this.#isKernelKnown) await this.#learnKernel()
    await this.#addressSets.ensure(this.#sets)
    const written = await this.#flushOrRecover()
    await this.#addressSets.removeOthers(this.#sets)
    const hooks = this.#areHooksEnsured
      ? unchanged
      : (await this.#placeHooks(await readHooks(this.#options.iptables, this.#options.hooks))).write
    const report = { ...addReports(written, hooks), durationMs: performance.now() - startedMs }
    this.#options.log.debug('rules written', { ...report })
    this.#options.observer?.wrote(report)
    return report
  }

  /**
   * A write may be refused because others removed what it builds on: that is looked for before the refusal counts, each time
   * where the kernel points to, at last everywhere.
   */
  async #flushOrRecover(): Promise<WriteReport> {
    for (let attempt = 1; ; ) {
      try {
        return await this.#flush()
      } catch (error) {
        if (!(error instanceof RulesError) || error.code !== 'restore-failed' || attempt > 4) throw error
        if (isGoneAlready(error) || keepChainInUse(this.#eachTable(), error, this.#options.log)) continue
        attempt++
        const isSetMade = await this.#addressSets.ensureAgain(this.#sets)
        if ((await this.#findDriftBehind(error, attempt <= 4)).length === 0 && !isSetMade) throw error
      }
    }
  }

  /** nft's message names a chain, and what that leads to is read in milliseconds; else all is. */
  async #findDriftBehind({ line }: RulesError, mayBeNear: boolean): Promise<readonly Drift[]> {
    const { iptables } = this.#options
    const table = this.#eachTable().find(({ name }) => name === line?.table)
    if (mayBeNear && iptables.choice.flavour === 'nft' && table !== undefined && line?.chain !== undefined) {
      const names = new Set(table.writtenAround(line.chain))
      return table.compareChains(names, await readChains(iptables, table.name, names))
    }
    for (const each of this.#eachTable()) each.beginRead()
    const held = await readTables(iptables, this.#wanted, this.#options.hooks)
    return this.#eachTable().flatMap((each) => each.compare(held[each.name].chains))
  }

  async #learnKernel(): Promise<void> {
    const tables = this.#eachTable()
    const stamps = await readStamps(this.#options.iptables)
    for (const table of tables) table.setStamp(stamps[table.name])
    const isAdopted = tables.every((table) => table.agreesWith(stamps[table.name]))
    if (isAdopted) {
      this.#options.log.info('the kernel holds our rules already, by PLAT-STATE')
      for (const table of tables) table.adopt()
    } else {
      const { iptables, hooks, log } = this.#options
      const held = await readBeforeWriting(iptables, this.#wanted, hooks, log)
      const differing = await this.#findDiffering(held)
      for (const table of tables) table.compare(held[table.name].chains, differing[table.name])
    }
    if (isAdopted) this.#schedule.soon()
    else this.#schedule.later()
    this.#isKernelKnown = true
  }

  async #findDiffering(held: SavedTables): Promise<Readonly<Record<TableName, ReadonlySet<string>>>> {
    const { nat, filter } = this.#tables
    return { nat: await nat.findDiffering(held.nat.chains), filter: await filter.findDiffering(held.filter.chains) }
  }

  async #placeHooks(
    held: Readonly<Record<TableName, readonly SavedHook[]>>,
  ): Promise<{ drift: readonly HookDrift[]; write: WriteReport }> {
    const { hooks, iptables } = this.#options
    this.#areHooksEnsured = false
    const { drift, text } = planHooks(hooks, held, iptables.choice.family)
    if (text !== '') this.#changes.forget()
    const startedMs = performance.now()
    if (text !== '') this.#ownCommits.add((await iptables.restore(text)).pid, [], drift)
    this.#areHooksEnsured = true
    this.#hooksPlaced++
    if (text === '') return { drift, write: unchanged }
    return { drift, write: reportRestore(text, [], performance.now() - startedMs) }
  }

  /** Writes everything unwritten. Each restore that succeeds is taken off, also when a later one fails. */
  #flush(): Promise<WriteReport> {
    const { batches = batchSizes[this.#options.iptables.choice.flavour] } = this.#options
    const changes = this.#eachTable()
      .map((table) => table.change(this.#objects, table.name === 'nat' ? this.#tables.filter.rules : undefined))
      .filter((change) => change !== undefined)
    return this.#restoreEach(splitIntoRestores(changes, this.#tables, batches))
  }

  /** One after the other; while one is carried out the text of the next is made. */
  async #restoreEach(restores: readonly (readonly TableChange[])[]): Promise<WriteReport> {
    let report = unchanged
    const { family } = this.#options.iptables.choice
    let next = renderInTimeSlices(restores[0] ?? [], family)
    for (const [index, changes] of restores.entries()) {
      const text = await next
      next = renderInTimeSlices(restores[index + 1] ?? [], family)
      next.catch(() => {})
      report = addReports(report, await this.#restore(changes, text))
    }
    return report
  }

  async #restore(changes: readonly TableChange[], text: string): Promise<WriteReport> {
    const { iptables } = this.#options
    if (this.#options.log.enabled('trace')) this.#options.log.trace('restore', { text })
    const startedMs = performance.now()
    this.#changes.forget()
    try {
      this.#ownCommits.add((await iptables.restore(text)).pid, changes)
    } catch (error) {
      for (const change of changes) this.#tables[change.table].invalidate(change)
      throw error
    }
    for (const change of changes) this.#tables[change.table].confirm(change)
    return reportRestore(text, changes, performance.now() - startedMs)
  }

  #reportDrift(report: VerifyReport): VerifyReport {
    const { log, observer } = this.#options
    const named = report.drift.slice(0, 10)
    for (const drift of named) log.warn('rules changed by others were put right', { ...drift })
    const unnamed = report.drift.length - named.length
    if (unnamed > 0) log.warn('more rules changed by others were put right', { chains: unnamed })
    observer?.verified(report)
    return report
  }
}
