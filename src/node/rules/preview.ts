import type { IpFamily } from '../../model/ip.ts'
import { equalChains, type SavedChain, type SavedTables } from '../../netfilter/parse.ts'
import { renderRuleSpec } from '../../netfilter/render.ts'
import type { Chain, Hook, TableName } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import { planHooks } from './hook-plan.ts'
import { hooksOf } from './read-kernel.ts'
import type { WantedChains } from './wanted-rules.ts'

/** One chain of the kernel, or one set, that is not as it should be; rules as `iptables-save` prints them, without the chain. */
export interface ChainDifference {
  /** `ipset` and `nftables` for a set: its lines are members. */
  readonly table: TableName | 'ipset' | 'nftables'
  readonly chain: string
  readonly problem: 'missing' | 'different' | 'unwanted' | 'hooks'
  readonly wanted: readonly string[]
  readonly found: readonly string[]
}

/** Returns the changes that a write would make. PLAT-STATE is left out, because it follows from the other chains. */
export function previewChanges(
  wanted: WantedChains,
  held: SavedTables,
  hooks: readonly Hook[],
  { family, tables }: { readonly family: IpFamily; readonly tables: readonly TableName[] },
): readonly ChainDifference[] {
  const chains = tables.flatMap((table) => compareTable(table, wanted[table] ?? new Map(), held[table].chains, family))
  const heldHooks = hooksOf(held)
  const misplaced = planHooks(hooks, heldHooks, family).drift.map(({ table, chain, problem }) => ({
    table,
    chain,
    problem,
    wanted: hooks
      .filter((hook) => hook.table === table && hook.builtin === chain)
      .map(({ rule }) => specOf(rule, family)),
    found: heldHooks[table].filter((hook) => hook.chain === chain).map(({ rule }) => specOf(rule, family)),
  }))
  return [...chains, ...misplaced]
}

function compareTable(
  table: TableName,
  wanted: ReadonlyMap<string, Chain>,
  held: ReadonlyMap<string, SavedChain>,
  family: IpFamily,
): readonly ChainDifference[] {
  const names = [...new Set([...wanted.keys(), ...held.keys()])].filter((name) => name !== stateChain).sort()
  return names.flatMap((chain): readonly ChainDifference[] => {
    const [want, have] = [wanted.get(chain), held.get(chain)]
    if (want !== undefined && have !== undefined && equalChains(have, want)) return []
    const problem = have === undefined ? 'missing' : want === undefined ? 'unwanted' : 'different'
    const texts = (rules: SavedChain = []) => rules.map((rule) => specOf(rule, family))
    return [{ table, chain, problem, wanted: texts(want), found: texts(have) }]
  })
}

function specOf(rule: SavedChain[number], family: IpFamily): string {
  return 'unparsed' in rule ? rule.unparsed : renderRuleSpec(rule, family)
}
