import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AdmissionCall, AdmissionRequest } from '../admission/admission-request.ts'
import { StatusError } from '../status.ts'
import { type CallParts, callWebhook } from './call-webhook.ts'
import type { RejectionType, WebhookMetrics } from './metrics.ts'
import type { ReviewResponse } from './read-response.ts'
import { denial, dryRunUnsupported, failure } from './rejection.ts'
import type { Invocation } from './review.ts'
import type { Webhook } from './webhook.ts'
import { WebhookError } from './webhook-error.ts'

export interface ConsultParts extends CallParts {
  readonly metrics: WebhookMetrics
  readonly log: Logger
}

/** A question to one webhook. */
export interface Consultation {
  readonly webhook: Webhook
  readonly invocation: Invocation
  readonly request: AdmissionRequest
  readonly call: AdmissionCall
}

type Outcome<T> =
  | { readonly kind: 'allowed'; readonly value: T }
  | { readonly kind: 'refused'; readonly error: StatusError; readonly why: RejectionType }
  | { readonly kind: 'failed'; readonly error: WebhookError }

/**
 * Asks a webhook and uses its answer. Returns undefined where the webhook could not be asked and its failure policy is
 * Ignore; rejects with a Status where the request is refused.
 */
export async function consultWebhook<T>(
  parts: ConsultParts,
  consultation: Consultation,
  use: (response: ReviewResponse) => T,
): Promise<T | undefined> {
  const startedMs = performance.now()
  const outcome = await outcomeOf(parts, consultation, use)
  const { webhook, request } = consultation
  const counted = { webhook, operation: request.operation, durationMs: performance.now() - startedMs }
  const count = (code: number, rejection: RejectionType | undefined) =>
    parts.metrics.count({ ...counted, code, rejection })
  switch (outcome.kind) {
    case 'allowed':
      count(200, undefined)
      return outcome.value
    case 'refused':
      count(outcome.why === 'no_error' ? outcome.error.httpCode : 0, outcome.why)
      throw outcome.error
    case 'failed':
      count(outcome.error.httpCode, webhook.ignoresFailure ? undefined : 'calling_webhook_error')
      return failOpen(parts, webhook, outcome.error)
  }
}

async function outcomeOf<T>(
  parts: ConsultParts,
  { webhook, invocation, request, call }: Consultation,
  use: (response: ReviewResponse) => T,
): Promise<Outcome<T>> {
  const internal = (error: StatusError) => ({ kind: 'refused', error, why: 'apiserver_internal_error' }) as const
  if (request.isDryRun && !webhook.takesDryRun) return internal(dryRunUnsupported(webhook))
  try {
    const response = await callWebhook(parts, webhook, invocation, request, call)
    for (const text of response.warnings) call.warn(text)
    if (!response.isAllowed) return { kind: 'refused', error: denial(webhook, response.status), why: 'no_error' }
    return { kind: 'allowed', value: use(response) }
  } catch (thrown) {
    if (thrown instanceof WebhookError) return { kind: 'failed', error: thrown }
    if (thrown instanceof StatusError) return internal(thrown)
    throw thrown
  }
}

/** Lets the request go on without the webhook where its failure policy says so, else throws. */
function failOpen({ metrics, log }: ConsultParts, webhook: Webhook, error: WebhookError): undefined {
  const { configuration, name, ignoresFailure } = webhook
  const what = { configuration, webhook: name, error: describeError(error) }
  log.warn(ignoresFailure ? 'a webhook could not be asked, and is ignored' : 'a webhook could not be asked', what)
  if (!ignoresFailure) throw failure(webhook, error)
  metrics.countFailedOpen(webhook)
}
