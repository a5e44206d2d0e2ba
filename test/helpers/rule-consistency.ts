import type { Hook, ProxyTable, Rule, Ruleset } from '../../src/netfilter/ruleset.ts'

/** The shared chains may be empty: they stand, whatever Services there are. */
const mayBeEmpty = /^PLAT-(INVALID|FORWARD-PODS|NODEPORTS|SERVICES|EXTERNAL|X?DST-..?.?)$/

/** Everything that is wrong with the ways between chains, in sentences; empty for a sound ruleset. */
export function findInconsistencies(ruleset: Ruleset, hooks: readonly Hook[]): readonly string[] {
  return (['nat', 'filter'] as const).flatMap((table) => [
    ...findBadJumps(ruleset, table, hooks),
    ...findUnusedChains(ruleset, table),
  ])
}

function findBadJumps(ruleset: Ruleset, table: ProxyTable, hooks: readonly Hook[]): readonly string[] {
  const fromHooks = hooks.filter((hook) => hook.table === table).map((hook) => hook.rule)
  return [...fromHooks, ...allRules(ruleset, table)].flatMap((rule) => {
    const chain = destinationOf(rule)
    if (chain === undefined) return []
    const rules = ruleset[table].get(chain)
    if (rules === undefined) return [`${table}: a jump to ${chain}, which does not exist`]
    return rules.length === 0 && !mayBeEmpty.test(chain) ? [`${table}: a jump to ${chain}, which is empty`] : []
  })
}

function findUnusedChains(ruleset: Ruleset, table: ProxyTable): readonly string[] {
  const used = new Set(allRules(ruleset, table).map(destinationOf))
  const perService = [...ruleset[table].keys()].filter((name) => /^PLAT-(SVC|SVL|EXT|FW|SEP)-/.test(name))
  return perService.filter((name) => !used.has(name)).map((name) => `${table}: nothing leads to ${name}`)
}

function allRules(ruleset: Ruleset, table: ProxyTable): readonly Rule[] {
  return [...ruleset[table].values()].flat()
}

function destinationOf(rule: Rule): string | undefined {
  return rule.target?.kind === 'jump' || rule.target?.kind === 'goto' ? rule.target.chain : undefined
}
