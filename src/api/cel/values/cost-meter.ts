/** The limit on the cost of one evaluation, as in Kubernetes: about a tenth of a second. */
const perCallLimit = 1_000_000

/** The limit on the parts that one call compares: Kubernetes does not count what is inside compared values. */
const workLimit = 5_000_000

/** Ends an evaluation that exceeds its cost limit. It is no CelError, because a rule must not handle it. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** The interface to which functions report their work on large values. */
export interface WorkMeter {
  work(parts: number): void
}

/**
 * Counts the cost of an evaluation in the units of Kubernetes: one for a step, for each ten characters, and for each
 * list item that is visited. The expressions of one environment are evaluated one after the other and share the meter.
 */
export class CostMeter implements WorkMeter {
  #spent = 0
  #work = 0

  get spent(): number {
    return this.#spent
  }

  start(): void {
    this.#spent = 0
    this.#work = 0
  }

  /** Adds a cost; throws CostExceeded beyond the limit. */
  spend(cost: number): void {
    this.#spent += cost
    if (this.#spent > perCallLimit) throw new CostExceeded()
  }

  work(parts: number): void {
    this.#work += parts
    if (this.#work > workLimit) throw new CostExceeded()
  }
}
