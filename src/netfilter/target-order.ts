import type { SavedChain } from './parse.ts'

/** Chain names so that each comes after all that it jumps to. Our chains never form a loop: the kernel would refuse it. */
export function orderByTargets(chains: ReadonlyMap<string, SavedChain>): string[] {
  const ordered = new Set<string>()
  const visit = (name: string, chain: SavedChain): void => {
    for (const target of targetsOf(chain)) {
      const next = ordered.has(target) ? undefined : chains.get(target)
      if (next !== undefined && target !== name) visit(target, next)
    }
    ordered.add(name)
  }
  for (const [name, chain] of chains) if (!ordered.has(name)) visit(name, chain)
  return [...ordered]
}

/** The chains that a chain's rules lead to. */
export function targetsOf(chain: SavedChain): readonly string[] {
  return chain.flatMap((rule) => {
    if ('unparsed' in rule) return / -[jg] (PLAT-\S+)/.exec(` ${rule.unparsed}`)?.slice(1) ?? []
    return rule.target?.kind === 'jump' || rule.target?.kind === 'goto' ? [rule.target.chain] : []
  })
}
