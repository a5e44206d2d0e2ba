import type { SavedChain } from '../../netfilter/parse.ts'
import type { Chain, TableChange } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'

/**
 * Cuts a large change into restores of at most `chainsPerSlice` chains (measured.md: iptables-nft needs 10 s for 5,000
 * Services in one transaction and 1.2 s in slices). First the chains that the kernel does not have, which nothing can refer
 * to yet, each after those it jumps to; then, in one restore of its own, everything that packets meet; chains that are no
 * longer wanted last, each before those it jumps to.
 */
export interface SlicedChange {
  readonly before: readonly TableChange[]
  readonly main: TableChange
  readonly after: readonly TableChange[]
}

export function sliceChange(
  change: TableChange,
  heldBefore: (chain: string) => SavedChain | undefined,
  chainsPerSlice: number,
): SlicedChange {
  const { table } = change
  const isNew = ([name]: readonly [string, Chain]) => name !== stateChain && heldBefore(name) === undefined
  const fresh = new Map([...change.set].filter(isNew))
  const early = fresh.size > chainsPerSlice ? orderByTargets(fresh) : []
  const late = change.remove.length > chainsPerSlice ? orderByTargets(heldOf(change.remove, heldBefore)).reverse() : []
  const isEarly = new Set(early)
  const before = cut(early, chainsPerSlice).map((names) => ({
    table,
    set: new Map([...unstamped(change), ...pick(change.set, names)]),
    remove: [],
  }))
  const main = {
    table,
    set: new Map([...change.set].filter(([name]) => !isEarly.has(name))),
    remove: late.length > 0 ? [] : change.remove,
  }
  const after = cut(late, chainsPerSlice).map((remove) => ({ table, set: new Map(), remove }))
  return { before, main, after }
}

/** Until the last restore, no stamp must vouch for the table: a program killed in between reads everything when it comes back. */
function unstamped(change: TableChange): readonly (readonly [string, Chain])[] {
  return change.set.has(stateChain) ? [[stateChain, []]] : []
}

/** Chain names so that each comes after all that it jumps to. Our chains never form a loop: the kernel would refuse it. */
function orderByTargets(chains: ReadonlyMap<string, SavedChain>): string[] {
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

function heldOf(names: readonly string[], held: (chain: string) => SavedChain | undefined): Map<string, SavedChain> {
  return new Map(names.map((name) => [name, held(name) ?? []]))
}

function pick(chains: ReadonlyMap<string, Chain>, names: readonly string[]): readonly (readonly [string, Chain])[] {
  return names.map((name) => [name, chains.get(name) ?? []])
}

function cut(names: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, index) =>
    names.slice(index * size, (index + 1) * size),
  )
}
