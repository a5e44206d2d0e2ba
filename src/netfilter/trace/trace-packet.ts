import type { Hook, ProxyTable } from '../ruleset.ts'
import { matchRule } from './match-rule.ts'
import type { TraceContext, TracedPacket, TraceOutcome } from './types.ts'
import { type ChainExit, type Traversal, walkChain } from './walk-chain.ts'

/**
 * Where a packet would go by our rules: through the hooks of nat and filter in the order in which the kernel calls them,
 * every way that chance may choose. The verdict is `accept` where none of our rules refuses it.
 */
export function tracePacket(packet: TracedPacket, context: TraceContext): readonly TraceOutcome[] {
  const start: Traversal = {
    packet: { ...packet, mark: 0, isTranslated: false },
    probability: 1,
    masqueraded: false,
    rules: [],
  }
  const isMadeHere = packet.origin === 'this-node'
  if (packet.state !== 'NEW') return finish(start, isMadeHere, context)
  const routed = passHooks(start, 'nat', isMadeHere ? 'OUTPUT' : 'PREROUTING', context)
  return routed.flatMap(([, traversal]) => finish(traversal, isMadeHere, context))
}

function finish(traversal: Traversal, isMadeHere: boolean, context: TraceContext): readonly TraceOutcome[] {
  const goesTo = context.isLocalAddress(traversal.packet.destination) ? 'this-node' : 'elsewhere'
  const isNew = traversal.packet.state === 'NEW'
  const hooks: readonly (readonly [ProxyTable, Hook['builtin']])[] = [
    ...(isMadeHere ? [['filter', 'OUTPUT'] as const] : []),
    ...(!isMadeHere && goesTo === 'elsewhere' ? [['filter', 'FORWARD'] as const] : []),
    ...(isNew && (isMadeHere || goesTo === 'elsewhere') ? [['nat', 'POSTROUTING'] as const] : []),
    ...(goesTo === 'this-node' ? [['filter', 'INPUT'] as const] : []),
  ]
  let remaining: readonly Traversal[] = [traversal]
  const outcomes: TraceOutcome[] = []
  for (const [table, builtin] of hooks) {
    const exits = remaining.flatMap((each) => passHooks(each, table, builtin, context))
    for (const [exit, left] of exits)
      if (exit === 'drop' || exit === 'reject') outcomes.push(describe(left, exit, goesTo))
    remaining = exits.filter(([exit]) => exit === 'end' || exit === 'done').map(([, left]) => left)
  }
  return [...outcomes, ...remaining.map((left) => describe(left, 'accept', goesTo))]
}

/** Our jumps in one built-in chain, one after the other until one of them decides. */
function passHooks(
  start: Traversal,
  table: ProxyTable,
  builtin: Hook['builtin'],
  context: TraceContext,
): readonly ChainExit[] {
  const exits: ChainExit[] = []
  let remaining: readonly Traversal[] = [start]
  for (const { rule } of context.hooks.filter((hook) => hook.table === table && hook.builtin === builtin)) {
    const chain = rule.target?.kind === 'jump' ? rule.target.chain : ''
    const left = remaining.flatMap((each): readonly ChainExit[] =>
      matchRule(rule, each.packet, context) === 0 ? [['end', each]] : walkChain(table, chain, each, context),
    )
    exits.push(...left.filter(([exit]) => exit !== 'end'))
    remaining = left.filter(([exit]) => exit === 'end').map(([, each]) => each)
  }
  return [...exits, ...remaining.map((each): ChainExit => ['end', each])]
}

function describe(
  { probability, endpoint, masqueraded, rules }: Traversal,
  verdict: TraceOutcome['verdict'],
  goesTo: TraceOutcome['goesTo'],
): TraceOutcome {
  return { probability, verdict, ...(endpoint && { endpoint }), masqueraded, goesTo, rules }
}
