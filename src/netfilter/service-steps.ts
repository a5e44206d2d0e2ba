import type { DispatchRules, ServiceRules } from './lower-service.ts'
import { equalChains } from './parse.ts'
import { renderRuleSpec } from './render.ts'
import type { Chain } from './ruleset.ts'
import { orderByTargets } from './target-order.ts'

export const noServiceRules: ServiceRules = {
  chains: new Map(),
  sets: new Map(),
  dispatch: { natServices: [], natNodePorts: [], filterServices: [], filterExternal: [], filterNodePorts: [] },
}

/** Cost factor of a line in a chain that is in use: the kernel also removes its old rules, and iptables-nft reads the chain first. */
const costOfLiveLine = 4

/** How many lines of a restore a change of one Service takes, about: one for each chain that differs, and for each of its rules. */
export function countLines(before: ServiceRules, after: ServiceRules): number {
  const written = changedChains(before, after).reduce((sum, name) => sum + linesToWrite(before, after, name), 0)
  const gone = before.chains.keys().reduce((sum, name) => sum + (after.chains.has(name) ? 0 : linesOf(before, name)), 0)
  return written + gone + dispatchLines(before.dispatch, after.dispatch)
}

/**
 * The rules of a Service on the way from one state to another, each step a change of about `maxLines()` lines, the last one `after` itself. No packet
 * meets half of anything: first come chains that nothing leads to yet, each after those it jumps to; then the verdicts in filter that are new, with
 * the chains that change, each whole; then everything that leads to them; chains that are no longer wanted go last. A chain that is longer is a step by itself.
 */
export function* stepsBetween(
  before: ServiceRules,
  after: ServiceRules,
  maxLines: () => number,
): Generator<ServiceRules, void> {
  const gone = new Map([...before.chains].filter(([name]) => !after.chains.has(name)))
  const chains = new Map(before.chains)
  const put = (name: string) => chains.set(name, after.chains.get(name) ?? [])
  const at = (dispatch: DispatchRules): ServiceRules => ({
    chains: new Map(chains),
    sets: setsOf(chains, before, after),
    dispatch,
  })
  const fresh = new Map([...after.chains].filter(([name]) => !before.chains.has(name)))
  for (const names of pieces(orderByTargets(fresh), (name) => linesOf(after, name), maxLines)) {
    for (const name of names) put(name)
    yield at(before.dispatch)
  }
  const gained = gainVerdicts(before.dispatch, after.dispatch)
  const changed = changedChains(before, after).filter((name) => before.chains.has(name))
  for (const names of pieces(changed, (name) => linesToWrite(before, after, name), maxLines)) {
    for (const name of names) put(name)
    yield at(gained)
  }
  const last = pieces(orderByTargets(gone).reverse(), (name) => linesOf(before, name), maxLines)
  if (gone.size > 0 && !sameDispatch(before.dispatch, after.dispatch)) yield at(after.dispatch)
  for (const names of last) {
    for (const name of names) chains.delete(name)
    if (chains.size > after.chains.size) yield at(after.dispatch)
  }
  yield after
}

/** Names of chains that `after` has and `before` has not, or otherwise. */
function changedChains(before: ServiceRules, after: ServiceRules): readonly string[] {
  return Array.from(after.chains)
    .filter(([name, chain]) => !equalChains(before.chains.get(name) ?? [{ unparsed: '' }], chain))
    .map(([name]) => name)
}

function linesOf({ chains }: ServiceRules, name: string): number {
  return 1 + (chains.get(name)?.length ?? 0)
}

function linesToWrite(before: ServiceRules, after: ServiceRules, name: string): number {
  return linesOf(after, name) * (before.chains.has(name) ? costOfLiveLine : 1)
}

function sameDispatch(before: DispatchRules, after: DispatchRules): boolean {
  return (Object.keys(after) as (keyof DispatchRules)[]).every((part) => equalChains(before[part], after[part]))
}

function dispatchLines(before: DispatchRules, after: DispatchRules): number {
  const parts = Object.keys(after) as (keyof DispatchRules)[]
  return parts.reduce((sum, part) => sum + (equalChains(before[part], after[part]) ? 0 : after[part].length), 0)
}

/** A set stands before the chain of its name and goes after it. */
function setsOf(chains: ReadonlyMap<string, Chain>, before: ServiceRules, after: ServiceRules): ServiceRules['sets'] {
  if (before.sets.size === 0 && after.sets.size === 0) return after.sets
  const all = new Map([...before.sets, ...after.sets])
  return new Map([...all].filter(([name]) => chains.has(name)))
}

/** Each verdict decides by itself, on what no rule of nat translates: more of them change nothing as long as nat leads to the chains. */
function gainVerdicts(before: DispatchRules, after: DispatchRules): DispatchRules {
  const unite = (held: Chain, next: Chain): Chain => {
    const known = new Set(held.map((rule) => renderRuleSpec(rule)))
    return [...held, ...next.filter((rule) => !known.has(renderRuleSpec(rule)))]
  }
  return {
    ...before,
    filterServices: unite(before.filterServices, after.filterServices),
    filterExternal: unite(before.filterExternal, after.filterExternal),
    filterNodePorts: unite(before.filterNodePorts, after.filterNodePorts),
  }
}

/** Asked for its size before each piece, as what comes first may say how large the next may be. */
function* pieces(
  names: readonly string[],
  linesOfName: (name: string) => number,
  maxLines: () => number,
): Generator<readonly string[], void> {
  let piece: string[] = []
  let lines = 0
  let limit = maxLines()
  for (const name of names) {
    const more = linesOfName(name)
    if (piece.length > 0 && lines + more > limit) {
      yield piece
      piece = []
      lines = 0
      limit = maxLines()
    }
    piece.push(name)
    lines += more
  }
  if (piece.length > 0) yield piece
}
