import { type CheckedExpr, checkTypes } from './check/checker.ts'
import { checkLiterals } from './check/literal-checks.ts'
import { newFunctions, storedFunctions } from './library/functions.ts'
import type { Step } from './run/frame.ts'
import { PlanProblem, planEvaluation } from './run/plan.ts'
import { parseExpression } from './syntax/parser.ts'
import { describeProblems } from './syntax/source.ts'
import type { CelType } from './values/types.ts'

/** The input of an expression. */
export interface Environment {
  /** The types of the variables; an evaluation has their values in the same order. */
  readonly variables: ReadonlyMap<string, CelType>
  /** The set of functions: those that Kubernetes accepts in new expressions, or those that it accepts in stored ones. */
  readonly functions: 'new' | 'stored'
}

export type CheckedSource = { readonly checked: CheckedExpr } | { readonly issues: string }

/** Parses an expression and checks its types; `issues` are the problems as cel-go prints them. */
export function checkSource(source: string, { variables, functions }: Environment): CheckedSource {
  const parsed = parseExpression(source, functions)
  if ('problems' in parsed) return { issues: describeProblems(parsed.problems, source) }
  const result = checkTypes(parsed.expr, variables, functions === 'new' ? newFunctions : storedFunctions)
  if ('problems' in result) return { issues: describeProblems(result.problems, source) }
  const literals = checkLiterals(result.checked)
  return literals.length > 0 ? { issues: describeProblems(literals, source) } : result
}

export type CompiledSource =
  | { readonly checked: CheckedExpr; readonly type: CelType; readonly step: Step }
  | { readonly problem: string }

/** Parses an expression, checks its types and plans its evaluation; the problem is in the words of Kubernetes. */
export function compileSource(source: string, environment: Environment): CompiledSource {
  const result = checkSource(source, environment)
  if ('issues' in result) return { problem: `compilation failed: ${result.issues}` }
  const { checked } = result
  try {
    const step = planEvaluation(checked, [...environment.variables.keys()])
    return { checked, type: checked.typeOf(checked.root), step }
  } catch (thrown) {
    if (thrown instanceof PlanProblem) return { problem: `program instantiation failed: ${thrown.message}` }
    throw thrown
  }
}
