import type { Component, Health } from '../../../loop/component.ts'
import type { IpFamily } from '../../../model/ip.ts'
import type { XorHash } from '../../../model/xor-hash.ts'
import { type NftChange, type SetSpec, stateSet } from '../../../netfilter/nft/types.ts'
import type { Logger } from '../../../observe/logger.ts'
import { RulesError } from '../errors.ts'
import { ExclusiveOperations } from '../exclusive-operations.ts'
import type { RepairObserver } from '../metrics.ts'
import type { ChainDifference } from '../preview.ts'
import { unchanged, type WriteReport } from '../reports.ts'
import { VerifySchedule } from '../verify-schedule.ts'
import type { NftKernel } from './kernel.ts'
import { previewElements } from './preview-elements.ts'
import { type ElementDifferences, isUnreadable, TableReconciler, type WrittenElements } from './table-reconciler.ts'
import { objectsText } from './table-writer.ts'

export interface NftWriterOptions {
  readonly family: IpFamily
  readonly kernel: NftKernel
  readonly wanted: WrittenElements
  readonly log: Logger
  /** Time between two comparisons with the kernel; at least 50 times what the last reading took. */
  readonly verifyIntervalMs?: number
  /** Whether a listener reports changes of others: comparing is then only a safety net. */
  readonly isWatched?: () => boolean
  readonly observer?: RepairObserver
}

/** One difference that was repaired, and that another program made. */
interface ElementDrift {
  readonly table: 'nftables'
  /** `rules` for chains, rules and the table itself. */
  readonly set: string
  readonly missing: number
  readonly unwanted: number
}

export interface NftVerifyReport {
  /** Holds what others changed; nothing while a write of our own has failed, which leaves differences too. */
  readonly drift: readonly ElementDrift[]
  readonly readMs: number
  readonly write: WriteReport
}

const theRules = 'rules'

const nothingDone = { drift: [], write: unchanged } as const

/**
 * The only writer of one family's table of nftables. Carries out one operation after the other. The wanted elements are those of the caller: after a
 * failure everything that the kernel lacks of them is found by reading, and written with the next write.
 */
export class NftWriter implements Component {
  readonly name: string
  readonly #options: NftWriterOptions
  readonly #reconciler: TableReconciler
  readonly #schedule: VerifySchedule
  readonly #operations: ExclusiveOperations
  /** `unknown` before the first write, `unsure` after a failure. */
  #kernelIs: 'unknown' | 'unsure' | 'known' = 'unknown'
  /** The objects and the generation of the wanted elements that were handed over last. */
  #objects: XorHash | undefined
  #generation = 0

