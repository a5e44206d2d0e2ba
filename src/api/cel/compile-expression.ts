import { compileSource } from './compile-source.ts'
import { estimateCost } from './cost/estimate.ts'
import type { SchemaType } from './schema-types.ts'
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

/** Parses an expression, checks its types and plans its evaluation; problems are reported in the words of Kubernetes. */
export function compileExpression(source: string, scope: ExpressionScope): Compiled {
  const { self, selfType, isOldOptional, functions } = scope
  const variables = new Map([
    ['self', selfType],
    ['oldSelf', isOldOptional ? optionalType(selfType) : selfType],
  ])
  const compiled = compileSource(source, { variables, functions })
  if ('problem' in compiled) return compiled
  const { checked, type, step } = compiled
  const evaluate: CelProgram['evaluate'] = (value, old, meter) => {
    meter.start()
    return step({ slots: [value, old], meter })
  }
  const usesOldSelf = checked.variables.has('oldSelf')
  return { program: { type, usesOldSelf, maxCost: () => estimateCost(checked, self), evaluate } }
}
