import type { Component, Health } from '../../loop/component.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { MemberEntry, SetChange } from '../../netfilter/member-sets.ts'
import type { TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { AddressSets } from '../../netfilter/sets.ts'
import { stampsMatch } from '../../netfilter/state-chain.ts'
import { DriftRepair } from './drift-repair.ts'
import { RulesError } from './errors.ts'
import { ExclusiveOperations } from './exclusive-operations.ts'
import { planHooks } from './hook-plan.ts'
import type { ChainCounters } from './iptables.ts'
import { readMembers } from './member-set-writer.ts'
import { OwnCommits, type SeenCommit } from './own-commits.ts'
import { type ChainDifference, previewChanges } from './preview.ts'
import { previewSets } from './preview-sets.ts'
import { ChangeReader, readHooks, readStamps, readTables } from './read-kernel.ts'
import { Reconciler } from './reconciler.ts'
import type { VerifyReport, WriteReport } from './reports.ts'
import { SetUpkeep } from './set-upkeep.ts'
import { VerifySchedule } from './verify-schedule.ts'
import { type WantedChains, WantedRules } from './wanted-rules.ts'
import type { RulesWriterOptions } from './writer-options.ts'

const proxyTables: readonly TableName[] = ['nat', 'filter']

/**
 * The only writer of some tables of one family (the proxy's: nat and filter): the door of this room for planes. Carries out one operation after the
 * other. A write that fails keeps everything it carried; the next write, also one without changes, writes it along with its own.
 */
export class RulesWriter implements Component {
  readonly name: string
  readonly #options: RulesWriterOptions
  readonly #wanted: WantedRules
  readonly #reconciler: Reconciler
  readonly #repair: DriftRepair
  readonly #schedule: VerifySchedule
  readonly #upkeep: SetUpkeep
  readonly #operations: ExclusiveOperations
  #wasAsked = false
  #isRecognised = false

  constructor(options: RulesWriterOptions) {
    const { iptables, hooks, batches, observer, tables = proxyTables } = options
    const { family, flavour } = iptables.choice
    const base = tables === proxyTables ? 'rules' : `${tables.join('-')}-rules`
    this.name = family === 'IPv4' ? base : `${base}-ipv6`
    this.#options = options
    this.#operations = new ExclusiveOperations({
      healthNow: () => this.#healthNow(),
      onFailure: (error) => observer?.failed?.(error),
    })
    this.#wanted = new WantedRules(tables, family)
    const shared = {
      ...options,
      batches,
      wanted: this.#wanted,
      changes: new ChangeReader(iptables, hooks, tables),
      ownCommits: new OwnCommits(),
    }
    this.#reconciler = new Reconciler({ ...shared, onKernelKnown: (isAdopted) => this.#onKernelKnown(isAdopted) })
    this.#repair = new DriftRepair({
      ...shared,
      reconciler: this.#reconciler,
      exclusive: (operation) => this.#operations.run(operation),
      idle: () => this.#operations.idle(),
      onVerified: (report) => observer?.verified(report),
    })
    this.#schedule = new VerifySchedule({ ...options, flavour, verify: () => this.verify() })
    this.#upkeep = this.#createUpkeep()
  }

  async start(_scope: { signal: AbortSignal }): Promise<void> {
    this.#options.log.info('writing rules', { ...this.#options.iptables.choice })
    this.#schedule.start()
    this.#upkeep.start()
  }

  /** Rules stay in the kernel: only `cleanupRules` removes them. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#schedule.stop()
    await this.#upkeep.stop(scope)
    await Promise.all([this.#repair.idle(), this.#operations.idle()])
  }

  health(): Health {
    return this.#operations.health
  }

  /** The wanted content of the tables; a live view. */
  get wanted(): WantedChains {
    return this.#wanted.ruleset
  }

  get tables(): readonly TableName[] {
    return this.#wanted.tableNames
  }

  /**
   * Whether PLAT-STATE of both tables says that the kernel holds the rules of these objects, and the hooks are in place. The caller
   * may then rely on the rules before it knows them; `sync` compares them afterwards. Writes nothing. Throws RulesError.
   */
  recognises(objects: XorHash): Promise<boolean> {
    return this.#operations.run(async () => {
      const { iptables, hooks } = this.#options
      if (!stampsMatch(objects, await readStamps(iptables, this.tables))) return false
      const { drift } = planHooks(hooks, await readHooks(iptables, hooks), iptables.choice.family)
      this.#isRecognised = drift.length === 0
      return this.#isRecognised
    })
  }

  /** Whether no packet meets rules of ours: no built-in chain leads to one of our chains. Writes nothing. Throws RulesError. */
  isUnhooked(): Promise<boolean> {
    const { iptables, hooks } = this.#options
    return this.#operations.run(async () => {
      const held = await readHooks(iptables, hooks)
      return Object.values(held).every((found) => found.length === 0)
    })
  }

  /**
   * The first write: `changes` are all chains that should stand. Compares PLAT-STATE with them: where that agrees, nothing is written
   * and nothing else is read; else the tables are read and only what differs is written. `sets`: all
   * sets that the rules name, in a map that never changes afterwards, or the change that makes sets with members of ours, which are
   * read and compared too. Throws RulesError.
   */
  sync(changes: readonly TableChange[], objects: XorHash, sets?: AddressSets | SetChange): Promise<WriteReport> {
    return this.#operations.run(() => {
      this.#wasAsked = true
      return this.#write(changes, objects, sets)
    })
  }

  /** Writes the chains of `changes` and whatever earlier failures left, in one restore unless it is very large. Throws RulesError. */
  write(changes: readonly TableChange[], objects: XorHash, sets?: AddressSets | SetChange): Promise<WriteReport> {
    return this.#operations.run(() => {
      if (!this.#wasAsked) throw new RulesError('not-synced', 'the first write must be a sync')
      return this.#write(changes, objects, sets)
    })
  }

  /** Compares all tables with the kernel and repairs what others changed (`DriftRepair.verify`). Throws RulesError. */
  verify(commits?: readonly SeenCommit[]): Promise<VerifyReport> {
    return this.#repair.verify(commits)
  }

  /** Compares the chains of these commits with the kernel (`DriftRepair.verifyChains`). Throws RulesError. */
  verifyChains(commits: readonly SeenCommit[], maxChains: number): Promise<VerifyReport | 'too-many'> {
    return this.#repair.verifyChains(commits, maxChains)
  }

  /** How the kernel differs from what it should hold now, failed writes included; changes nothing. Throws RulesError. */
  async preview(): Promise<readonly ChainDifference[]> {
    if (!this.#wasAsked)
      throw new RulesError('not-synced', 'the rules are still being planned: ask again in a few seconds')
    const { iptables, hooks } = this.#options
    return this.#operations.run(async () => {
      const { ruleset } = this.#wanted
      const { tables } = this
      const held = await readTables(iptables, ruleset, { hooks, tables })
      const { family } = iptables.choice
      const { memberSets } = this.#wanted
      const sets = memberSets.isUsed
        ? previewSets(memberSets.wanted, await this.#reconciler.memberSets.read(), family)
        : []
      return [...previewChanges(ruleset, held, hooks, { family, tables }), ...sets]
    })
  }

  /** The members of a set, and what each one counted; none where there is no such set. Throws RulesError. */
  membersOf(set: string): Promise<readonly MemberEntry[]> {
    return readMembers(this.#options.iptables.run, set)
  }

  /** Packets and bytes that the rules of a chain took since it was written; in nat the first of each connection. Throws RulesError. */
  countersOf(table: TableName, chain: string): Promise<ChainCounters> {
    return this.#options.iptables.readCounters(table, chain)
  }

  /** Counts what each chain got from this one, by chain. In nat a packet is a connection. Throws RulesError. */
  jumpsOf(table: TableName, chain: string): Promise<ReadonlyMap<string, ChainCounters>> {
    return this.#options.iptables.readJumps(table, chain)
  }

  async #write(
    changes: readonly TableChange[],
    objects: XorHash,
    sets?: AddressSets | SetChange,
  ): Promise<WriteReport> {
    await this.#wanted.apply(changes, objects, sets)
    const report = await this.#reconciler.reconcile()
    if (this.#wanted.memberSets.leftovers.length > 0) this.#upkeep.removeSoon()
    this.#options.log.debug('rules written', { ...report })
    this.#options.observer?.wrote?.(report)
    return report
  }

  #createUpkeep(): SetUpkeep {
    const { log, setCheckIntervalMs } = this.#options
    const { memberSets } = this.#reconciler
    return new SetUpkeep({
      isUsed: () => this.#wanted.memberSets.isUsed,
      isAsExpected: () => this.#operations.run(() => memberSets.isAsExpected()),
      verify: () => this.#repair.verifySets(),
      removeLeftovers: () => this.#operations.run(() => memberSets.removeLeftovers()),
      warnOfLeftovers: () => memberSets.warnOfLeftovers(),
      ...(setCheckIntervalMs === undefined ? {} : { intervalMs: setCheckIntervalMs }),
      log,
    })
  }

  #onKernelKnown(isAdopted: boolean): void {
    if (isAdopted) this.#schedule.soon()
    else this.#schedule.later()
  }

  #healthNow(): Pick<Health, 'level' | 'message'> {
    const { caveat } = this.#options.iptables
    if (this.#reconciler.isKernelKnown) return { level: 'ok', message: `rules are in place${caveat}` }
    if (!this.#isRecognised) return { level: 'unknown', message: 'nothing written yet' }
    return { level: 'ok', message: 'rules are in place by PLAT-STATE, a comparison follows' }
  }
}
