import { describeError } from '../../../model/errors.ts'
import type { XorHash } from '../../../model/xor-hash.ts'
import type { ElementChange, NftChange, SetSpec } from '../../../netfilter/nft/types.ts'
import type { Logger } from '../../../observe/logger.ts'
import { RulesError } from '../errors.ts'
import { addReports, unchanged, type WriteReport } from '../reports.ts'
import type { ElementDifference } from './element-difference.ts'
import type { NftKernel } from './kernel.ts'
import { SettledListing } from './settled-listing.ts'
import { TableReader, type WantedElements } from './table-reader.ts'
import { objectsText, TableWriter } from './table-writer.ts'

/** The wanted elements, which the caller changes before it hands over what changed. */
export interface WrittenElements extends WantedElements {
  /** Adds everything to an empty table, a Service at a time. */
  additions(): Iterable<ElementChange>
  /** Grows with each update. */
  readonly generation: number
}

export interface TableReconcilerParts {
  readonly kernel: NftKernel
  readonly wanted: WrittenElements
  readonly log: Logger
  /** Called when the table is known as a whole: by the state that was found in it, or because all of it was read or written. */
  readonly onKernelKnown: (by: 'state' | 'reading') => void
}

/** The differences by set, without empty ones. */
export type ElementDifferences = ReadonlyMap<string, ElementDifference>

const pieceSize = 500

/** Brings one family's table in line with the wanted elements. Its caller runs one operation at a time, but for those that only read. */
export class TableReconciler {
  readonly reader: TableReader
  readonly #parts: TableReconcilerParts
  readonly #writer: TableWriter
  readonly #listings = new SettledListing()

  constructor(parts: TableReconcilerParts) {
    this.reader = new TableReader(parts.kernel, parts.wanted)
    this.#parts = parts
    this.#writer = new TableWriter(parts.kernel, () => parts.wanted.table)
  }

  async areRulesRight(): Promise<boolean> {
    return (await this.reader.readListing()) === this.#writer.listing
  }

  /** Writes a change to a table that holds everything before it; a change that the kernel refuses has the table read. Throws RulesError. */
  async writeChange({ table, changes }: NftChange, objects: XorHash): Promise<WriteReport> {
    try {
      if (table === undefined) return await this.#writer.write(changes, objects)
      return await this.#writeRules(changes, objects, this.#writer.rulesAnew())
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.#parts.log.info('the kernel refused a change, and the table is read', { error: describeError(error) })
      return this.catchUp(objects, { trustsState: false })
    }
  }

  /**
   * Brings the kernel in line with the wanted elements, whatever it holds. Throws RulesError.
   *
   * @param options.trustsState nothing is compared where the state names these objects and the rules are as they were written
   */
  async catchUp(objects: XorHash, { trustsState }: { readonly trustsState: boolean }): Promise<WriteReport> {
    const { wanted, onKernelKnown } = this.#parts
    if (!(await this.reader.isThere())) return this.writeAll(objects)
    const state = await this.reader.readState()
    const listing = await this.reader.readListing()
    const areRulesOurs = state?.version === wanted.table.version && state.listing === listing
    this.#writer.listing = areRulesOurs ? this.#listings.settle(state.version, listing) : '0'
    if (trustsState && areRulesOurs && state.objects === objectsText(objects)) {
      onKernelKnown('state')
      return unchanged
    }
    const report = await this.writeDifferences(objects, { areRulesRight: areRulesOurs })
    onKernelKnown('reading')
    return report
  }

  /** Writes a table that does not exist. Throws RulesError. */
  async writeAll(objects: XorHash): Promise<WriteReport> {
    const { wanted, onKernelKnown } = this.#parts
    this.#writer.listing = '0'
    const written = await this.#writer.writeInSlices(wanted.additions())
    this.#writer.listing = await this.#readSettledListing()
    const stamped = await this.writeState(objects)
    onKernelKnown('reading')
    return addReports(written, stamped)
  }

  writeState(objects: XorHash): Promise<WriteReport> {
    return this.#writer.write([], objects)
  }

  /**
   * Writes the elements that differ. A table of another form cannot be read, or takes no rules of this one, and chains of others survive new rules: then it
   * is replaced in one transaction. Throws RulesError.
   *
   * @param known.differences read from the kernel by default
   */
  async writeDifferences(
    objects: XorHash,
    known: { readonly areRulesRight: boolean; readonly differences?: ElementDifferences | undefined },
  ): Promise<WriteReport> {
    const { wanted, log } = this.#parts
    try {
      const changes = changesOf(known.differences ?? (await this.#readDifferences()))
      if (known.areRulesRight) return await this.#writer.write(changes, objects)
      const report = await this.#writeRules(changes, objects, this.#writer.rulesAnew())
      if (await this.reader.hasOnly(wanted.table)) return report
    } catch (error) {
      if (!isRefusal(error) && !isUnreadable(error)) throw error
      log.info('the table is replaced as a whole', { error: describeError(error) })
    }
    return this.#writeRules(wanted.additions(), objects, this.#writer.tableAnew())
  }

  /** The differences in these sets, of all by default; undefined where elements cannot be listed. Throws RulesError (`save-failed`). */
  async findDrift(sets?: readonly SetSpec[]): Promise<ElementDifferences | undefined> {
    return this.reader.listsElements ? this.#readDifferences(sets) : undefined
  }

  /** The state follows the rules, as it has the hash of them as the kernel holds them. */
  async #writeRules(changes: Iterable<ElementChange>, objects: XorHash, rules: string): Promise<WriteReport> {
    this.#writer.listing = '0'
    const written = await this.#writer.write(changes, objects, rules)
    this.#writer.listing = await this.#readSettledListing()
    return addReports(written, await this.writeState(objects))
  }

  async #readDifferences(sets?: readonly SetSpec[]): Promise<ElementDifferences> {
    return this.reader.readDifferences(await this.reader.findDiffering(sets))
  }

  async #readSettledListing(): Promise<string> {
    return this.#listings.settle(this.#parts.wanted.table.version, await this.reader.readListing())
  }
}

export function isUnreadable(error: unknown): boolean {
  return error instanceof RulesError && error.code === 'save-failed'
}

function isRefusal(error: unknown): boolean {
  return error instanceof RulesError && error.code === 'restore-failed'
}

/** Removals first, in pieces that are rendered in turns with other work. */
function* changesOf(differences: ElementDifferences): Iterable<ElementChange> {
  const all = [...differences.values()]
  for (const remove of chunks(all.flatMap((each) => each.remove))) yield { service: undefined, remove, add: [] }
  for (const add of chunks(all.flatMap((each) => each.add))) yield { service: undefined, remove: [], add }
}

function chunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / pieceSize) }, (_, index) =>
    items.slice(index * pieceSize, (index + 1) * pieceSize),
  )
}
