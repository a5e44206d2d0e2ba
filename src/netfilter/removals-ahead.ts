import type { SavedChain } from './parse.ts'
import type { Chain, Rule, TableChange } from './ruleset.ts'

/**
 * Rules that may leave the kernel in a commit ahead of `nat`, chain by chain: those by which a Service's endpoints are chosen that it has no longer.
 * What remains still translates every packet, though not quite in equal shares. A chain is left as it is where its last rule goes, which takes whatever
 * the others did not.
 *
 * @param heldBefore what the kernel holds of a chain
 */
export function removalsAhead(
  nat: TableChange,
  heldBefore: (chain: string) => SavedChain | undefined,
): ReadonlyMap<string, Chain> {
  const rules = [...nat.set].map(([name, next]) => [name, lostChoices(heldBefore(name) ?? [], next)] as const)
  return new Map(rules.filter(([, lost]) => lost.length > 0))
}

function lostChoices(held: SavedChain, next: Chain): Chain {
  const last = held.at(-1)
  if (last === undefined || !takesAll(last)) return []
  const kept = new Set(next.map(jumpOf))
  return kept.has(jumpOf(last)) ? held.filter(isChoice).filter((rule) => !kept.has(jumpOf(rule))) : []
}

/** An endpoint's share, or its clients that come again. */
function isChoice(rule: SavedChain[number]): rule is Rule {
  return !('unparsed' in rule) && rule.target?.kind === 'jump' && rule.matches.some(({ kind }) => choosing.has(kind))
}

const choosing: ReadonlySet<string> = new Set(['statistic', 'recent-check', 'in-set'])

function takesAll(rule: SavedChain[number]): boolean {
  if (!isChoice(rule)) return false
  const [match, ...others] = rule.matches
  return others.length === 0 && match?.kind === 'statistic' && match.probability === 1
}

function jumpOf(rule: SavedChain[number]): string | undefined {
  return !('unparsed' in rule) && rule.target?.kind === 'jump' ? rule.target.chain : undefined
}
