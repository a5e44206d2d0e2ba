import { TimeSlice } from '../../loop/time-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import { emptyXorHash, type XorHash } from '../../model/xor-hash.ts'
import type { SetChange } from '../../netfilter/member-sets.ts'
import type { SavedTables } from '../../netfilter/parse.ts'
import type { Chain, Ruleset, TableChange, TableName } from '../../netfilter/ruleset.ts'
import type { AddressSets } from '../../netfilter/sets.ts'
import type { Stamp } from '../../netfilter/state-chain.ts'
import { RulesError } from './errors.ts'
import { WantedSets } from './wanted-sets.ts'
import { type Drift, WantedTable } from './wanted-table.ts'

const noSets: AddressSets = new Map()
const noChains: ReadonlyMap<string, Chain> = new Map()

function isSetChange(sets: AddressSets | SetChange): sets is SetChange {
  return !(sets instanceof Map)
}

/** The chains that the tables should hold. */
export type WantedChains = Ruleset & { readonly mangle?: ReadonlyMap<string, Chain> }

/** The chains that differ, by table. */
export type DifferingChains = ReadonlyMap<TableName, ReadonlySet<string>>

/**
 * The wanted content of some tables and of the ipsets of one family, and the differences to the kernel. Does no I/O.
 */
export class WantedRules {
  readonly tableNames: readonly TableName[]
  readonly tables: readonly WantedTable[]
  readonly byName: Readonly<Partial<Record<TableName, WantedTable>>>
  /** A live view; tables of other writers are empty. */
  readonly ruleset: WantedChains
  #objects: XorHash = emptyXorHash
  #sets: AddressSets = noSets
  readonly memberSets: WantedSets

  constructor(tables: readonly TableName[], family: IpFamily) {
    this.memberSets = new WantedSets(family)
    this.tableNames = tables
    this.tables = tables.map((name) => new WantedTable(name))
    this.byName = Object.fromEntries(this.tables.map((table) => [table.name, table]))
    const chainsOf = (name: TableName) => this.byName[name]?.chains ?? noChains
    this.ruleset = { nat: chainsOf('nat'), filter: chainsOf('filter'), mangle: chainsOf('mangle') }
  }

  /** The sets that the rules name. */
  get sets(): AddressSets {
    return this.#sets
  }

  /** Other work gets its turn meanwhile: tens of thousands of chains take a second. */
  async apply(
    changes: readonly TableChange[],
    objects: XorHash,
    sets: AddressSets | SetChange = noSets,
  ): Promise<void> {
    const slice = new TimeSlice()
    if (isSetChange(sets)) await this.memberSets.apply(sets)
    else this.#sets = sets
    for (const { table, set, remove } of changes) {
      const wanted = this.#tableOf(table)
      for (const name of remove) wanted.want(name, undefined)
      for (const [name, chain] of set) {
        wanted.want(name, chain)
        if (slice.spent) await slice.pause()
      }
    }
    this.#objects = objects
  }

  /** Everything that the kernel lacks, PLAT-STATE included; at most one change a table. */
  unwritten(): readonly TableChange[] {
    const filterOf = (name: TableName) => (name === 'nat' ? this.byName.filter?.rules : undefined)
    const changes = this.tables.map((table) => table.change(this.#objects, filterOf(table.name)))
    return changes.filter((change) => change !== undefined)
  }

  /** The kernel has taken these changes. */
  confirm(changes: readonly TableChange[]): void {
    for (const change of changes) this.#tableOf(change.table).confirm(change)
  }

  /** The kernel may or may not have taken these changes: they stay unwritten. */
  invalidate(changes: readonly TableChange[]): void {
    for (const change of changes) this.#tableOf(change.table).invalidate(change)
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
  async findDiffering(held: SavedTables): Promise<DifferingChains> {
    const differing = new Map<TableName, ReadonlySet<string>>()
    for (const table of this.tables) differing.set(table.name, await table.findDiffering(held[table.name].chains))
    return differing
  }

  /** Marks what differs from what the kernel holds as unwritten. Looks at the chains of `differing` only, if given. */
  compare(held: SavedTables, differing?: DifferingChains): readonly Drift[] {
    return this.tables.flatMap((table) => table.compare(held[table.name].chains, differing?.get(table.name)))
  }

  #tableOf(name: TableName): WantedTable {
    const table = this.byName[name]
    if (table !== undefined) return table
    throw new RulesError('not-our-table', `table ${name} is not written by this writer`, {
      remedy: `expected ${this.tableNames.join(' or ')}`,
    })
  }
}
