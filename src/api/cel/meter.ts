/** What one evaluation of one expression may cost, as Kubernetes: about a tenth of a second. */
export const perCallLimit = 1_000_000

const exceeded = new Error('operation cancelled: actual cost limit exceeded')

/**
 * Counts what an evaluation costs, in the units of Kubernetes: a step is one, ten characters or an item of a list that are gone through are one. The
 * expressions of one environment are evaluated one after the other, and share the meter.
 */
export class CostMeter {
  #spent = 0
  #limit = perCallLimit

  get spent(): number {
    return this.#spent
  }

  get isExceeded(): boolean {
    return this.#spent > this.#limit
  }

  start(limit: number): void {
    this.#spent = 0
    this.#limit = limit
  }

  /** Throws once the limit is passed, and from then on. */
  spend(cost: number): void {
    this.#spent += cost
    if (this.#spent > this.#limit) throw exceeded
  }
}

const charactersPerUnit = 10

/** What going through a value costs. Parts of a list or map are counted where they are compared. */
export function traversalCost(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return Math.ceil(value.length / charactersPerUnit)
  if (Array.isArray(value)) return value.length
  return value instanceof Map ? value.size : 0
}

/** The same with all parts, but not further than the limit. */
export function deepCost(value: unknown, limit: number): number {
  let cost = 1 + traversalCost(value)
  if (Array.isArray(value) || value instanceof Map) {
    for (const part of value.values()) {
      if (cost > limit) break
      cost += deepCost(part, limit - cost)
    }
  }
  return cost
}
