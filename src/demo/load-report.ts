import { z } from 'zod'

const counts = z.record(z.string(), z.number())

/** The results of the load generator, which it prints as one line of JSON. */
export const loadReportSchema = z.strictObject({
  requests: z.number(),
  /** Answered with status 200, by kind of connection. */
  ok: z.strictObject({ keepAlive: z.number(), short: z.number() }),
  failed: z.number(),
  /** `ECONNREFUSED`, `ECONNRESET`, `timeout`, `closed`, `status 503`, … */
  failures: counts,
  /** Answers by the pod that gave them. */
  byPod: counts,
  /** The counts by source address, for the given sources. */
  bySource: z.record(z.string(), counts),
  seconds: z.number(),
  answersPerSecond: z.number(),
  /** From sending (short connections: connecting) to the end of the answer or to the failure. */
  latencyMs: z.strictObject({ p50: z.number(), p99: z.number(), max: z.number() }),
})

export type LoadReport = z.infer<typeof loadReportSchema>

export interface Outcome {
  readonly kind: 'keepAlive' | 'short'
  readonly source: string | undefined
  readonly latencyMs: number
  /** Whichever of the two happened. */
  readonly pod?: string
  readonly failure?: string
}

/** Adds up outcomes as they come. */
export class LoadTally {
  readonly #ok = { keepAlive: 0, short: 0 }
  readonly #failures = new Map<string, number>()
  readonly #byPod = new Map<string, number>()
  readonly #bySource = new Map<string, Map<string, number>>()
  readonly #latenciesMs: number[] = []

  add(outcome: Outcome): void {
    this.#latenciesMs.push(outcome.latencyMs)
    if (outcome.pod === undefined) {
      increment(this.#failures, outcome.failure ?? 'unknown')
      return
    }
    this.#ok[outcome.kind] += 1
    increment(this.#byPod, outcome.pod)
    if (outcome.source !== undefined) increment(this.#podsOf(outcome.source), outcome.pod)
  }

  get count(): number {
    return this.#latenciesMs.length
  }

  report(seconds: number): LoadReport {
    const answers = this.#ok.keepAlive + this.#ok.short
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b)
    return {
      requests: this.count,
      ok: this.#ok,
      failed: this.count - answers,
      failures: Object.fromEntries(this.#failures),
      byPod: Object.fromEntries(this.#byPod),
      bySource: Object.fromEntries([...this.#bySource].map(([source, pods]) => [source, Object.fromEntries(pods)])),
      seconds: round(seconds),
      answersPerSecond: round(answers / seconds),
      latencyMs: { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: quantile(sorted, 1) },
    }
  }

  #podsOf(source: string): Map<string, number> {
    const pods = this.#bySource.get(source) ?? new Map<string, number>()
    this.#bySource.set(source, pods)
    return pods
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The smallest value that at least this share of them does not exceed; 0 where there is none. */
function quantile(sorted: readonly number[], share: number): number {
  return round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
