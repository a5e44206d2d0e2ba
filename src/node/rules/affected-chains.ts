import type { TableName } from '../../netfilter/ruleset.ts'
import { isBuiltin } from './hook-plan.ts'
import type { SeenCommit } from './own-commits.ts'

export function isOurChain(name: string): boolean {
  return name.startsWith('PLAT-')
}

/** The chains of these commits that concern us; undefined where a whole table went. */
export function affectedChains(
  commits: readonly SeenCommit[],
): Readonly<Record<TableName, ReadonlySet<string>>> | undefined {
  const affected = { nat: new Set<string>(), filter: new Set<string>() }
  for (const { table, chain } of commits.flatMap(({ changes }) => changes)) {
    if (table !== 'nat' && table !== 'filter') continue
    if (chain === undefined) return undefined
    if (isOurChain(chain) || isBuiltin(chain)) affected[table].add(chain)
  }
  return affected
}
