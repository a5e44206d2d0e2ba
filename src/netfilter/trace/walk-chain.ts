import type { Ip } from '../../model/ip.ts'
import type { ProxyTable, Rule } from '../ruleset.ts'
import { matchRule, type PacketState } from './match-rule.ts'
import type { TraceContext, TracedRule } from './types.ts'

/** A packet somewhere on its way, and how likely it is that it got there. */
export interface Traversal {
  readonly packet: PacketState
  readonly probability: number
  readonly endpoint?: { readonly address: Ip; readonly port: number }
  readonly masqueraded: boolean
  readonly rules: readonly TracedRule[]
}

/** How a packet leaves a chain: `end` of it without a verdict, or with one. `done` ends the table, not the way. */
type Exit = 'end' | 'done' | 'drop' | 'reject'

export type ChainExit = readonly [exit: Exit, traversal: Traversal]

/** All ways through a chain, as the kernel would go them; a chain that does not exist is passed. */
export function walkChain(
  table: ProxyTable,
  chain: string,
  start: Traversal,
  context: TraceContext,
): readonly ChainExit[] {
  const exits: ChainExit[] = []
  let remaining: readonly Traversal[] = [start]
  for (const [index, rule] of (context.ruleset[table].get(chain) ?? []).entries()) {
    const steps = remaining.flatMap((traversal) =>
      stepRule({ table, chain, position: index + 1, rule }, traversal, context),
    )
    exits.push(...steps.filter((step): step is ChainExit => step[0] !== 'next'))
    remaining = steps.filter(([exit]) => exit === 'next').map(([, traversal]) => traversal)
    if (remaining.length === 0) break
  }
  return [...exits, ...remaining.map((traversal): ChainExit => ['end', traversal])]
}

type Step = readonly [exit: Exit | 'next', traversal: Traversal]

function stepRule(at: TracedRule, traversal: Traversal, context: TraceContext): readonly Step[] {
  const chance = matchRule(at.rule, traversal.packet, context)
  const missed: Step = ['next', { ...traversal, probability: traversal.probability * (1 - chance) }]
  if (chance === 0) return [missed]
  const taken = { ...traversal, probability: traversal.probability * chance, rules: [...traversal.rules, at] }
  return [...applyTarget(at.table, at.rule, taken, context), ...(chance < 1 ? [missed] : [])]
}

function applyTarget(
  table: ProxyTable,
  { target }: Rule,
  traversal: Traversal,
  context: TraceContext,
): readonly Step[] {
  switch (target?.kind) {
    case undefined:
    case 'add-to-set':
      return [['next', traversal]]
    case 'jump':
      return walkChain(table, target.chain, traversal, context).map(([exit, left]) => [
        exit === 'end' ? 'next' : exit,
        left,
      ])
    case 'goto':
      return walkChain(table, target.chain, traversal, context)
    case 'accept':
      return [['done', traversal]]
    case 'drop':
    case 'reject':
      return [[target.kind, traversal]]
    case 'return':
      return [['end', traversal]]
    case 'masquerade':
      return [['done', { ...traversal, masqueraded: true }]]
    case 'mark-or':
      return [['next', withMark(traversal, traversal.packet.mark | target.mask)]]
    case 'mark-xor':
      return [['next', withMark(traversal, traversal.packet.mark ^ target.mask)]]
    case 'dnat':
      return [['done', translate(traversal, { address: target.address, port: target.port })]]
  }
}

function withMark(traversal: Traversal, mark: number): Traversal {
  return { ...traversal, packet: { ...traversal.packet, mark: mark >>> 0 } }
}

function translate(traversal: Traversal, endpoint: { readonly address: Ip; readonly port: number }): Traversal {
  const { address: destination, port } = endpoint
  return { ...traversal, endpoint, packet: { ...traversal.packet, destination, port, isTranslated: true } }
}
