import type { ObjectKey } from '../../src/model/api-object.ts'
import type { IpFamily } from '../../src/model/ip.ts'
import { addHash, emptyXorHash, type XorHash } from '../../src/model/xor-hash.ts'
import type { DispatchLimits } from '../../src/netfilter/dispatch.ts'
import type { ServiceRules } from '../../src/netfilter/lower-service.ts'
import { equalChains, type SavedChain } from '../../src/netfilter/parse.ts'
import { ProxyRuleset } from '../../src/netfilter/proxy-ruleset.ts'
import { renderRestoreInParts, renderRuleSpec } from '../../src/netfilter/render.ts'
import type { Chain, ProxyTable, Ruleset, TableChange } from '../../src/netfilter/ruleset.ts'
import type { AddressSets } from '../../src/netfilter/sets.ts'
import type { ProxyRuleSettings } from '../../src/netfilter/settings.ts'
import { hashChain, stateChain } from '../../src/netfilter/state-chain.ts'
import type { RulesWriter, WriteReport } from '../../src/node/rules/index.ts'

const tableNames: readonly ProxyTable[] = ['filter', 'nat']

/** A ruleset as it was read back, or one of ours. */
export type HeldRuleset = Readonly<Record<ProxyTable, ReadonlyMap<string, SavedChain>>>

type ProxyChange = TableChange & { readonly table: ProxyTable }

/** Returns what must be written to turn `previous` into `next`: at most one change a table, `filter` first, chains in order of name. */
export function diffRulesets(previous: HeldRuleset, next: Ruleset): readonly ProxyChange[] {
  return tableNames.flatMap((table) => diffTable(table, previous[table], next[table]))
}

/** Returns what the kernel holds after `changes` were written over `ruleset`. */
export function applyChanges(ruleset: Ruleset, changes: readonly TableChange[]): Ruleset {
  const tables = { nat: new Map(ruleset.nat), filter: new Map(ruleset.filter) }
  applyTo(tables, changes)
  return tables
}

function applyTo(tables: Record<ProxyTable, Map<string, Chain>>, changes: readonly TableChange[]): void {
  for (const { table, set, remove, drop = [] } of changes) {
    if (table === 'mangle') throw new Error('the proxy has no rules in mangle')
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
}

/** The rules of all Services, and the tables that result from all its changes. */
export class TestRuleset {
  readonly #rules: ProxyRuleset
  readonly #tables = { nat: new Map<string, Chain>(), filter: new Map<string, Chain>() }

  constructor(settings: ProxyRuleSettings, limits?: DispatchLimits) {
    this.#rules = new ProxyRuleset(settings, limits)
  }

  update(services: ReadonlyMap<ObjectKey, ServiceRules | undefined>): readonly TableChange[] {
    const changes = this.#rules.update(services)
    applyTo(this.#tables, changes)
    return changes
  }

  configure(settings: ProxyRuleSettings): void {
    this.#rules.configure(settings)
  }

  sets(): AddressSets {
    return this.#rules.sets()
  }

  /** A live view. */
  ruleset(): Ruleset {
    return this.#tables
  }
}

/** Makes the kernel hold exactly `full`. */
export function writeRuleset(
  writer: RulesWriter,
  full: Ruleset,
  objects: XorHash,
  sets?: AddressSets,
): Promise<WriteReport> {
  return writer.sync(diffRulesets(writer.wanted, full), objects, sets)
}

/** The input of one `iptables-restore --noflush` for these changes. */
export function renderRestore(changes: readonly TableChange[], family: IpFamily = 'IPv4'): string {
  return [...renderRestoreInParts(changes, family)].join('')
}

/** The hash that PLAT-STATE holds of a table with these chains. */
export function hashTable(chains: ReadonlyMap<string, Chain>): XorHash {
  let hash = emptyXorHash
  for (const [name, chain] of chains) if (name !== stateChain) hash = addHash(hash, hashChain(name, chain))
  return hash
}

function diffTable(
  table: ProxyTable,
  previous: ReadonlyMap<string, SavedChain>,
  next: ReadonlyMap<string, Chain>,
): readonly ProxyChange[] {
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
