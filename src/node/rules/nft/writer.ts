import type { Component, Health, HealthLevel } from '../../../loop/component.ts'
import { Slots } from '../../../loop/slots.ts'
import { describeError } from '../../../model/errors.ts'
import type { IpFamily } from '../../../model/ip.ts'
import type { XorHash } from '../../../model/xor-hash.ts'
import { type ElementChange, type NftChange, type SetSpec, stateSet } from '../../../netfilter/nft/types.ts'
import type { Logger } from '../../../observe/logger.ts'
import { RulesError } from '../errors.ts'
import type { ChainDifference } from '../preview.ts'
import { addReports, unchanged, type WriteReport } from '../reports.ts'
import { VerifySchedule } from '../verify-schedule.ts'
import type { ElementDifference } from './element-difference.ts'
import type { NftKernel } from './kernel.ts'
import { previewElements } from './preview-elements.ts'
import { SettledListing } from './settled-listing.ts'
import { TableReader, type WantedElements } from './table-reader.ts'
import { objectsText, TableWriter } from './table-writer.ts'

/** The wanted elements, which the caller changes before it hands over what changed. */
interface WrittenElements extends WantedElements {
  /** Adds everything to an empty table, a Service at a time. */
  additions(): Iterable<ElementChange>
  /** Grows with each update. */
  readonly generation: number
}

export interface NftWriterOptions {
  readonly family: IpFamily
  readonly kernel: NftKernel
  readonly wanted: WrittenElements
  readonly log: Logger
  /** Time between two comparisons with the kernel; at least 50 times what the last reading took. */
  readonly verifyIntervalMs?: number
  /** Whether a listener reports changes of others: comparing is then only a safety net. */
  readonly isWatched?: () => boolean
}

/** One difference that another program made, and that was repaired. */
interface ElementDrift {
  readonly table: 'nftables'
  /** `rules` for chains, rules and the table itself. */
  readonly set: string
  readonly missing: number
  readonly unwanted: number
}

export interface NftVerifyReport {
  readonly drift: readonly ElementDrift[]
  readonly readMs: number
  readonly write: WriteReport
}

const theRules = 'rules'

const pieceSize = 500

const nothingDone = { drift: [], write: unchanged } as const

/**
 * The only writer of one family's table of nftables. Carries out one operation after the other. The wanted elements are those of the caller: after a
 * failure everything that the kernel lacks of them is found by reading, and written with the next write.
 */
export class NftWriter implements Component {
  readonly name: string
  readonly #options: NftWriterOptions
  readonly #reader: TableReader
  readonly #writer: TableWriter
  readonly #schedule: VerifySchedule
  readonly #listings = new SettledListing()
  readonly #operations = new Slots(1)
  /** `unknown` before the first write, `unsure` after a failure. */
  #kernelIs: 'unknown' | 'unsure' | 'known' = 'unknown'
  /** The objects and the generation of the wanted elements that were handed over last. */
  #objects: XorHash | undefined
  #generation = 0
  #health: Health = { level: 'unknown', message: 'nothing written yet', sinceMs: 0 }

  constructor(options: NftWriterOptions) {
    const { family, kernel, wanted } = options
    this.name = family === 'IPv4' ? 'nft-rules' : 'nft-rules-ipv6'
    this.#options = options
    this.#reader = new TableReader(kernel, wanted)
    this.#writer = new TableWriter(kernel, () => wanted.table)
    this.#schedule = new VerifySchedule({ ...options, flavour: 'nft', verify: () => this.verify() })
  }

  async start(_scope: { signal: AbortSignal }): Promise<void> {
    this.#options.log.info('writing the table of nftables', { family: this.#options.family })
    this.#schedule.start()
  }

  /** The table stays in the kernel. */
  async stop(_scope: { signal: AbortSignal }): Promise<void> {
    this.#schedule.stop()
    await this.#operations.run(async () => {})
  }

  health(): Health {
    return this.#health
  }

