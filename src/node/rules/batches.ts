import { orderCommits } from '../../netfilter/commit-order.ts'
import { isServiceChain } from '../../netfilter/names.ts'
import type { SavedChain } from '../../netfilter/parse.ts'
import { removalsAhead } from '../../netfilter/removals-ahead.ts'
import type { Chain, TableChange, TableName } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import { orderByTargets } from '../../netfilter/target-order.ts'
import type { RulesError } from './errors.ts'
import type { Flavour } from './iptables.ts'
import type { WantedTable } from './wanted-table.ts'

/** How large changes are cut. A chain takes one line, and one for each of its rules. */
export interface BatchSize {
  readonly linesPerCommit: number
  readonly commitsPerRestore: number
  /** With so many chains in nat, endpoints that go leave in a commit ahead of the others. */
  readonly removalsAheadFrom: number
}

/**
 * iptables-nft takes more than linear time for what stands in one transaction (docs/measurements/proxy.md: 10 s for 5,000 Services at once,
 * 1.2 s in batches), and starting it costs as much as a thousand lines. iptables-legacy copies the table with every commit.
 * A rule that is added makes the kernel follow all jumps of its table, some 1 ms for a thousand chains; one that goes does not. What is added right
 * after that waits until no packet can be at the old rules any more, some 10 ms.
 */
export const batchSizes: Readonly<Record<Flavour, BatchSize>> = {
  nft: { linesPerCommit: 2_000, commitsPerRestore: 16, removalsAheadFrom: 20_000 },
  legacy: { linesPerCommit: 16_000, commitsPerRestore: 1, removalsAheadFrom: Number.POSITIVE_INFINITY },
}

/** The restores that make these changes (one a table at most), each of some commits. */
export function splitIntoRestores(
  changes: readonly TableChange[],
  tables: Readonly<Partial<Record<TableName, WantedTable>>>,
  batches: BatchSize,
): readonly (readonly TableChange[])[] {
  const split = changes.map((change) =>
    splitChange(change, (chain) => tables[change.table]?.heldBefore(chain), batches.linesPerCommit),
  )
  const main = split.map((each) => each.main).filter(({ set, remove }) => set.size > 0 || remove.length > 0)
  const isCut = split.some(({ middle }) => middle.length > 0)
  const ahead = isCut ? [] : planRemovalsAhead(main, tables.nat, batches)
  return planRestores(split, [...ahead, ...inCommitOrder(main, tables.filter)], batches.commitsPerRestore)
}

function inCommitOrder(changes: readonly TableChange[], table: WantedTable | undefined): readonly TableChange[] {
  const filter = changes.find((change) => change.table === 'filter')
  const held = [...(filter?.set.keys() ?? [])].map((name) => [name, table?.knownBefore(name) ?? []] as const)
  return orderCommits({ nat: new Map(), filter: new Map(held) }, changes)
}

/**
 * A large change in several commits. First the chains that the kernel does not have, which nothing can refer
 * to yet, each after those it jumps to; then chains of single Services that change, each whole; then, in one commit, what
 * all Services share; chains that are no longer wanted last, each before those it jumps to.
 */
export interface SplitChange {
  readonly before: readonly TableChange[]
  /** Filter gains its verdicts before these and loses them after. */
  readonly middle: readonly TableChange[]
  readonly main: TableChange
  readonly after: readonly TableChange[]
}

export function splitChange(
  change: TableChange,
  heldBefore: (chain: string) => SavedChain | undefined,
  linesPerCommit: number,
): SplitChange {
  const { table } = change
  const held = heldOf(change.remove, heldBefore)
  const isNew = ([name]: readonly [string, Chain]) => name !== stateChain && heldBefore(name) === undefined
  const fresh = new Map([...change.set].filter(isNew))
  const rest = new Map([...change.set].filter((entry) => !isNew(entry)))
  const inBetween = countLines(rest) > linesPerCommit ? [...rest.keys()].filter(isServiceChain) : []
  // What these lead to has to stand before them, and what they led to may go only after.
  const isApart = (chains: ReadonlyMap<string, SavedChain>) =>
    countLines(chains) > linesPerCommit || inBetween.length > 0
  const early = isApart(fresh) ? orderByTargets(fresh) : []
  const late = isApart(held) ? orderByTargets(held).reverse() : []
  const isElsewhere = new Set([...early, ...inBetween])
  const commits = (names: readonly string[]) =>
    cut(names, change.set, linesPerCommit).map((piece) => ({
      table,
      set: new Map([...unstamped(change), ...pick(change.set, piece)]),
      remove: [],
    }))
  const main = {
    table,
    set: new Map([...change.set].filter(([name]) => !isElsewhere.has(name))),
    remove: late.length > 0 ? [] : change.remove,
  }
  const after = cut(late, held, linesPerCommit).map((remove) => ({ table, set: new Map(), remove }))
  return { before: commits(early), middle: commits(inBetween), main, after }
}

/** Until the last restore, no stamp must vouch for the table: a program killed in between reads everything when it comes back. */
function unstamped(change: TableChange): readonly (readonly [string, Chain])[] {
  return change.set.has(stateChain) ? [[stateChain, []]] : []
}

/** Each takes iptables-nft 0.15 ms, as it reads the chain: many more go no sooner than all else. */
const maxRemovalsAhead = 200

/** At most one commit, to be made before `changes`. Until those have succeeded no stamp vouches for the table. */
function planRemovalsAhead(
  changes: readonly TableChange[],
  nat: Pick<WantedTable, 'chains' | 'isKnown' | 'heldBefore'> | undefined,
  { removalsAheadFrom }: BatchSize,
): readonly TableChange[] {
  const change = changes.find(({ table }) => table === 'nat')
  if (change === undefined || nat === undefined || nat.chains.size < removalsAheadFrom || !nat.isKnown) return []
  const drop = removalsAhead(change, (chain) => nat.heldBefore(chain))
  const count = drop.values().reduce((sum, rules) => sum + rules.length, 0)
  if (count === 0 || count > maxRemovalsAhead) return []
  return [{ table: 'nat', set: new Map(unstamped(change)), remove: [], drop }]
}

/** Whether a rule that was to go ahead was not there. After a failure nothing goes ahead: its chain is written whole. */
export function isGoneAlready({ line }: RulesError): boolean {
  return line?.text.startsWith('-D ') === true
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

/** The commits of each restore, in order. `main`: those of all tables, as packets may meet them one after the other. */
export function planRestores(
  changes: readonly SplitChange[],
  main: readonly TableChange[],
  commitsPerRestore: number,
): readonly (readonly TableChange[])[] {
  const group = (commits: readonly TableChange[]) =>
    Array.from({ length: Math.ceil(commits.length / commitsPerRestore) }, (_, index) =>
      commits.slice(index * commitsPerRestore, (index + 1) * commitsPerRestore),
    )
  const middle = changes.flatMap((change) => change.middle)
  const gained = Math.max(
    0,
    main.findIndex(({ table }) => table === 'nat'),
  )
  const together = middle.length === 0 ? [main] : [main.slice(0, gained), ...group(middle), main.slice(gained)]
  const all = [
    ...group(changes.flatMap(({ before }) => before)),
    ...together,
    ...group(changes.flatMap(({ after }) => after)),
  ]
  return all.filter((commits) => commits.length > 0)
}
