import type { PolicyEvaluator } from './evaluate.ts'
import type { DeniedByPolicies, Direction, DirectionVerdict, Flow, FlowEnd, Verdict } from './verdict.ts'

/** The verdict about one flow, also in sentences. */
export interface PolicyExplanation {
  readonly isAllowed: boolean
  readonly verdict: Verdict
  readonly lines: readonly string[]
}

/** Limit of the rules that are named of what denies a flow. */
const maxNamedRules = 12

/** Judges a flow and says which policy and rule allow it, or why none does; once for each direction. */
export function explainPolicy(evaluator: PolicyEvaluator, flow: Flow): PolicyExplanation {
  const verdict = evaluator.judge(flow)
  const [source, destination] = [describeEnd(evaluator, flow.source), describeEnd(evaluator, flow.destination)]
  const service = flow.protocol === 'other' ? 'protocols without ports' : `${flow.protocol} port ${flow.port}`
  const outcome = verdict.isAllowed ? 'allow' : 'deny'
  return {
    isAllowed: verdict.isAllowed,
    verdict,
    lines: [
      `Network policies ${outcome} ${service} from ${source} to ${destination}.`,
      ...describeDirection('egress', verdict.egress, source, destination),
      ...describeDirection('ingress', verdict.ingress, destination, source),
    ],
  }
}

/** `pod x/web (10.244.0.7)` or the bare address. */
function describeEnd(evaluator: PolicyEvaluator, end: FlowEnd): string {
  const pod = evaluator.podOf(end)
  if (pod === undefined) return end.address ?? 'an end without an address'
  return end.address === undefined ? `pod ${pod.key}` : `pod ${pod.key} (${end.address})`
}

function describeDirection(
  direction: Direction,
  verdict: DirectionVerdict,
  own: string,
  other: string,
): readonly string[] {
  const [first = '', ...details] = reasonsOf(direction, verdict, own, other)
  return [`  ${direction}: ${first}`, ...details.map((line) => `    ${line}`)]
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
      return [`${other} is this node; a node and its own pods always reach each other.`]
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
