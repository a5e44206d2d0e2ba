import type { Ip } from '../../model/ip.ts'
import type { PolicyPod } from '../../model/network-policy.ts'
import type { PolicyEvaluator } from './evaluate.ts'
import type { DeniedByPolicies, Direction, DirectionVerdict, Flow, FlowEnd, Verdict } from './verdict.ts'

/** The verdict about one flow, also in sentences. */
export interface PolicyExplanation {
  /** Whether no direction that is judged denies it. */
  readonly isAllowed: boolean
  readonly verdict: Verdict
  /** The nodes that enforce the verdict of a direction, as far as a pod is judged there and its node is known. */
  readonly nodes: Readonly<Partial<Record<Direction, string>>>
  /** The directions that are not judged, because it is not known whose address their end is. */
  readonly unjudged: readonly Direction[]
  readonly lines: readonly string[]
}

/** The facts about the ends of a flow that an evaluator does not know. */
export interface FlowFacts {
  /** Undefined where the destination sees the source itself. */
  readonly sourceAtDestination?: Ip | undefined
  /** The node of a pod, which enforces what its policies say; undefined where it is not known. */
  nodeOf?(pod: PolicyPod): string | undefined
  /** The node whose own address it is; undefined where it is none. */
  nodeAt?(address: Ip): string | undefined
  /** The reason why it is not known whose address it is; undefined where it is known. */
  whyUnknown?(address: Ip): string | undefined
}

/** Limit of the rules that are named of what denies a flow. */
const maxNamedRules = 12

/** Judges a flow and says which policy and rule allow it, or why none does; once for each direction. */
export function explainPolicy(evaluator: PolicyEvaluator, flow: Flow, facts: FlowFacts = {}): PolicyExplanation {
  const arriving = { ...flow, source: seenSource(flow, facts) }
  const verdict = joinVerdicts(evaluator.judge(flow), evaluator.judge(arriving))
  const sides = [
    describeSide(evaluator, 'egress', verdict, [flow.source, flow.destination], facts),
    describeSide(evaluator, 'ingress', verdict, [flow.destination, arriving.source], facts),
  ]
  const [source, destination] = [describeEnd(evaluator, flow.source), describeEnd(evaluator, flow.destination)]
  const service = flow.protocol === 'other' ? 'protocols without ports' : `${flow.protocol} port ${flow.port}`
  const unjudged = sides.flatMap(({ direction, isJudged }) => (isJudged ? [] : [direction]))
  const scope = verdict.isAllowed && unjudged.length > 0 ? ', as far as they could be judged' : ''
  return {
    isAllowed: verdict.isAllowed,
    verdict,
    nodes: Object.fromEntries(sides.flatMap(({ direction, node }) => (node === undefined ? [] : [[direction, node]]))),
    unjudged,
    lines: [
      `Network policies ${verdict.isAllowed ? 'allow' : 'deny'} ${service} from ${source} to ${destination}${scope}.`,
      ...sides.flatMap(({ lines }) => lines),
    ],
  }
}

function seenSource({ source }: Flow, { sourceAtDestination }: FlowFacts): FlowEnd {
  return sourceAtDestination === undefined ? source : { address: sourceAtDestination }
}

function joinVerdicts({ egress }: Verdict, { ingress }: Verdict): Verdict {
  return { isAllowed: egress.isAllowed && ingress.isAllowed, egress, ingress }
}

interface Side {
  readonly direction: Direction
  readonly isJudged: boolean
  readonly node: string | undefined
  readonly lines: readonly string[]
}

function describeSide(
  evaluator: PolicyEvaluator,
  direction: Direction,
  verdicts: Verdict,
  [own, other]: readonly [FlowEnd, FlowEnd],
  facts: FlowFacts,
): Side {
  const pod = evaluator.podOf(own)
  const node = pod && facts.nodeOf?.(pod)
  const [ownText, otherText] = [describeEnd(evaluator, own), describeEnd(evaluator, other)]
  const bare = pod === undefined ? describeBareAddress(own, facts) : undefined
  const [first = '', ...details] = bare?.lines ?? reasonsOf(direction, verdicts[direction], ownText, otherText)
  const isMasked = direction === 'ingress' && facts.sourceAtDestination !== undefined
  return {
    direction,
    isJudged: bare?.isJudged ?? true,
    node,
    lines: [
      `  ${direction}${node === undefined ? '' : `, on node ${node}`}: ${first}`,
      ...details.map((line) => `    ${line}`),
      ...(isMasked
        ? [`    The packet comes there from ${otherText}, an address of the node that it passes before.`]
        : []),
    ],
  }
}

/** Describes an end that is no pod, as far as more is known of it than that. */
function describeBareAddress({ address }: FlowEnd, { nodeAt, whyUnknown }: FlowFacts) {
  if (address === undefined) return undefined
  const node = nodeAt?.(address)
  if (node !== undefined)
    return { isJudged: true, lines: [`${address} is an address of node ${node}; policies isolate pods only.`] }
  const why = whyUnknown?.(address)
  if (why === undefined) return undefined
  return { isJudged: false, lines: [`not judged: if ${address} is the address of a pod, its node decides; ${why}.`] }
}

/** `pod x/web (10.244.0.7)` or the bare address. */
function describeEnd(evaluator: PolicyEvaluator, end: FlowEnd): string {
  const pod = evaluator.podOf(end)
  if (pod === undefined) return end.address ?? 'an end without an address'
  return end.address === undefined ? `pod ${pod.key}` : `pod ${pod.key} (${end.address})`
}

function reasonsOf(direction: Direction, verdict: DirectionVerdict, own: string, other: string): readonly string[] {
  switch (verdict.reason) {
    case 'no-pod':
      return [`${own} belongs to no pod that is known here; policies isolate pods only.`]
    case 'other-node':
      return [`${own} runs on another node, whose agent judges this direction.`]
    case 'itself':
      return ['a pod always reaches itself.']
    case 'own-node':
      return [`${other} is its node; a node and its own pods always reach each other.`]
    case 'not-isolated':
      return [`no policy isolates ${own} in this direction.`]
    case 'rule':
      return [`policy ${verdict.policy} allows it by ${fieldOf(direction, verdict.rule, verdict.peer)}.`]
    case 'unknown-pod':
      return [`denied: the object of ${own} is not known yet, and the pod is isolated until it is.`]
    case 'no-rule':
      return describeDenial(direction, verdict, own, other)
  }
}

function describeDenial(
  direction: Direction,
  { policies }: DeniedByPolicies,
  own: string,
  other: string,
): readonly string[] {
  const plural = policies.length === 1 ? 'a policy isolates' : `${policies.length} policies isolate`
  const lines = policies.flatMap(({ policy, rules }) =>
    rules.length === 0
      ? [`${policy} has no ${direction} rules.`]
      : rules.map((mismatch, rule) => {
          const field = `${policy} ${fieldOf(direction, rule, undefined)}`
          return mismatch === 'port' ? `${field}: its ports do not match.` : `${field}: no peer matches ${other}.`
        }),
  )
  const more = lines.length - maxNamedRules
  return [
    `denied: ${plural} ${own}, and no rule matches.`,
    ...lines.slice(0, maxNamedRules),
    ...(more > 0 ? [`and ${more} more rules that do not match.`] : []),
  ]
}

/** `spec.ingress[0].from[1]` */
function fieldOf(direction: Direction, rule: number, peer: number | undefined): string {
  const list = direction === 'ingress' ? 'from' : 'to'
  return `spec.${direction}[${rule}]${peer === undefined ? '' : `.${list}[${peer}]`}`
}
