import type { SavedChain } from '../../netfilter/parse.ts'
import { removalsAhead } from '../../netfilter/removals-ahead.ts'
import type { Chain, TableChange } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import type { RulesError } from './errors.ts'
import type { Flavour } from './iptables.ts'
import type { WantedTable } from './wanted-table.ts'

/** How large changes are cut. A chain takes one line, and one for each of its rules. */
export interface SliceSize {
  readonly linesPerCommit: number
  readonly commitsPerRestore: number
  /** With so many chains in nat, endpoints that go leave in a commit ahead of the others. */
  readonly removalsAheadFrom: number
}

/**
 * iptables-nft takes more than linear time for what stands in one transaction (measured.md: 10 s for 5,000 Services at once,
 * 1.2 s in slices), and starting it costs as much as a thousand lines. iptables-legacy copies the table with every commit.
 * A rule that is added makes the kernel follow all jumps of its table, some 1 ms for a thousand chains; one that goes does not. What is added right
 * after that waits until no packet can be at the old rules any more, some 10 ms.
 */
export const sliceSizes: Readonly<Record<Flavour, SliceSize>> = {
  nft: { linesPerCommit: 2_000, commitsPerRestore: 16, removalsAheadFrom: 20_000 },
  legacy: { linesPerCommit: 16_000, commitsPerRestore: 1, removalsAheadFrom: Number.POSITIVE_INFINITY },
}

/**
 * A large change in several commits. First the chains that the kernel does not have, which nothing can refer
 * to yet, each after those it jumps to; then, in one commit, everything that packets meet; chains that are no
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
  linesPerCommit: number,
): SlicedChange {
  const { table } = change
  const held = heldOf(change.remove, heldBefore)
  const isNew = ([name]: readonly [string, Chain]) => name !== stateChain && heldBefore(name) === undefined
  const fresh = new Map([...change.set].filter(isNew))
  const early = countLines(fresh) > linesPerCommit ? orderByTargets(fresh) : []
  const late = countLines(held) > linesPerCommit ? orderByTargets(held).reverse() : []
  const isEarly = new Set(early)
  const before = cut(early, fresh, linesPerCommit).map((names) => ({
    table,
    set: new Map([...unstamped(change), ...pick(change.set, names)]),
    remove: [],
  }))
  const main = {
    table,
    set: new Map([...change.set].filter(([name]) => !isEarly.has(name))),
    remove: late.length > 0 ? [] : change.remove,
  }
  const after = cut(late, held, linesPerCommit).map((remove) => ({ table, set: new Map(), remove }))
  return { before, main, after }
}

/** Until the last restore, no stamp must vouch for the table: a program killed in between reads everything when it comes back. */
function unstamped(change: TableChange): readonly (readonly [string, Chain])[] {
  return change.set.has(stateChain) ? [[stateChain, []]] : []
}

/** Each takes iptables-nft 0.15 ms, as it reads the chain: many more go no sooner than all else. */
const maxRemovalsAhead = 200

/** At most one commit, to be made before `changes`. Until those have succeeded no stamp vouches for the table. */
export function planRemovalsAhead(
  changes: readonly TableChange[],
  nat: Pick<WantedTable, 'chains' | 'isKnown' | 'heldBefore'>,
  { removalsAheadFrom }: SliceSize,
): readonly TableChange[] {
  const change = changes.find(({ table }) => table === 'nat')
  if (change === undefined || nat.chains.size < removalsAheadFrom || !nat.isKnown) return []
  const drop = removalsAhead(change, (chain) => nat.heldBefore(chain))
  const count = drop.values().reduce((sum, rules) => sum + rules.length, 0)
  if (count === 0 || count > maxRemovalsAhead) return []
  return [{ table: 'nat', set: new Map(unstamped(change)), remove: [], drop }]
}

/** Whether a rule that was to go ahead was not there. After a failure nothing goes ahead: its chain is written whole. */
export function isGoneAlready({ line }: RulesError): boolean {
  return line?.text.startsWith('-D ') === true
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

function countLines(chains: ReadonlyMap<string, SavedChain>): number {
  return chains.values().reduce((lines, chain) => lines + 1 + chain.length, 0)
}

/** Pieces of at most so many lines; a chain that is longer is a piece by itself. */
function cut(
  names: readonly string[],
  chains: ReadonlyMap<string, SavedChain>,
  maxLines: number,
): readonly (readonly string[])[] {
  const pieces: string[][] = []
  let lines = Number.POSITIVE_INFINITY
  for (const name of names) {
    const more = 1 + (chains.get(name)?.length ?? 0)
    if (lines + more > maxLines) pieces.push([])
    lines = pieces.at(-1)?.length === 0 ? more : lines + more
    pieces.at(-1)?.push(name)
  }
  return pieces
}

/** The commits of each restore, in order. */
export function planRestores(
  changes: readonly SlicedChange[],
  commitsPerRestore: number,
): Readonly<Record<'before' | 'after', readonly (readonly TableChange[])[]>> {
  const group = (commits: readonly TableChange[]) =>
    Array.from({ length: Math.ceil(commits.length / commitsPerRestore) }, (_, index) =>
      commits.slice(index * commitsPerRestore, (index + 1) * commitsPerRestore),
    )
  return { before: group(changes.flatMap(({ before }) => before)), after: group(changes.flatMap(({ after }) => after)) }
}
