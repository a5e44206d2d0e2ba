import type { Json } from '../../../model/api-object.ts'
import { compilePolicyExpression, type ReturnTypes } from '../../cel/admission/compile-policy-expression.ts'
import type { PolicyScope } from '../../cel/admission/policy-environment.ts'
import { listAt, textAt } from '../../document.ts'
import { type FieldError, invalidField } from '../../schema/field-error.ts'

/** The expressions of a policy, by their kind: those that are stored already may use functions of a later version. */
export interface StoredExpressions {
  readonly matchConditions: ReadonlySet<string>
  readonly validations: ReadonlySet<string>
  readonly messages: ReadonlySet<string>
  readonly annotations: ReadonlySet<string>
}

export function expressionsOf(spec: Json | undefined): StoredExpressions {
  const texts = (list: string, field: string) => new Set(listAt(spec, list).map((each) => textAt(each, field)))
  return {
    matchConditions: texts('matchConditions', 'expression'),
    validations: texts('validations', 'expression'),
    messages: texts('validations', 'messageExpression'),
    annotations: texts('auditAnnotations', 'valueExpression'),
  }
}

/** Compiles an expression; its error shows `shown`. */
export function checkPolicyExpression(
  expression: string,
  returnTypes: ReturnTypes,
  scope: PolicyScope,
  path: string,
  shown = expression,
): readonly FieldError[] {
  const compiled = compilePolicyExpression(expression, returnTypes, scope)
  return 'problem' in compiled ? [invalidField(path, shown, compiled.problem)] : []
}

/** Returns a scope for an expression, with the functions that it may use. */
export function scopeFor(expression: string, stored: ReadonlySet<string>, scope: PolicyScope): PolicyScope {
  return { ...scope, functions: stored.has(expression) ? 'stored' : 'new' }
}
