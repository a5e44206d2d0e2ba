import { z } from 'zod'
import { type ApiClient, ApiError } from '../../client/index.ts'
import { SingleFlight } from '../../loop/single-flight.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import { isQuantity, parseQuantity } from '../../model/quantity.ts'
import { listOf } from '../objects/parts.ts'
import type { UsageAnswer } from './metric-values.ts'
import type { PodUsage } from './proposal.ts'

const podMetricsSchema = z.object({
  metadata: z.object({ name: z.string() }),
  timestamp: z.string(),
  window: z.string(),
  containers: listOf(z.object({ name: z.string(), usage: z.record(z.string(), z.string().refine(isQuantity)) })),
})

const listSchema = z.object({ items: listOf(podMetricsSchema) })

/** How long an answer is used again: autoscalers of one namespace come at nearly the same time. */
const sharedMs = 2000

/** Reads what the pods of a namespace use, from metrics.k8s.io: of this API server, or of metrics-server. */
export class PodUsageReader {
  readonly #client: ApiClient
  readonly #group: string
  readonly #flights = new SingleFlight<UsageAnswer>()
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: UsageAnswer }>()

  constructor(client: ApiClient, dialect: Dialect) {
    this.#client = client
    this.#group = dialect.groups.metrics
  }

  /** Never throws: an answer that cannot be had is unknown, with the reason. */
  async read(namespace: string): Promise<UsageAnswer> {
    const known = this.#answers.get(namespace)
    if (known !== undefined && performance.now() - known.atMs < sharedMs) return known.answer
    return this.#flights.run(namespace, async () => {
      const answer = await this.#ask(namespace)
      const nowMs = performance.now()
      for (const [each, { atMs }] of this.#answers) if (nowMs - atMs >= sharedMs) this.#answers.delete(each)
      this.#answers.set(namespace, { atMs: nowMs, answer })
      return answer
    })
  }

  async #ask(namespace: string): Promise<UsageAnswer> {
    try {
      const path = `/apis/${this.#group}/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods`
      const { items } = listSchema.parse(await this.#client.getDocument(path))
      return { kind: 'usage', pods: new Map(items.map((item) => [item.metadata.name, toUsage(item)])) }
    } catch (error) {
      const isUnserved = error instanceof ApiError && error.code === 'not-found'
      const why = isUnserved ? `${this.#group} is not served` : describeError(error)
      return { kind: 'unknown', why: `unable to fetch metrics from resource metrics API: ${why}` }
    }
  }
}

function toUsage({ timestamp, window, containers }: z.output<typeof podMetricsSchema>): PodUsage {
  return {
    atMs: Date.parse(timestamp) || 0,
    windowMs: parseWindowMs(window),
    containers: new Map(containers.map(({ name, usage }) => [name, toThousandths(usage)])),
  }
}

function toThousandths(usage: Readonly<Record<string, string>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(usage).map(([name, text]) => [name, Number(parseQuantity(text))]))
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 0.001, ns: 0.000_001 }

/** Parses a duration as Go prints it: `15s`, `1m0.5s`; 0 for anything else. */
function parseWindowMs(text: string): number {
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|µs|ns)/g)
  return Array.from(parts, ([, value, unit = '']) => Number(value) * (unitMs[unit] ?? 0)).reduce(
    (sum, ms) => sum + ms,
    0,
  )
}
