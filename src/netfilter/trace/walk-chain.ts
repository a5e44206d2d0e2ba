import type { Ip } from '../../model/ip.ts'
import type { Rule, TableName } from '../ruleset.ts'
import { matchRule, type TravellingPacket } from './match-rule.ts'
import type { TracedRule, TraceWorld } from './types.ts'

/** A packet somewhere on its way, and how likely it is that it got there. */
export interface Traveller {
  readonly packet: TravellingPacket
  readonly probability: number
  readonly endpoint?: { readonly address: Ip; readonly port: number }
  readonly masqueraded: boolean
  readonly rules: readonly TracedRule[]
}

/** How a packet leaves a chain: `end` of it without a verdict, or with one. `done` ends the table, not the way. */
export type Exit = 'end' | 'done' | 'drop' | 'reject'

export type Departure = readonly [exit: Exit, traveller: Traveller]

/** All ways through a chain, as the kernel would go them; a chain that does not exist is passed. */
export function walkChain(table: TableName, chain: string, start: Traveller, world: TraceWorld): readonly Departure[] {
  const departures: Departure[] = []
  let present: readonly Traveller[] = [start]
  for (const [index, rule] of (world.ruleset[table].get(chain) ?? []).entries()) {
    const steps = present.flatMap((traveller) =>
      stepRule({ table, chain, position: index + 1, rule }, traveller, world),
    )
    departures.push(...steps.filter((step): step is Departure => step[0] !== 'next'))
    present = steps.filter(([exit]) => exit === 'next').map(([, traveller]) => traveller)
    if (present.length === 0) break
  }
  return [...departures, ...present.map((traveller): Departure => ['end', traveller])]
}

type Step = readonly [exit: Exit | 'next', traveller: Traveller]

function stepRule(at: TracedRule, traveller: Traveller, world: TraceWorld): readonly Step[] {
  const chance = matchRule(at.rule, traveller.packet, world)
  const missed: Step = ['next', { ...traveller, probability: traveller.probability * (1 - chance) }]
  if (chance === 0) return [missed]
  const taken = { ...traveller, probability: traveller.probability * chance, rules: [...traveller.rules, at] }
  return [...applyTarget(at.table, at.rule, taken, world), ...(chance < 1 ? [missed] : [])]
}

function applyTarget(table: TableName, { target }: Rule, traveller: Traveller, world: TraceWorld): readonly Step[] {
  switch (target?.kind) {
    case undefined:
    case 'add-to-set':
      return [['next', traveller]]
    case 'jump':
      return walkChain(table, target.chain, traveller, world).map(([exit, left]) => [
        exit === 'end' ? 'next' : exit,
        left,
      ])
    case 'goto':
      return walkChain(table, target.chain, traveller, world)
    case 'accept':
      return [['done', traveller]]
    case 'drop':
    case 'reject':
      return [[target.kind, traveller]]
    case 'return':
      return [['end', traveller]]
    case 'masquerade':
      return [['done', { ...traveller, masqueraded: true }]]
    case 'mark-or':
      return [['next', withMark(traveller, traveller.packet.mark | target.mask)]]
    case 'mark-xor':
      return [['next', withMark(traveller, traveller.packet.mark ^ target.mask)]]
    case 'dnat':
      return [['done', translate(traveller, { address: target.address, port: target.port })]]
  }
}

function withMark(traveller: Traveller, mark: number): Traveller {
  return { ...traveller, packet: { ...traveller.packet, mark: mark >>> 0 } }
}

function translate(traveller: Traveller, endpoint: { readonly address: Ip; readonly port: number }): Traveller {
  const { address: destination, port } = endpoint
  return { ...traveller, endpoint, packet: { ...traveller.packet, destination, port, isTranslated: true } }
}
