import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import type { Operation } from '../admission/admission-request.ts'
import type { Webhook, WebhookType } from './webhook.ts'

const operation = ['CONNECT', 'CREATE', 'DELETE', 'UPDATE'] as const
const type = ['admit', 'validating'] as const
const rejected = ['false', 'true'] as const

/** The metrics of webhooks. Those whose names fit the conventions are named as in kube-apiserver; labels and buckets are from there. */
export const webhookMetrics = {
  duration: {
    type: 'histogram',
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    help: 'Time that an admission webhook took.',
    labels: { name: 'objects', type, operation, rejected },
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
  },
  requests: {
    type: 'counter',
    name: 'apiserver_admission_webhook_request_total',
    help: 'Questions to admission webhooks.',
    labels: { name: 'objects', type, operation, code: 'codes', rejected },
  },
  rejections: {
    type: 'counter',
    name: 'platnet_admission_webhook_rejections_total',
    help: 'Requests that were refused because a webhook denied them (no_error), could not be asked (calling_webhook_error) or gave what cannot be applied (apiserver_internal_error).',
    labels: {
      name: 'objects',
      type,
      operation,
      error_type: ['no_error', 'calling_webhook_error', 'apiserver_internal_error'],
      rejection_code: 'codes',
    },
  },
  failedOpen: {
    type: 'counter',
    name: 'platnet_admission_webhook_failed_open_total',
    help: 'Requests that went on although a webhook could not be asked, as its failure policy Ignore says.',
    labels: { name: 'objects', type },
  },
} as const satisfies Record<string, MetricSpec>

export type RejectionType = (typeof webhookMetrics.rejections.labels.error_type)[number]

/** One question to a webhook, as metrics count it. */
export interface CountedCall {
  readonly webhook: Webhook
  readonly operation: Operation
  readonly durationMs: number
  readonly code: number
  /** The reason of a refused request; undefined where it went on. */
  readonly rejection: RejectionType | undefined
}

const typeLabels: Readonly<Record<WebhookType, (typeof type)[number]>> = { mutating: 'admit', validating: 'validating' }

/** Counts what webhooks are asked and say. */
export class WebhookMetrics {
  readonly #duration
  readonly #requests
  readonly #rejections
  readonly #failedOpen

  constructor(metrics: Metrics) {
    this.#duration = metrics.histogram(webhookMetrics.duration)
    this.#requests = metrics.counter(webhookMetrics.requests)
    this.#rejections = metrics.counter(webhookMetrics.rejections)
    this.#failedOpen = metrics.counter(webhookMetrics.failedOpen)
  }

  count({ webhook, operation, durationMs, code, rejection }: CountedCall): void {
    const labels = { name: webhook.name, type: typeLabels[webhook.type], operation }
    const rejected = String(rejection !== undefined)
    this.#requests.add(1, { ...labels, code: String(code), rejected })
    this.#duration.observe(durationMs / 1000, { ...labels, rejected })
    if (rejection !== undefined)
      this.#rejections.add(1, { ...labels, error_type: rejection, rejection_code: String(code) })
  }

  countFailedOpen({ name, type }: Webhook): void {
    this.#failedOpen.add(1, { name, type: typeLabels[type] })
  }

  /** Forgets the webhooks that are not configured any more. */
  async keepOnly(names: ReadonlySet<string>): Promise<void> {
    const isKept = ({ name }: { readonly name: string }) => names.has(name)
    const all = [this.#duration, this.#requests, this.#rejections, this.#failedOpen]
    await Promise.all(all.map((metric) => metric.keepOnly(isKept)))
  }
}
