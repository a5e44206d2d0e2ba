import { TimeSlice } from '../../loop/time-slice.ts'
import { emptyXorHash, type XorHash } from '../../model/xor-hash.ts'
import type { SavedTables } from '../../netfilter/parse.ts'
import type { Ruleset, TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { AddressSets } from '../../netfilter/sets.ts'
import type { Stamp } from '../../netfilter/state-chain.ts'
import { type Drift, WantedTable } from './wanted-table.ts'

const noSets: AddressSets = new Map()

/** What nat, filter and the ipsets of one family should hold, and what the kernel lacks of it. Does no I/O. */
export class WantedRules {
  readonly nat = new WantedTable('nat')
  readonly filter = new WantedTable('filter')
  readonly tables: readonly WantedTable[] = [this.nat, this.filter]
  /** A live view. */
  readonly ruleset: Ruleset = { nat: this.nat.chains, filter: this.filter.chains }
  #objects: XorHash = emptyXorHash
  #sets: AddressSets = noSets

  /** The sets that the rules name. */
  get sets(): AddressSets {
    return this.#sets
  }

  /** Other work gets its turn meanwhile: tens of thousands of chains take a second. */
  async apply(changes: readonly TableChange[], objects: XorHash, sets: AddressSets = noSets): Promise<void> {
    const slice = new TimeSlice()
    this.#sets = sets
    for (const { table, set, remove } of changes) {
      for (const name of remove) this[table].want(name, undefined)
      for (const [name, chain] of set) {
        this[table].want(name, chain)
        if (slice.spent) await slice.pause()
      }
    }
    this.#objects = objects
  }

  /** Everything that the kernel lacks, PLAT-STATE included; at most one change a table. */
  unwritten(): readonly TableChange[] {
    const changes = [this.nat.change(this.#objects, this.filter.rules), this.filter.change(this.#objects)]
    return changes.filter((change) => change !== undefined)
  }

  /** The kernel has taken these changes. */
  confirm(changes: readonly TableChange[]): void {
    for (const change of changes) this[change.table].confirm(change)
  }

  /** The kernel may or may not have taken these changes: they stay unwritten. */
  invalidate(changes: readonly TableChange[]): void {
    for (const change of changes) this[change.table].invalidate(change)
  }

  /** Takes the stamps that the kernel holds. Returns whether they match what is wanted. */
  setStamps(stamps: Readonly<Record<TableName, Stamp | undefined>>): boolean {
    for (const table of this.tables) table.setStamp(stamps[table.name])
    return this.tables.every((table) => table.agreesWith(stamps[table.name]))
  }

  /** Call it before the kernel is read while writes go on: `compare` then ignores chains that were written since. */
  beginRead(): void {
    for (const table of this.tables) table.beginRead()
  }

  /** The chains that differ from what the kernel was read to hold. Other work, writes included, goes on meanwhile. */
  async findDiffering(held: SavedTables): Promise<Readonly<Record<TableName, ReadonlySet<string>>>> {
    return {
      nat: await this.nat.findDiffering(held.nat.chains),
      filter: await this.filter.findDiffering(held.filter.chains),
    }
  }

  /** Marks what differs from what the kernel holds as unwritten. Looks at the chains of `differing` only, if given. */
  compare(held: SavedTables, differing?: Readonly<Record<TableName, ReadonlySet<string>>>): readonly Drift[] {
    return this.tables.flatMap((table) => table.compare(held[table.name].chains, differing?.[table.name]))
  }
}
