import { isDispatchChain } from './dispatch.ts'
import { renderRuleSpec } from './render.ts'
import type { Chain, Ruleset, TableChange } from './ruleset.ts'
import { stateChain } from './state-chain.ts'

/**
 * Splits one set of changes into commits of a single restore so that no packet leaves with a Service's address untranslated:
 * filter first gains its new verdicts and keeps the old ones, then nat changes, then filter loses what it no longer needs
 * (measured: with the last two swapped, packets to a Service that just got endpoints pass both tables untouched).
 *
 * @param applied what the kernel holds now
 * @param changes at most one a table, as `diffRulesets` gives them
 */
export function orderCommits(applied: Ruleset, changes: readonly TableChange[]): readonly TableChange[] {
  const filter = changes.find((change) => change.table === 'filter')
  const nat = changes.find((change) => change.table === 'nat')
  if (filter === undefined || nat === undefined) return changes
  const gained = gainFirst(applied, filter)
  const lost = loseLast(filter, gained)
  const isFinal = lost.remove.length === 0 && [...lost.set.keys()].every((name) => name === stateChain)
  return isFinal
    ? [filter, nat]
    : [gained, nat, lost].filter((change) => change.set.size > 0 || change.remove.length > 0)
}

/**
 * Every chain that only needs writing once, and the chains whose verdicts stand in for missing nat rules with the rules of
 * both versions where that adds any: each of those rules decides by itself.
 */
function gainFirst(applied: Ruleset, filter: TableChange): TableChange {
  const set = new Map<string, Chain>()
  for (const [name, next] of filter.set) {
    const held = applied.filter.get(name)
    if (name === stateChain) continue
    if (held === undefined || !isDispatchChain(name) || includesAll(next, held)) set.set(name, next)
    else if (!includesAll(held, next)) set.set(name, unite(next, held))
  }
  return { table: 'filter', set, remove: [] }
}

/** The rest. The stamp stands in the last commit of its table: it describes the final rules. */
function loseLast(filter: TableChange, gained: TableChange): TableChange {
  const set = new Map([...filter.set].filter(([name, chain]) => gained.set.get(name) !== chain))
  return { table: 'filter', set, remove: filter.remove }
}

/** Merges two versions of a chain, by the text of rules: these chains may hold a rule for every Service. */
function unite(next: Chain, held: Chain): Chain {
  const known = textsOf(next)
  return [...next, ...held.filter((rule) => !known.has(renderRuleSpec(rule)))]
}

function includesAll(outer: Chain, inner: Chain): boolean {
  return textsOf(inner).isSubsetOf(textsOf(outer))
}

function textsOf(chain: Chain): ReadonlySet<string> {
  return new Set(chain.map((rule) => renderRuleSpec(rule)))
}