  /** Whether the state in the table names these objects, and its rules are as they were written. Writes nothing. Throws RulesError. */
  recognises(objects: XorHash): Promise<boolean> {
    return this.#exclusive(async () => {
      const state = await this.#reader.readState()
      if (state?.objects !== objectsText(objects)) return false
      const listing = await this.#reader.readListing()
      return state.listing === listing
    })
  }

  /** Whether there is no table of ours. Writes nothing. Throws RulesError. */
  isUnhooked(): Promise<boolean> {
    return this.#exclusive(async () => !(await this.#reader.isThere()))
  }

  /**
   * Writes a change of the wanted elements, which holds everything the first time. Then the state of the table is read: where it names these objects
   * nothing is written, else what differs. Throws RulesError.
   */
  write(change: NftChange, objects: XorHash): Promise<WriteReport> {
    this.#generation = this.#options.wanted.generation
    return this.#exclusive(async () => {
      this.#objects = objects
      const isKnown = this.#kernelIs === 'known'
      if (isKnown) this.#kernelIs = 'unsure'
      const report = isKnown ? await this.#writeChange(change, objects) : await this.#catchUp(objects)
      this.#kernelIs = 'known'
      this.#options.log.debug('elements written', { ...report })
      return report
    })
  }

  /** Compares the table with the kernel and repairs what others changed: all of it, or the elements of some sets. Throws RulesError. */
  async verify(sets?: readonly SetSpec[]): Promise<NftVerifyReport> {
    const startedMs = performance.now()
    if (this.#kernelIs === 'unknown') return { ...nothingDone, readMs: 0 }
    const differs = await this.#differs(sets)
    const readMs = performance.now() - startedMs
    if (!differs) return { ...nothingDone, readMs }
    const report = await this.#exclusive(() => this.#repair(sets))
    for (const drift of report.drift)
      this.#options.log.warn('what other programs changed in our table was repaired', { ...drift })
    return { ...report, readMs }
  }

  /** How the kernel differs from what it should hold; changes nothing. Throws RulesError. */
  preview(): Promise<readonly ChainDifference[]> {
    if (this.#kernelIs === 'unknown')
      return Promise.reject(
        new RulesError('not-synced', 'the rules are still being planned: ask again in a few seconds'),
      )
    return this.#exclusive(async () => {
      const { table } = this.#options.wanted
      const isThere = await this.#reader.isThere()
      const differences = await this.#reader.readDifferences(isThere ? await this.#reader.findDiffering() : table.sets)
      const areRulesRight = isThere && (await this.#areRulesRight())
      return previewElements(differences, areRulesRight ? undefined : { isThere, version: table.version })
    })
  }

  /** Reads while writes go on: a list that they spoil counts as different, and the repair reads again. */
  async #differs(sets: readonly SetSpec[] | undefined): Promise<boolean> {
    try {
      if (!(await this.#reader.isThere())) return true
      if (sets === undefined && !((await this.#areRulesRight()) && (await this.#isStateRight()))) return true
      return (await this.#reader.findDiffering(sets)).length > 0
    } catch (error) {
      if (isUnreadable(error)) return true
      throw error
    }
  }

  /** A state that others removed would have a restart compare everything. */
  async #isStateRight(): Promise<boolean> {
    const state = await this.#reader.readState()
    return this.#objects !== undefined && state?.objects === objectsText(this.#objects)
  }

  async #areRulesRight(): Promise<boolean> {
    return (await this.#reader.readListing()) === this.#writer.listing
  }

  async #writeChange({ table, changes }: NftChange, objects: XorHash): Promise<WriteReport> {
    try {
      if (table === undefined) return await this.#writer.write(changes, objects)
      return await this.#writeRules(changes, objects, this.#writer.rulesAnew())
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.#options.log.info('the kernel refused a change, and the table is read', { error: describeError(error) })
      return this.#catchUp(objects)
    }
  }

  /** Brings the kernel in line with the wanted elements, whatever it holds. */
  async #catchUp(objects: XorHash): Promise<WriteReport> {
    if (!(await this.#reader.isThere())) return this.#writeAll(objects)
    const state = await this.#reader.readState()
    const listing = await this.#reader.readListing()
    const areRulesOurs = state?.version === this.#options.wanted.table.version && state.listing === listing
    this.#writer.listing = areRulesOurs ? this.#listings.settle(state.version, listing) : '0'
    if (this.#kernelIs === 'unknown' && areRulesOurs && state.objects === objectsText(objects)) {
      this.#schedule.soon()
      return unchanged
    }
    const report = await this.#writeDifferences(objects, areRulesOurs)
    this.#schedule.later()
    return report
  }

  async #writeAll(objects: XorHash): Promise<WriteReport> {
    this.#writer.listing = '0'
    const written = await this.#writer.writeInSlices(this.#options.wanted.additions())
    this.#writer.listing = await this.#readSettledListing()
    const stamped = await this.#writer.write([], objects)
    this.#schedule.later()
    return addReports(written, stamped)
  }

  /**
   * A table of another form cannot be read, or takes no rules of this one, and chains of others survive new rules: then it is replaced in one
   * transaction.
   */
  async #writeDifferences(objects: XorHash, areRulesRight: boolean): Promise<WriteReport> {
    try {
      const differences = await this.#reader.readDifferences(await this.#reader.findDiffering())
      const changes = changesOf(differences)
      if (areRulesRight) return await this.#writer.write(changes, objects)
      const report = await this.#writeRules(changes, objects, this.#writer.rulesAnew())
      if (await this.#reader.hasOnly(this.#options.wanted.table)) return report
    } catch (error) {
      if (!isRefusal(error) && !isUnreadable(error)) throw error
      this.#options.log.info('the table is replaced as a whole', { error: describeError(error) })
    }
    return this.#writeRules(this.#options.wanted.additions(), objects, this.#writer.tableAnew())
  }

  /** The state follows the rules, as it tells how nft lists them. */
  async #writeRules(changes: Iterable<ElementChange>, objects: XorHash, rules: string): Promise<WriteReport> {
    this.#writer.listing = '0'
    const written = await this.#writer.write(changes, objects, rules)
    this.#writer.listing = await this.#readSettledListing()
    return addReports(written, await this.#writer.write([], objects))
  }

  async #readSettledListing(): Promise<string> {
    return this.#listings.settle(this.#options.wanted.table.version, await this.#reader.readListing())
  }

  async #repair(sets: readonly SetSpec[] | undefined): Promise<Omit<NftVerifyReport, 'readMs'>> {
    const objects = this.#objects
    if (objects === undefined) return nothingDone
    // The change that is on its way tells more than a comparison could.
    if (this.#generation !== this.#options.wanted.generation) {
      this.#schedule.soon()
      return nothingDone
    }
    if (!(await this.#reader.isThere())) {
      const drift = { table: 'nftables', set: theRules, missing: 1, unwanted: 0 } as const
      return { drift: [drift], write: await this.#writeAll(objects) }
    }
    const areRulesRight = sets !== undefined || (await this.#areRulesRight())
    const differences = await this.#reader.readDifferences(await this.#reader.findDiffering(sets))
    const drift = driftOf(differences, areRulesRight)
    if (drift.length > 0) return { drift, write: await this.#writeDifferences(objects, areRulesRight) }
    if (sets !== undefined || (await this.#isStateRight())) return { drift, write: unchanged }
    const ofState = { table: 'nftables', set: stateSet, missing: 1, unwanted: 0 } as const
    return { drift: [ofState], write: await this.#writer.write([], objects) }
  }

  /** Runs one operation at a time and keeps the health; the caller handles a failure. */
  #exclusive<T>(operation: () => Promise<T>): Promise<T> {
    return this.#operations.run(async () => {
      try {
        const result = await operation()
        if (this.#kernelIs === 'known') this.#setHealth('ok', 'the table is in place')
        return result
      } catch (error) {
        this.#setHealth('degraded', describeError(error))
        throw error
      }
    })
  }

  #setHealth(level: HealthLevel, message: string): void {
    const { level: before, sinceMs } = this.#health
    this.#health = { level, message, sinceMs: level === before ? sinceMs : Date.now() }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof RulesError && error.code === 'restore-failed'
}

function isUnreadable(error: unknown): boolean {
  return error instanceof RulesError && error.code === 'save-failed'
}

/** Removals first, in pieces that are rendered in turns with other work. */
function* changesOf(differences: ReadonlyMap<string, ElementDifference>): Iterable<ElementChange> {
  const all = [...differences.values()]
  for (const remove of chunks(all.flatMap((each) => each.remove))) yield { service: undefined, remove, add: [] }
  for (const add of chunks(all.flatMap((each) => each.add))) yield { service: undefined, remove: [], add }
}

function chunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / pieceSize) }, (_, index) =>
    items.slice(index * pieceSize, (index + 1) * pieceSize),
  )
}

function driftOf(differences: ReadonlyMap<string, ElementDifference>, areRulesRight: boolean): readonly ElementDrift[] {
  const rules = { table: 'nftables', set: theRules, missing: 1, unwanted: 0 } as const
  const elements = Array.from(differences, ([set, { add, remove }]) => {
    return { table: 'nftables', set, missing: add.length, unwanted: remove.length } as const
  })
  return areRulesRight ? elements : [rules, ...elements]
}
