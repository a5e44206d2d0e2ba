import type { Hook, TableName } from '../ruleset.ts'
import { matchRule } from './match-rule.ts'
import type { TracedPacket, TraceOutcome, TraceWorld } from './types.ts'
import { type Departure, type Traveller, walkChain } from './walk-chain.ts'

/**
 * Where a packet would go by our rules: through the hooks of nat and filter in the order in which the kernel calls them,
 * every way that chance may choose. The verdict is `accept` where none of our rules refuses it.
 */
export function tracePacket(packet: TracedPacket, world: TraceWorld): readonly TraceOutcome[] {
  const start: Traveller = {
    packet: { ...packet, mark: 0, isTranslated: false },
    probability: 1,
    masqueraded: false,
    rules: [],
  }
  const isMadeHere = packet.origin === 'this-node'
  if (packet.state !== 'NEW') return finish(start, isMadeHere, world)
  const routed = passHooks(start, 'nat', isMadeHere ? 'OUTPUT' : 'PREROUTING', world)
  return routed.flatMap(([, traveller]) => finish(traveller, isMadeHere, world))
}

function finish(traveller: Traveller, isMadeHere: boolean, world: TraceWorld): readonly TraceOutcome[] {
  const goesTo = world.isLocalAddress(traveller.packet.destination) ? 'this-node' : 'elsewhere'
  const isNew = traveller.packet.state === 'NEW'
  const hooks: readonly (readonly [TableName, Hook['builtin']])[] = [
    ...(isMadeHere ? [['filter', 'OUTPUT'] as const] : []),
    ...(!isMadeHere && goesTo === 'elsewhere' ? [['filter', 'FORWARD'] as const] : []),
    ...(isNew && (isMadeHere || goesTo === 'elsewhere') ? [['nat', 'POSTROUTING'] as const] : []),
    ...(goesTo === 'this-node' ? [['filter', 'INPUT'] as const] : []),
  ]
  let present: readonly Traveller[] = [traveller]
  const outcomes: TraceOutcome[] = []
  for (const [table, builtin] of hooks) {
    const departures = present.flatMap((each) => passHooks(each, table, builtin, world))
    for (const [exit, left] of departures)
      if (exit === 'drop' || exit === 'reject') outcomes.push(describe(left, exit, goesTo))
    present = departures.filter(([exit]) => exit === 'end' || exit === 'done').map(([, left]) => left)
  }
  return [...outcomes, ...present.map((left) => describe(left, 'accept', goesTo))]
}

/** Our jumps in one built-in chain, one after the other until one of them decides. */
function passHooks(
  start: Traveller,
  table: TableName,
  builtin: Hook['builtin'],
  world: TraceWorld,
): readonly Departure[] {
  const departures: Departure[] = []
  let present: readonly Traveller[] = [start]
  for (const { rule } of world.hooks.filter((hook) => hook.table === table && hook.builtin === builtin)) {
    const chain = rule.target?.kind === 'jump' ? rule.target.chain : ''
    const left = present.flatMap((each): readonly Departure[] =>
      matchRule(rule, each.packet, world) === 0 ? [['end', each]] : walkChain(table, chain, each, world),
    )
    departures.push(...left.filter(([exit]) => exit !== 'end'))
    present = left.filter(([exit]) => exit === 'end').map(([, each]) => each)
  }
  return [...departures, ...present.map((each): Departure => ['end', each])]
}

function describe(
  { probability, endpoint, masqueraded, rules }: Traveller,
  verdict: TraceOutcome['verdict'],
  goesTo: TraceOutcome['goesTo'],
): TraceOutcome {
  return { probability, verdict, ...(endpoint && { endpoint }), masqueraded, goesTo, rules }
}
