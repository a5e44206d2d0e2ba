import type { Hook, TableName } from '../../netfilter/ruleset.ts'
import type { Logger } from '../../observe/logger.ts'
import { affectedChains, isOurChain } from './affected-chains.ts'
import { authorsOf } from './authors.ts'
import type { Iptables } from './iptables.ts'
import type { OwnCommits, SeenCommit } from './own-commits.ts'
import { type ChangeReader, hooksOf, readChains, readHooks } from './read-kernel.ts'
import type { Reconciler } from './reconciler.ts'
import { addReports, unchanged, type VerifyReport } from './reports.ts'
import type { WantedRules } from './wanted-rules.ts'
import type { SetDrift } from './wanted-sets.ts'
import type { Drift } from './wanted-table.ts'

export interface DriftRepairParts {
  readonly iptables: Iptables
  readonly hooks: readonly Hook[]
  readonly wanted: WantedRules
  readonly reconciler: Reconciler
  readonly changes: ChangeReader
  readonly ownCommits: OwnCommits
  /** Runs an operation while no other one runs. */
  readonly exclusive: <T>(operation: () => Promise<T>) => Promise<T>
  /** Resolves when no operation runs. */
  readonly idle: () => Promise<void>
  readonly onVerified: (report: VerifyReport) => void
  readonly log: Logger
}

type HeldSets = Awaited<ReturnType<Reconciler['memberSets']['read']>>

const maxLogged = 10

/** Compares the kernel with the wanted rules and writes what others changed. */
export class DriftRepair {
  readonly #parts: DriftRepairParts
  #running: Promise<VerifyReport> | undefined

  constructor(parts: DriftRepairParts) {
    this.#parts = parts
  }

  /**
   * Reads the tables and repairs what others changed: missing, different and unwanted PLAT chains, and the hooks. Writes go on
   * while it reads. Does nothing before the first write. Throws RulesError.
   *
   * @param commits what changed them, for the log
   */
  verify(commits: readonly SeenCommit[] = []): Promise<VerifyReport> {
    this.#running ??= this.#verifyOnce(commits).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Resolves when no `verify` runs. */
  async idle(): Promise<void> {
    await this.#running?.catch(() => {})
  }

  /**
   * Reads the chains that these commits changed, our own commits left out, and repairs what differs. Returns `too-many`, and
   * does nothing, where reading everything is cheaper. Throws RulesError.
   */
  async verifyChains(commits: readonly SeenCommit[], maxChains: number): Promise<VerifyReport | 'too-many'> {
    const { reconciler, ownCommits, exclusive } = this.#parts
    const report = await exclusive(async () => {
      const foreign = reconciler.isKernelKnown ? commits.filter((commit) => !ownCommits.includes(commit)) : []
      const affected = affectedChains(foreign, this.#parts.wanted.tableNames)
      if (affected === undefined || countChains(affected) > maxChains) return 'too-many'
      return this.#verifyAffected(affected)
    })
    return report === 'too-many' ? report : this.#publish(report, commits)
  }

  async #verifyOnce(commits: readonly SeenCommit[]): Promise<VerifyReport> {
    const { wanted, reconciler, changes, exclusive } = this.#parts
    await this.#parts.idle()
    if (!reconciler.isKernelKnown) return { drift: [], readMs: 0, write: unchanged }
    const startedMs = performance.now()
    const { hookPlacements } = reconciler
    wanted.beginRead()
    const heldSets = await this.#readSets()
    const held = await changes.readIfChanged(wanted.ruleset)
    const readMs = performance.now() - startedMs
    if (held === undefined) return this.#repairSets(heldSets, readMs)
    const differing = await wanted.findDiffering(held)
    const report = await exclusive(async () => {
      const drift = [...wanted.compare(held, differing), ...(await this.#compareSets(heldSets))]
      const chains = await reconciler.flush()
      if (hookPlacements !== reconciler.hookPlacements) return { drift, readMs, write: chains }
      const hooks = await reconciler.placeHooks(hooksOf(held))
      return { drift: [...drift, ...hooks.drift], readMs, write: addReports(chains, hooks.write) }
    })
    if (report.drift.length === 0) changes.remember()
    return this.#publish(report, commits)
  }

  /** Compares the sets with members of ours alone, and puts back what others changed. Throws RulesError. */
  async verifySets(): Promise<VerifyReport> {
    const startedMs = performance.now()
    if (!this.#parts.reconciler.isKernelKnown) return { drift: [], readMs: 0, write: unchanged }
    const held = await this.#readSets()
    return this.#repairSets(held, performance.now() - startedMs)
  }

  async #readSets(): Promise<HeldSets | undefined> {
    const { wanted, reconciler } = this.#parts
    if (!wanted.memberSets.isUsed) return undefined
    wanted.memberSets.beginRead()
    return reconciler.memberSets.read()
  }

  async #compareSets(held: HeldSets | undefined): Promise<readonly SetDrift[]> {
    return held === undefined ? [] : this.#parts.reconciler.memberSets.compare(held)
  }

  async #repairSets(held: HeldSets | undefined, readMs: number): Promise<VerifyReport> {
    const { reconciler, exclusive } = this.#parts
    if (held === undefined) return this.#publish({ drift: [], readMs, write: unchanged })
    const report = await exclusive(async () => {
      const drift = await this.#compareSets(held)
      return { drift, readMs, write: drift.length === 0 ? unchanged : await reconciler.flush() }
    })
    return this.#publish(report)
  }

  async #verifyAffected(affected: ReadonlyMap<TableName, ReadonlySet<string>>): Promise<VerifyReport> {
    const { iptables, hooks, wanted, reconciler } = this.#parts
    const startedMs = performance.now()
    const drift: Drift[] = []
    for (const table of wanted.tables) {
      const ours = new Set([...(affected.get(table.name) ?? [])].filter(isOurChain))
      drift.push(...table.compareChains(ours, await readChains(iptables, table.name, ours)))
    }
    const readMs = performance.now() - startedMs
    const chains = await reconciler.flush()
    const isHookChain = (name: string) => !isOurChain(name)
    if (!affected.values().some((names) => names.values().some(isHookChain))) return { drift, readMs, write: chains }
    const placed = await reconciler.placeHooks(await readHooks(iptables, hooks))
    return { drift: [...drift, ...placed.drift], readMs, write: addReports(chains, placed.write) }
  }

  #publish(report: VerifyReport, commits: readonly SeenCommit[] = []): VerifyReport {
    const { log, ownCommits, onVerified } = this.#parts
    const by = authorsOf(commits.filter((commit) => !ownCommits.includes(commit)))
    for (const drift of report.drift.slice(0, maxLogged))
      log.warn('rules that other programs changed were repaired', { ...drift, ...(by && { by }) })
    const more = report.drift.length - maxLogged
    if (more > 0) log.warn('more rules that other programs changed were repaired', { chains: more })
    onVerified(report)
    return report
  }
}

function countChains(affected: ReadonlyMap<TableName, ReadonlySet<string>>): number {
  return affected.values().reduce((sum, names) => sum + names.size, 0)
}
