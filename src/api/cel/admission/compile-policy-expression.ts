import { compileSource } from '../compile-source.ts'
import type { Step } from '../run/frame.ts'
import type { CelType } from '../values/types.ts'
import { nameOfType, type PolicyScope, policyEnvironment } from './policy-environment.ts'

/** The types that an expression may have; `any` for a variable. */
export type ReturnTypes = 'any' | readonly ('bool' | 'null_type' | 'string')[]

/** An expression that is ready for evaluation. */
export interface PolicyProgram {
  readonly type: CelType
  /** The names of the values that an evaluation needs, in the order of its slots. */
  readonly names: readonly string[]
  readonly step: Step
}

export type CompiledPolicyExpression = { readonly program: PolicyProgram } | { readonly problem: string }

/** Compiles an expression of a policy or a match condition; the problem is in the words of Kubernetes. */
export function compilePolicyExpression(
  source: string,
  returnTypes: ReturnTypes,
  scope: PolicyScope,
): CompiledPolicyExpression {
  const environment = policyEnvironment(scope)
  const compiled = compileSource(source, environment)
  if ('problem' in compiled) return compiled
  const { type, step } = compiled
  const name = nameOfType(type)
  if (returnTypes === 'any' || returnTypes.some((each) => each === name))
    return { program: { type, names: [...environment.variables.keys()], step } }
  const [only] = returnTypes
  const wanted = returnTypes.length === 1 ? only : `one of [${returnTypes.join(' ')}]`
  return { problem: `must evaluate to ${wanted} but got ${name}` }
}