  constructor(options: NftWriterOptions) {
    this.name = options.family === 'IPv4' ? 'nft-rules' : 'nft-rules-ipv6'
    this.#options = options
    this.#reconciler = new TableReconciler({ ...options, onKernelKnown: (by) => this.#onKernelKnown(by) })
    this.#schedule = new VerifySchedule({ ...options, flavour: 'nft', verify: () => this.verify() })
    this.#operations = new ExclusiveOperations({
      healthNow: () => (this.#kernelIs === 'known' ? { level: 'ok', message: 'the table is in place' } : undefined),
    })
  }

  async start(_scope: { signal: AbortSignal }): Promise<void> {
    this.#options.log.info('writing the table of nftables', { family: this.#options.family })
    this.#schedule.start()
  }

  /** The table stays in the kernel. */
  async stop(_scope: { signal: AbortSignal }): Promise<void> {
    this.#schedule.stop()
    await this.#operations.idle()
  }

  health(): Health {
    return this.#operations.health
  }

  /** Whether the state in the table names these objects, and its rules are as they were written. Writes nothing. Throws RulesError. */
  recognises(objects: XorHash): Promise<boolean> {
    return this.#operations.run(async () => {
      const state = await this.#reconciler.reader.readState()
      if (state?.objects !== objectsText(objects)) return false
      const listing = await this.#reconciler.reader.readListing()
      return state.listing === listing
    })
  }

  /** Whether there is no table of ours. Writes nothing. Throws RulesError. */
  isUnhooked(): Promise<boolean> {
    return this.#operations.run(async () => !(await this.#reconciler.reader.isThere()))
  }

  /**
   * Writes a change of the wanted elements, which holds everything the first time. Then the state of the table is read: where it names these objects
   * nothing is written, else what differs. Throws RulesError.
   */
  write(change: NftChange, objects: XorHash): Promise<WriteReport> {
    this.#generation = this.#options.wanted.generation
    return this.#operations.run(async () => {
      this.#objects = objects
      const before = this.#kernelIs
      if (before === 'known') this.#kernelIs = 'unsure'
      const report =
        before === 'known'
          ? await this.#reconciler.writeChange(change, objects)
          : await this.#reconciler.catchUp(objects, { trustsState: before === 'unknown' })
      this.#kernelIs = 'known'
      this.#options.log.debug('elements written', { ...report })
      return report
    })
  }

  /**
   * Compares the table with the kernel and repairs what others changed: all of it, or the elements of some sets. Throws RulesError.
   *
   * @param by the programs that changed it, for the log
   */
  async verify(sets?: readonly SetSpec[], by?: string): Promise<NftVerifyReport> {
    const startedMs = performance.now()
    if (this.#kernelIs === 'unknown') return { ...nothingDone, readMs: 0 }
    const differs = await this.#differs(sets)
    const readMs = performance.now() - startedMs
    if (!differs) return { ...nothingDone, readMs }
    const report = await this.#operations.run(() => this.#repairOf(sets))
    for (const drift of report.drift)
      this.#options.log.warn('what other programs changed in our table was repaired', { ...drift, ...(by && { by }) })
    this.#options.observer?.verified(report)
    return { ...report, readMs }
  }

  /** How the kernel differs from what it should hold; changes nothing. Throws RulesError. */
  preview(): Promise<readonly ChainDifference[]> {
    if (this.#kernelIs === 'unknown')
      return Promise.reject(
        new RulesError('not-synced', 'the rules are still being planned: ask again in a few seconds'),
      )
    return this.#operations.run(async () => {
      const { version } = this.#options.wanted.table
      const isThere = await this.#reconciler.reader.isThere()
      const differences = (await this.#reconciler.findDrift()) ?? new Map()
      const areRulesRight = isThere && (await this.#reconciler.areRulesRight())
      return previewElements(differences, areRulesRight ? undefined : { isThere, version })
    })
  }

  /** Reads while writes go on: a list that they spoil counts as different, and the repair reads again. */
  async #differs(sets: readonly SetSpec[] | undefined): Promise<boolean> {
    try {
      if (!(await this.#reconciler.reader.isThere())) return true
      if (sets === undefined && !((await this.#reconciler.areRulesRight()) && (await this.#isStateRight()))) return true
      const { reader } = this.#reconciler
      return reader.listsElements && (await reader.findDiffering(sets)).length > 0
    } catch (error) {
      if (isUnreadable(error)) return true
      throw error
    }
  }

  /** A state that others removed would have a restart compare everything. */
  async #isStateRight(): Promise<boolean> {
    const state = await this.#reconciler.reader.readState()
    return this.#objects !== undefined && state?.objects === objectsText(this.#objects)
  }

  #onKernelKnown(by: 'state' | 'reading'): void {
    if (by === 'state') this.#schedule.soon()
    else this.#schedule.later()
  }

  /** A change is on its way, which tells more than a comparison could. */
  get #isChanging(): boolean {
    return this.#generation !== this.#options.wanted.generation
  }

  #postpone(): typeof nothingDone {
    this.#schedule.soon()
    return nothingDone
  }

  async #repairOf(sets: readonly SetSpec[] | undefined): Promise<Omit<NftVerifyReport, 'readMs'>> {
    const isOwn = this.#kernelIs === 'unsure'
    const report = await this.#repair(sets)
    if (!isOwn || report.drift.length === 0) return report
    this.#options.log.info('what a failed write left was written', { sets: report.drift.map(({ set }) => set) })
    return { ...report, drift: [] }
  }

  async #repair(sets: readonly SetSpec[] | undefined): Promise<Omit<NftVerifyReport, 'readMs'>> {
    const objects = this.#objects
    if (objects === undefined) return nothingDone
    if (this.#isChanging) return this.#postpone()
    if (!(await this.#reconciler.reader.isThere())) {
      const drift = { table: 'nftables', set: theRules, missing: 1, unwanted: 0 } as const
      return { drift: [drift], write: await this.#reconciler.writeAll(objects) }
    }
    const areRulesRight = sets !== undefined || (await this.#reconciler.areRulesRight())
    const differences = await this.#reconciler.findDrift(sets)
    // What was read is compared with half of a change, and only that change is whole.
    if (this.#isChanging) return this.#postpone()
    const drift = driftOf(differences, areRulesRight)
    if (drift.length > 0) {
      return { drift, write: await this.#reconciler.writeDifferences(objects, { areRulesRight, differences }) }
    }
    if (sets !== undefined || (await this.#isStateRight())) return { drift, write: unchanged }
    const ofState = { table: 'nftables', set: stateSet, missing: 1, unwanted: 0 } as const
    return { drift: [ofState], write: await this.#reconciler.writeState(objects) }
  }
}

function driftOf(differences: ElementDifferences | undefined, areRulesRight: boolean): readonly ElementDrift[] {
  const rules = { table: 'nftables', set: theRules, missing: 1, unwanted: 0 } as const
  const elements = Array.from(differences ?? [], ([set, { add, remove }]) => {
    return { table: 'nftables', set, missing: add.length, unwanted: remove.length } as const
  })
  return areRulesRight ? elements : [rules, ...elements]
}
