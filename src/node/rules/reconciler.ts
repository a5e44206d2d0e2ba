import type { SavedHook } from '../../netfilter/parse.ts'
import type { Hook, TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { Logger } from '../../observe/logger.ts'
import { AddressSetWriter } from './address-sets.ts'
import { type BatchSize, batchSizes, isGoneAlready, splitIntoRestores } from './batches.ts'
import { keepChainInUse } from './chains-in-use.ts'
import type { SetSocket } from './element-socket.ts'
import { RulesError } from './errors.ts'
import { type HookDrift, planHooks } from './hook-plan.ts'
import type { Iptables } from './iptables.ts'
import { MemberSetWriter, noSets as noSetReport } from './member-set-writer.ts'
import type { OwnCommits } from './own-commits.ts'
import { type ChangeReader, readBeforeWriting, readChains, readHooks, readStamps, readTables } from './read-kernel.ts'
import { addReports, reportRestore, reportSets, unchanged, type WriteReport } from './reports.ts'
import { renderInTimeSlices } from './restore-text.ts'
import type { WantedRules } from './wanted-rules.ts'
import type { Drift } from './wanted-table.ts'

export interface ReconcilerParts {
  readonly iptables: Iptables
  readonly socket?: SetSocket | undefined
  readonly hooks: readonly Hook[]
  readonly wanted: WantedRules
  readonly changes: ChangeReader
  readonly ownCommits: OwnCommits
  readonly batches: BatchSize | undefined
  /** Called when the kernel's rules have become known; `isAdopted`: by PLAT-STATE alone, without reading them. */
  readonly onKernelKnown: (isAdopted: boolean) => void
  readonly log: Logger
}

/** How often a refused restore is tried again after reading near the failed line; the last attempt follows a reading of all tables. */
const maxRecoveries = 4

/**
 * Brings the kernel in line with the wanted rules by `iptables-restore`. The caller runs one method at a time. What a failed
 * restore carried stays unwritten and goes out with the next one.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #addressSets: AddressSetWriter
  readonly memberSets: MemberSetWriter
  #isKernelKnown = false
  #areHooksInPlace = false
  #hookPlacements = 0

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    const { iptables, socket, wanted, log } = parts
    const { family } = iptables.choice
    this.#addressSets = new AddressSetWriter(family, iptables.run)
    this.memberSets = new MemberSetWriter({ family, run: iptables.run, socket, wanted: wanted.memberSets, log })
  }

  /** Whether the kernel has been compared with the wanted rules, by reading it or by PLAT-STATE. */
  get isKernelKnown(): boolean {
    return this.#isKernelKnown
  }

  /** Grows with each placement of hooks: a reader that sees another number has read older hooks. */
  get hookPlacements(): number {
    return this.#hookPlacements
  }

  /** Makes the sets, writes the chains, removes other sets and places the hooks. Throws RulesError. */
  async reconcile(): Promise<WriteReport> {
    const { iptables, hooks, wanted } = this.#parts
    const startedMs = performance.now()
    if (!this.#isKernelKnown) await this.#learnKernel()
    await this.#addressSets.ensure(wanted.sets)
    const written = await this.flush()
    await this.#addressSets.removeOthers(wanted.sets)
    const placed = this.#areHooksInPlace ? undefined : await this.placeHooks(await readHooks(iptables, hooks))
    return { ...addReports(written, placed?.write ?? unchanged), durationMs: performance.now() - startedMs }
  }

  /** Writes everything unwritten: what comes into sets, then the chains, then what goes from sets. Throws RulesError. */
  async flush(): Promise<WriteReport> {
    if (!this.#parts.wanted.memberSets.isUsed) return this.#flushChains()
    const startedMs = performance.now()
    const isAlone = this.#parts.wanted.unwritten().length === 0
    const before = await this.memberSets.writeBefore({ isAlone })
    const written = isAlone ? unchanged : await this.#flushChains()
    const after = isAlone ? noSetReport : await this.memberSets.writeAfter()
    const durationMs = performance.now() - startedMs
    return [reportSets(before, durationMs), reportSets(after, durationMs)].reduce(addReports, written)
  }

  /**
   * Writes the chains. A restore may be refused because others removed what it builds on: the chains that the kernel
   * names are read and written again before the refusal counts, at last all chains. Throws RulesError.
   */
  async #flushChains(): Promise<WriteReport> {
    const { wanted, log } = this.#parts
    for (let attempt = 1; ; ) {
      try {
        return await this.#restoreAll()
      } catch (error) {
        if (!(error instanceof RulesError) || error.code !== 'restore-failed' || attempt > maxRecoveries) throw error
        if (isGoneAlready(error) || keepChainInUse(wanted.tables, error, log)) continue
        attempt++
        const isSetMade = await this.#ensureSetsAgain()
        if ((await this.#findDriftBehind(error, attempt <= maxRecoveries)).length === 0 && !isSetMade) throw error
      }
    }
  }

  /** Others may have removed sets that no rule named yet. */
  async #ensureSetsAgain(): Promise<boolean> {
    const areMade = await this.#addressSets.ensureAgain(this.#parts.wanted.sets)
    if (!(await this.memberSets.relearn())) return areMade
    await this.memberSets.writeBefore({ isAlone: false })
    return true
  }

  /** Puts our jumps where they belong in the built-in chains. `held`: the hooks as they were read. Throws RulesError. */
  async placeHooks(
    held: Readonly<Record<TableName, readonly SavedHook[]>>,
  ): Promise<{ drift: readonly HookDrift[]; write: WriteReport }> {
    const { hooks, iptables, changes, ownCommits } = this.#parts
    this.#areHooksInPlace = false
    const { drift, text } = planHooks(hooks, held, iptables.choice.family)
    if (text !== '') changes.forget()
    const startedMs = performance.now()
    if (text !== '') ownCommits.add((await iptables.restore(text)).pid, [], drift)
    this.#areHooksInPlace = true
    this.#hookPlacements++
    if (text === '') return { drift, write: unchanged }
    return { drift, write: reportRestore(text, [], performance.now() - startedMs) }
  }

  async #learnKernel(): Promise<void> {
    const { iptables, hooks, wanted, onKernelKnown, log } = this.#parts
    const isAdopted = wanted.setStamps(await readStamps(iptables, wanted.tableNames))
    if (isAdopted) {
      log.info('the kernel holds our rules already, by PLAT-STATE')
      for (const table of wanted.tables) table.adopt()
    } else {
      const held = await readBeforeWriting(iptables, wanted.ruleset, { hooks, tables: wanted.tableNames }, log)
      wanted.compare(held, await wanted.findDiffering(held))
    }
    onKernelKnown(isAdopted)
    this.#isKernelKnown = true
  }

  /** The message of nft names a chain: that chain and its targets are read in milliseconds. Else all tables are read. */
  async #findDriftBehind({ line }: RulesError, mayBeNear: boolean): Promise<readonly Drift[]> {
    const { iptables, hooks, wanted } = this.#parts
    const table = wanted.tables.find(({ name }) => name === line?.table)
    if (mayBeNear && iptables.choice.flavour === 'nft' && table !== undefined && line?.chain !== undefined) {
      const names = new Set(table.writtenAround(line.chain))
      return table.compareChains(names, await readChains(iptables, table.name, names))
    }
    wanted.beginRead()
    return wanted.compare(await readTables(iptables, wanted.ruleset, { hooks, tables: wanted.tableNames }))
  }

  /** Carries out one restore after the other, and renders the next one meanwhile. Confirms each, also when a later one fails. */
  async #restoreAll(): Promise<WriteReport> {
    const { iptables, wanted, batches = batchSizes[iptables.choice.flavour] } = this.#parts
    const { family } = iptables.choice
    const restores = splitIntoRestores(wanted.unwritten(), wanted.byName, batches)
    let report = unchanged
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
    const { iptables, wanted, ownCommits, log } = this.#parts
    if (log.enabled('trace')) log.trace('restore', { text })
    const startedMs = performance.now()
    this.#parts.changes.forget()
    try {
      ownCommits.add((await iptables.restore(text)).pid, changes)
    } catch (error) {
      wanted.invalidate(changes)
      throw error
    }
    wanted.confirm(changes)
    return reportRestore(text, changes, performance.now() - startedMs)
  }
}
