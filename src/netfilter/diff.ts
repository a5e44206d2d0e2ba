import { equalChains, type SavedChain } from './parse.ts'
import { renderRuleSpec } from './render.ts'
import type { Chain, Ruleset, TableChange, TableName } from './ruleset.ts'

const tableNames: readonly TableName[] = ['filter', 'nat']

/** A ruleset as it was read back, or one of ours. */
export type HeldRuleset = Readonly<Record<TableName, ReadonlyMap<string, SavedChain>>>

/** What must be written to turn `previous` into `next`: at most one change a table, `filter` first, chains in order of name. */
export function diffRulesets(previous: HeldRuleset, next: Ruleset): readonly TableChange[] {
  return tableNames.flatMap((table) => diffTable(table, previous[table], next[table]))
}

/** What the kernel holds after `changes` were written over `ruleset`. */
export function applyChanges(ruleset: Ruleset, changes: readonly TableChange[]): Ruleset {
  const tables = { nat: new Map(ruleset.nat), filter: new Map(ruleset.filter) }
  for (const { table, set, remove, drop = [] } of changes) {
    for (const name of remove) tables[table].delete(name)
    for (const [name, rules] of drop) {
      const gone = new Set(rules.map((rule) => renderRuleSpec(rule)))
      tables[table].set(
        name,
        (tables[table].get(name) ?? []).filter((rule) => !gone.has(renderRuleSpec(rule))),
      )
    }
    for (const [name, chain] of set) tables[table].set(name, chain)
  }
  return tables
}

function diffTable(
  table: TableName,
  previous: ReadonlyMap<string, SavedChain>,
  next: ReadonlyMap<string, Chain>,
): readonly TableChange[] {
  const set = [...next].filter(([name, chain]) => !isSame(previous.get(name), chain)).sort(byName)
  const remove = [...previous.keys()].filter((name) => !next.has(name)).sort()
  return set.length === 0 && remove.length === 0 ? [] : [{ table, set: new Map(set), remove }]
}

function isSame(held: SavedChain | undefined, wanted: Chain): boolean {
  return held !== undefined && equalChains(held, wanted)
}

function byName([a]: readonly [string, Chain], [b]: readonly [string, Chain]): number {
  return a < b ? -1 : 1
}
