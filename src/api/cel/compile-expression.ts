import { checkTypes } from './check/checker.ts'
import { checkLiterals } from './check/literal-checks.ts'
import { estimateCost } from './cost/estimate.ts'
import { newFunctions, storedFunctions } from './library/functions.ts'
import { PlanProblem, planEvaluation } from './run/plan.ts'
import type { SchemaType } from './schema-types.ts'
import { parseExpression } from './syntax/parser.ts'
import { describeProblems } from './syntax/source.ts'
import type { CostMeter } from './values/cost-meter.ts'
import { type CelType, optionalType } from './values/types.ts'
import type { Value } from './values/values.ts'

/** An expression that has been checked. */
export interface CelProgram {
  readonly type: CelType
  readonly usesOldSelf: boolean
  /** The highest cost, by the sizes that the schema allows. */
  readonly maxCost: () => number
  /** Evaluates it; undefined means an absent value. The meter counts the cost and ends an evaluation that exceeds the limit. */
  readonly evaluate: (self: Value, oldSelf: Value | undefined, meter: CostMeter) => Value
}

/** The input of expressions: one node of a schema. */
export interface ExpressionScope {
  readonly self: SchemaType
  readonly selfType: CelType
  readonly isOldOptional: boolean
  /** The set of functions: those that Kubernetes accepts in new rules, or those that it accepts in stored ones. */
  readonly functions: 'new' | 'stored'
}

export type Compiled = { readonly program: CelProgram } | { readonly problem: string }

const variables = ['self', 'oldSelf']

/** Parses an expression, checks its types and plans its evaluation; problems are reported in the words of Kubernetes. */
export function compileExpression(source: string, scope: ExpressionScope): Compiled {
  const { self, selfType, isOldOptional, functions } = scope
  const failed = (problems: Parameters<typeof describeProblems>[0]) => {
    return { problem: `compilation failed: ${describeProblems(problems, source)}` }
  }
  const parsed = parseExpression(source, functions)
  if ('problems' in parsed) return failed(parsed.problems)
  const types = new Map([
    ['self', selfType],
    ['oldSelf', isOldOptional ? optionalType(selfType) : selfType],
  ])
  const result = checkTypes(parsed.expr, types, functions === 'new' ? newFunctions : storedFunctions)
  if ('problems' in result) return failed(result.problems)
  const { checked } = result
  const literals = checkLiterals(checked)
  if (literals.length > 0) return failed(literals)
  const type = checked.typeOf(parsed.expr)
  const usesOldSelf = checked.variables.has('oldSelf')
  const maxCost = () => estimateCost(checked, self)
  try {
    const step = planEvaluation(checked, variables)
    const evaluate: CelProgram['evaluate'] = (value, old, meter) => {
      meter.start()
      return step({ slots: [value, old], meter })
    }
    return { program: { type, usesOldSelf, maxCost, evaluate } }
  } catch (thrown) {
    if (thrown instanceof PlanProblem) return { problem: `program instantiation failed: ${thrown.message}` }
    throw thrown
  }
}
