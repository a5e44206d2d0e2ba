import type { Json } from '../../model/api-object.ts'
import { type CompiledPolicyExpression, compilePolicyExpression } from '../cel/admission/compile-policy-expression.ts'
import { OutOfBudget, type PolicyEvaluation } from '../cel/admission/evaluate-policy-expression.ts'
import type { PolicyScope } from '../cel/admission/policy-environment.ts'
import { CelError, type Value } from '../cel/values/values.ts'
import { textAt } from '../document.ts'

/** The cost that the match conditions of one policy or webhook may have together, as in Kubernetes. */
export const matchConditionBudget = 2_500_000

export interface MatchCondition {
  readonly name: string
  readonly expression: string
  readonly compiled: CompiledPolicyExpression
}

/** Compiles MatchConditions (admissionregistration.k8s.io/v1). */
export function compileMatchConditions(conditions: readonly Json[], scope: PolicyScope): readonly MatchCondition[] {
  return conditions.map((condition) => {
    const expression = textAt(condition, 'expression')
    const compiled = compilePolicyExpression(expression, ['bool'], scope)
    return { name: textAt(condition, 'name'), expression, compiled }
  })
}

/** The decision of match conditions; an error is for the failure policy of the policy or webhook. */
export type ConditionResult =
  | { readonly kind: 'match' }
  | { readonly kind: 'no-match'; readonly condition: string }
  | { readonly kind: 'error'; readonly message: string }

/** Evaluates match conditions: one that is false decides, whatever errors others have. */
export function evaluateMatchConditions(
  conditions: readonly MatchCondition[],
  evaluation: PolicyEvaluation,
): ConditionResult {
  const errors: string[] = []
  try {
    for (const condition of conditions) {
      const result = evaluateExpression(condition, evaluation)
      if (result === false) return { kind: 'no-match', condition: condition.name }
      if (result instanceof CelError) errors.push(result.message)
    }
  } catch (thrown) {
    if (!(thrown instanceof OutOfBudget)) throw thrown
    return { kind: 'error', message: thrown.message }
  }
  const [first] = errors
  if (first === undefined) return { kind: 'match' }
  // Kubernetes shows each error once.
  const distinct = [...new Set(errors)]
  return { kind: 'error', message: distinct.length === 1 ? first : `[${distinct.join(', ')}]` }
}

/** Returns the value of an expression, or its error in the words of Kubernetes. Throws OutOfBudget. */
export function evaluateExpression(
  { expression, compiled }: Pick<MatchCondition, 'expression' | 'compiled'>,
  evaluation: PolicyEvaluation,
): Value {
  if ('problem' in compiled) return new CelError(`compilation error: ${compiled.problem}`)
  const value = evaluation.evaluate(compiled.program)
  if (!(value instanceof CelError)) return value
  return new CelError(`expression '${expression}' resulted in error: ${value.message}`)
}
