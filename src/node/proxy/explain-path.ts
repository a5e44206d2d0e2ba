import {
  type BaseChain,
  evaluateBaseChain,
  type FilterHook,
  type ForeignVerdict,
} from '../../netfilter/foreign-path.ts'
import { type Neighbour, ownerOf } from '../../netfilter/neighbours.ts'
import type { TracedPacket, TracedWorld, TraceOutcome } from '../../netfilter/trace/types.ts'

/**
 * The verdict of chains of other programs, and of the policies of built-in chains, on a packet that our rules accept.
 */
export interface ForeignOutcome {
  /** The outcome's own where nothing of others refuses it. */
  readonly verdict: TraceOutcome['verdict']
  /** In sentences; empty where others have no say. */
  readonly lines: readonly string[]
}

const maxNamedRules = 3

export function applyForeignChains(
  outcome: TraceOutcome,
  packet: TracedPacket,
  context: TracedWorld,
  chains: readonly BaseChain[],
): ForeignOutcome {
  if (outcome.verdict !== 'accept') return { verdict: outcome.verdict, lines: [] }
  const { endpoint, goesTo, rules } = outcome
  const translated = endpoint && { destination: endpoint.address, port: endpoint.port }
  const translatedPacket = { ...packet, ...translated, mark: 0, isTranslated: endpoint !== undefined }
  const isAcceptedByUs = rules.some(({ table, rule }) => table === 'filter' && rule.target?.kind === 'accept')
  const hooks = hooksOf(packet, goesTo)
  const met = chains
    .filter(({ hook }) => hooks.includes(hook))
    .map((chain) => evaluateBaseChain(chain, translatedPacket, context, isAcceptedByUs))
  const refusing = met.find(({ verdict }) => verdict !== 'accept')
  const base = chains.find(({ where }) => where === refusing?.where)
  return {
    verdict: refusing?.verdict ?? outcome.verdict,
    lines: [
      ...met.flatMap(describeUnclear),
      ...(refusing === undefined ? [] : [describeRefusal(refusing, base && ownerOf(base, refusing.chain))]),
    ],
  }
}

function hooksOf({ origin }: TracedPacket, goesTo: TraceOutcome['goesTo']): readonly FilterHook[] {
  const last: FilterHook[] = goesTo === 'this-node' ? ['INPUT'] : origin === 'this-node' ? [] : ['FORWARD']
  return origin === 'this-node' ? ['OUTPUT', ...last] : last
}

function describeRefusal({ where, verdict, by }: ForeignVerdict, owner?: Neighbour): string {
  const what = verdict === 'drop' ? 'dropped without an answer' : 'refused'
  const whose =
    owner === undefined
      ? ''
      : ` It is a rule of ${owner}: platnet check names the command that lets pods' traffic pass.`
  return `  There it is ${what} by ${where}: ${by}. It does not belong to Platnet.${whose}`
}

function describeUnclear({ where, unclear }: ForeignVerdict): readonly string[] {
  if (unclear.length === 0) return []
  const named = unclear.slice(0, maxNamedRules).map((rule) => `"${rule}"`)
  const more = unclear.length > maxNamedRules ? ` and ${unclear.length - maxNamedRules} more` : ''
  return [`  Rules of other programs in ${where} may decide otherwise: ${named.join(', ')}${more}.`]
}
