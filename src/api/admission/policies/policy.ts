import type { Json, JsonObject } from '../../../model/api-object.ts'
import {
  type CompiledPolicyExpression,
  compilePolicyExpression,
  type ReturnTypes,
} from '../../cel/admission/compile-policy-expression.ts'
import { declaredType, type PolicyScope } from '../../cel/admission/policy-environment.ts'
import { type CelType, types } from '../../cel/values/types.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { compileMatchConditions, type MatchCondition } from '../match-conditions.ts'

export interface ParamKind {
  readonly apiVersion: string
  readonly kind: string
}

export interface CompiledValidation {
  readonly expression: string
  readonly compiled: CompiledPolicyExpression
  readonly message: string
  readonly messageExpression: CompiledPolicyExpression | undefined
  /** A reason of a Status; `""` where the policy names none. */
  readonly reason: string
}

interface CompiledAnnotation {
  readonly key: string
  readonly expression: string
  readonly compiled: CompiledPolicyExpression
}

/** A ValidatingAdmissionPolicy with its expressions compiled. */
export interface CompiledPolicy {
  readonly name: string
  readonly isIgnoringFailures: boolean
  readonly paramKind: ParamKind | undefined
  readonly matchConstraints: JsonObject
  readonly variables: ReadonlyMap<string, CompiledPolicyExpression>
  readonly matchConditions: readonly MatchCondition[]
  readonly validations: readonly CompiledValidation[]
  readonly auditAnnotations: readonly CompiledAnnotation[]
}

/** Compiles a stored policy. An expression that does not compile fails when it is evaluated. */
export function compilePolicy({ metadata, spec }: ApiDocument): CompiledPolicy {
  const paramKind = paramKindOf(spec)
  const base: PolicyScope = { hasParams: paramKind !== undefined, hasAuthorizer: true, functions: 'stored' }
  const { variables, scope } = compileVariables(listAt(spec, 'variables'), base)
  const compile = (expression: string, returnTypes: ReturnTypes) =>
    compilePolicyExpression(expression, returnTypes, scope)
  return {
    name: metadata.name ?? '',
    isIgnoringFailures: textAt(spec, 'failurePolicy') === 'Ignore',
    paramKind,
    matchConstraints: objectAt(spec, 'matchConstraints'),
    variables,
    matchConditions: compileMatchConditions(listAt(spec, 'matchConditions'), scope),
    validations: listAt(spec, 'validations').map((validation) => {
      const [expression, message] = [textAt(validation, 'expression'), textAt(validation, 'messageExpression')]
      return {
        expression,
        compiled: compile(expression, ['bool']),
        message: textAt(validation, 'message'),
        messageExpression:
          message === '' ? undefined : compilePolicyExpression(message, ['string'], { ...scope, hasAuthorizer: false }),
        reason: textAt(validation, 'reason'),
      }
    }),
    auditAnnotations: listAt(spec, 'auditAnnotations').map((annotation) => {
      const expression = textAt(annotation, 'valueExpression')
      return { key: textAt(annotation, 'key'), expression, compiled: compile(expression, ['string', 'null_type']) }
    }),
  }
}

/**
 * Compiles the variables of a policy in their order: each sees those before it. Returns them, and the scope of the
 * expressions that see all.
 */
export function compileVariables(variables: readonly Json[], base: PolicyScope) {
  const known = new Map<string, CelType>()
  const compiled = new Map<string, CompiledPolicyExpression>()
  const scope: PolicyScope = { ...base, variables: known }
  for (const variable of variables) {
    const name = textAt(variable, 'name')
    const result = compilePolicyExpression(textAt(variable, 'expression'), 'any', scope)
    known.set(name, 'program' in result ? declaredType(result.program.type) : types.dyn)
    compiled.set(name, result)
  }
  return { variables: compiled, scope }
}

export function paramKindOf(spec: Json | undefined): ParamKind | undefined {
  const paramKind = valueAt(spec, 'paramKind')
  if (paramKind === undefined || paramKind === null) return undefined
  return { apiVersion: textAt(paramKind, 'apiVersion'), kind: textAt(paramKind, 'kind') }
}
