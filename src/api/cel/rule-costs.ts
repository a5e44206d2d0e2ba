import { type FieldError, forbiddenField } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import { clamp } from './cost/range.ts'

/** The limit on the estimated cost of one rule. */
const ruleLimit = 10_000_000
/** The limit on the estimated cost of all rules of a schema. */
const schemaLimit = 100_000_000
const maxNamed = 4

/** The largest number of values of a schema in one object; undefined where no limit around them bounds it. */
export type Cardinality = number | undefined

/** Returns the cardinality of the values below a schema. */
export function cardinalityBelow(around: Cardinality, schema: Schema): Cardinality {
  const factor = factorOf(schema)
  return around === undefined || factor === undefined ? undefined : clamp(around * factor)
}

function factorOf({ type, additionalProperties, maxProperties, maxItems }: Schema): Cardinality {
  const most = type === 'array' ? maxItems : maxProperties
  const isMany = type === 'array' || (type === 'object' && additionalProperties !== undefined)
  return isMany ? most && Math.max(0, most) : 1
}

/** Adds up the estimated costs of the rules of a schema. */
export class RuleCosts {
  #total = 0
  #mostExpensive: { readonly path: string; readonly cost: number }[] = []

  /** Adds the cost of one rule and returns its errors. */
  add(path: string, what: string, cost: number): readonly FieldError[] {
    this.#total = clamp(this.#total + cost)
    if (cost >= schemaLimit / 100) {
      const sorted = [...this.#mostExpensive, { path, cost }].sort((left, right) => right.cost - left.cost)
      this.#mostExpensive = sorted.slice(0, maxNamed)
    }
    return cost > ruleLimit ? [forbiddenField(path, tooExpensive(what, cost, ruleLimit))] : []
  }

  /** Returns the errors of the total cost. */
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
