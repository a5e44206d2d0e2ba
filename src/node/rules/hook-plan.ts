import type { IpFamily } from '../../model/ip.ts'
import { equalRules, type SavedHook, type SavedRule } from '../../netfilter/parse.ts'
import { renderRuleSpec } from '../../netfilter/render.ts'
import type { Hook, TableName } from '../../netfilter/ruleset.ts'

/** A built-in chain whose jumps into our chains are not what and where they should be. */
export interface HookDrift {
  readonly table: TableName
  readonly chain: string
  readonly problem: 'hooks'
}

export interface HookPlan {
  readonly drift: readonly HookDrift[]
  /** Input for one restore; empty where all is well. */
  readonly text: string
}

const builtinChains: readonly string[] = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']

export function isBuiltin(chain: string): boolean {
  return builtinChains.includes(chain)
}

/**
 * Puts our jumps at the top of their built-in chains, in listed order, without duplicates; jumps of ours that are no longer
 * wanted go. Rules are deleted by what they say, never by number: others may change a chain between reading and writing.
 *
 * @param held the hooks of each table as they were read
 */
export function planHooks(
  wanted: readonly Hook[],
  held: Readonly<Partial<Record<TableName, readonly SavedHook[]>>>,
  family: IpFamily,
): HookPlan {
  const drift: HookDrift[] = []
  let text = ''
  for (const table of ['mangle', 'nat', 'filter'] as const) {
    const lines: string[] = []
    for (const chain of builtinChains) {
      const hooks = wanted.filter((hook) => hook.table === table && hook.builtin === chain)
      const found = (held[table] ?? []).filter((hook) => hook.chain === chain)
      if (areInPlace(hooks, found)) continue
      drift.push({ table, chain, problem: 'hooks' })
      lines.push(...found.map(({ rule }) => `-D ${chain} ${specOf(rule, family)}`))
      lines.push(...hooks.map(({ rule }, index) => `-I ${chain} ${index + 1} ${specOf(rule, family)}`))
    }
    if (lines.length > 0) text += `*${table}\n${lines.join('\n')}\nCOMMIT\n`
  }
  return { drift, text }
}

function areInPlace(wanted: readonly Hook[], found: readonly SavedHook[]): boolean {
  return (
    wanted.length === found.length &&
    found.every(
      (hook, index) => hook.foreignBefore === 0 && equalRules(hook.rule, wanted[index]?.rule ?? { unparsed: '' }),
    )
  )
}

function specOf(rule: SavedRule, family: IpFamily): string {
  return 'unparsed' in rule ? rule.unparsed : renderRuleSpec(rule, family)
}
