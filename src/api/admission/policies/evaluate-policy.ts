import type { Stages } from '../../../loop/time-slice.ts'
import { OutOfBudget, PolicyEvaluation, type PolicyInput } from '../../cel/admission/evaluate-policy-expression.ts'
import { CelError, type Value } from '../../cel/values/values.ts'
import { evaluateExpression, evaluateMatchConditions, matchConditionBudget } from '../match-conditions.ts'
import type { CompiledPolicy, CompiledValidation } from './policy.ts'

/** The cost that the expressions of a policy may have together for one request and one parameter, as in Kubernetes. */
const budget = 10_000_000
const maxMessageBytes = 5 * 1024

/** A validation that a request does not pass, or that cannot be evaluated. */
export interface Failure {
  /** The index of the validation; 0 for an error of the whole policy. */
  readonly index: number
  readonly message: string
  /** The reason of the Status; `""` for none. */
  readonly reason: string
}

export interface PolicyResult {
  readonly failures: readonly Failure[]
  readonly annotations: readonly { readonly key: string; readonly value: string }[]
  /** Errors of audit annotations, which deny the request. */
  readonly annotationErrors: readonly string[]
}

type Expression = Parameters<typeof evaluateExpression>[0]

const nothing: PolicyResult = { failures: [], annotations: [], annotationErrors: [] }

/**
 * Evaluates a policy for a request that it matches, and one parameter; may pause after each expression. Errors count by
 * the failure policy.
 */
export function* evaluatePolicy(policy: CompiledPolicy, input: PolicyInput): Stages<PolicyResult> {
  const failed = (message: string) =>
    policy.isIgnoringFailures ? nothing : { ...nothing, failures: [{ index: 0, message, reason: '' }] }
  const conditions = policy.matchConditions.length === 0 ? { kind: 'match' as const } : meets(policy, input)
  if (conditions.kind === 'no-match') return nothing
  if (conditions.kind === 'error') return failed(conditions.message)
  try {
    const failures = yield* findFailures(policy, input)
    return { failures, ...(yield* annotate(policy, input)) }
  } catch (thrown) {
    if (thrown instanceof OutOfBudget) return failed(thrown.message)
    throw thrown
  }
}

/** Evaluates the match conditions, for which a policy has no `namespaceObject`. */
function meets({ matchConditions, variables }: CompiledPolicy, input: PolicyInput) {
  const evaluation = new PolicyEvaluation({ ...input, namespaceObject: null }, variables, matchConditionBudget)
  return evaluateMatchConditions(matchConditions, evaluation)
}

/** Evaluates expressions one after the other. Throws OutOfBudget. */
function* evaluateAll(expressions: readonly Expression[], evaluation: PolicyEvaluation): Stages<readonly Value[]> {
  const results: Value[] = []
  for (const expression of expressions) {
    results.push(evaluateExpression(expression, evaluation))
    yield
  }
  return results
}

function* findFailures(policy: CompiledPolicy, input: PolicyInput): Stages<readonly Failure[]> {
  const evaluation = new PolicyEvaluation(input, policy.variables, budget)
  const results = yield* evaluateAll(policy.validations, evaluation)
  const messages = new PolicyEvaluation(input, policy.variables, evaluation.budget)
  return results.flatMap((result, index) => {
    const validation = policy.validations[index]
    if (result === true || validation === undefined) return []
    if (!(result instanceof CelError)) return [{ index, ...describe(validation, messages, policy) }].filter(isDenial)
    return policy.isIgnoringFailures ? [] : [{ index, message: result.message, reason: '' }]
  })
}

function isDenial({ message }: Failure): boolean {
  return message !== ''
}

/** Describes a validation that does not hold; an empty message where the message costs too much and failures are ignored. */
function describe(
  { expression, message, messageExpression, reason }: CompiledValidation,
  messages: PolicyEvaluation,
  { isIgnoringFailures }: CompiledPolicy,
): Omit<Failure, 'index'> {
  try {
    const made = messageExpression === undefined ? '' : messageIn(evaluateMessage(messageExpression, messages))
    return { message: made || message.trim() || `failed expression: ${expression.trim()}`, reason: reason || 'Invalid' }
  } catch (thrown) {
    if (!(thrown instanceof OutOfBudget)) throw thrown
    return { message: isIgnoringFailures ? '' : `failed messageExpression: ${thrown.message}`, reason: '' }
  }
}

function evaluateMessage(compiled: NonNullable<CompiledValidation['messageExpression']>, evaluation: PolicyEvaluation) {
  return evaluateExpression({ expression: '', compiled }, evaluation)
}

/** Returns the text of a message; `""` where the result cannot be shown. */
function messageIn(value: Value): string {
  const text = typeof value === 'string' ? value.trim() : ''
  return text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? '' : text
}

function* annotate(
  { auditAnnotations, variables, isIgnoringFailures }: CompiledPolicy,
  input: PolicyInput,
): Stages<Omit<PolicyResult, 'failures'>> {
  const results = yield* evaluateAll(auditAnnotations, new PolicyEvaluation(input, variables, budget))
  const annotations = auditAnnotations.flatMap(({ key }, index) => {
    const result = results[index]
    const value = typeof result === 'string' ? result.trim() : ''
    return value === '' ? [] : [{ key, value }]
  })
  const errors = results.flatMap((result) => (result instanceof CelError ? [result.message] : []))
  return { annotations, annotationErrors: isIgnoringFailures ? [] : errors }
}
