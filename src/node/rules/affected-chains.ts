import type { TableName } from '../../netfilter/ruleset.ts'
import { isBuiltin } from './hook-plan.ts'
import type { SeenCommit } from './own-commits.ts'

export function isOurChain(name: string): boolean {
  return name.startsWith('PLAT-')
}

/** The chains of these commits in these tables that concern us; undefined where a whole table went. */
export function affectedChains(
  commits: readonly SeenCommit[],
  tables: readonly TableName[],
): ReadonlyMap<TableName, ReadonlySet<string>> | undefined {
  const affected = new Map(tables.map((name) => [name, new Set<string>()]))
  for (const { table, chain } of commits.flatMap(({ changes }) => changes)) {
    const ours = tables.find((name) => name === table)
    const chains = ours && affected.get(ours)
    if (chains === undefined) continue
    if (chain === undefined) return undefined
    if (isOurChain(chain) || isBuiltin(chain)) chains.add(chain)
  }
  return affected
}
