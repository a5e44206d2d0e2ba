import { type FieldError, forbiddenField } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import { clamp } from './cost/range.ts'

/** What a rule may cost at most, by its estimate. */
const ruleLimit = 10_000_000
/** What all rules of a schema may cost together. */
const schemaLimit = 100_000_000
const maxNamed = 4

/** How often values of a schema can stand in an object; undefined where no limit around them says so. */
export type Cardinality = number | undefined

/** By how much a schema multiplies what stands in it. */
export function cardinalityBelow(around: Cardinality, schema: Schema): Cardinality {
  const factor = factorOf(schema)
  return around === undefined || factor === undefined ? undefined : clamp(around * factor)
}

function factorOf({ type, additionalProperties, maxProperties, maxItems }: Schema): Cardinality {
  const most = type === 'array' ? maxItems : maxProperties
  const isMany = type === 'array' || (type === 'object' && additionalProperties !== undefined)
  return isMany ? most && Math.max(0, most) : 1
}

/** Adds up what the rules of a schema cost at most. */
export class RuleCosts {
  #total = 0
  #mostExpensive: { readonly path: string; readonly cost: number }[] = []

  /** What is wrong with the cost of one rule. */
  add(path: string, what: string, cost: number): readonly FieldError[] {
    this.#total = clamp(this.#total + cost)
    if (cost >= schemaLimit / 100) {
      const sorted = [...this.#mostExpensive, { path, cost }].sort((left, right) => right.cost - left.cost)
      this.#mostExpensive = sorted.slice(0, maxNamed)
    }
    return cost > ruleLimit ? [forbiddenField(path, tooExpensive(what, cost, ruleLimit))] : []
  }

  /** What is wrong with all together. */
  checkTotal(path: string, extension: string): readonly FieldError[] {
    if (this.#total <= schemaLimit) return []
    const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    const what = `${extension} estimated rule cost total for entire OpenAPIv3 schema`
    return [
      ...this.#mostExpensive.map((each) => forbiddenField(each.path, why)),
      forbiddenField(path, tooExpensive(what, this.#total, schemaLimit)),
    ]
  }
}

function tooExpensive(what: string, cost: number, limit: number): string {
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared'
  return `${what} exceeds budget by factor of ${factorText(cost / limit)} (${advice})`
}

function factorText(factor: number): string {
  if (factor > 100) return 'more than 100x'
  return `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
}
