import type { Metrics } from '../../observe/index.ts'
import type { Authorizer } from '../access/authorizer.ts'
import type { AdmissionCall, AdmissionRequest, AdmissionSteps } from '../admission/admission-request.ts'
import { isExemptFromWebhooks } from '../admission/exempt-resources.ts'
import { type AdmissionSubject, subjectOf } from '../admission/match-resources.ts'
import type { ApiDocument } from '../document.ts'
import type { Registry } from '../resources/registry.ts'
import { applyResponse } from './apply-response.ts'
import { WebhookClient } from './ask-webhook.ts'
import { type ConsultParts, consultWebhook } from './consult-webhook.ts'
import { matchWebhook } from './match-webhook.ts'
import { WebhookMetrics } from './metrics.ts'
import { Reinvocations } from './reinvocations.ts'
import type { Invocation } from './review.ts'
import type { Webhook, WebhookType } from './webhook.ts'
import { WebhookIndex } from './webhook-index.ts'

interface WebhookOptions extends Omit<ConsultParts, 'client' | 'metrics'> {
  readonly registry: Registry
  /** The answer to questions of match conditions about the user. */
  readonly authorizers: readonly Authorizer[]
  readonly metrics: Metrics
}

/** Asks the webhooks of the stored configurations about writes and connections. */
export class AdmissionWebhooks {
  readonly #parts: WebhookParts

  constructor({ metrics, ...options }: WebhookOptions) {
    const counts = new WebhookMetrics(metrics)
    const index = new WebhookIndex(options.store, (names) => counts.keepOnly(names))
    this.#parts = { ...options, index, metrics: counts, client: new WebhookClient() }
  }

  /** The steps of admission: mutating webhooks one after the other, validating ones all at the same time. */
  get steps(): AdmissionSteps {
    const parts = this.#parts
    const isActive = (type: WebhookType) => () => parts.index.webhooksOf(type).length > 0
    return {
      mutating: [
        {
          isActive: isActive('mutating'),
          mutate: async (request, call) =>
            isExemptFromWebhooks(request) ? request.object : mutate(parts, request, call),
        },
      ],
      validating: [
        {
          isActive: isActive('validating'),
          validate: async (request, call) =>
            isExemptFromWebhooks(request) ? undefined : validate(parts, request, call),
        },
      ],
    }
  }

  /** Reads the configurations. */
  async start(): Promise<void> {
    await this.#parts.index.start()
  }

  stop(): void {
    this.#parts.index.stop()
    this.#parts.client.stop()
  }
}

interface WebhookParts extends ConsultParts {
  readonly registry: Registry
  readonly authorizers: readonly Authorizer[]
  readonly index: WebhookIndex
}

/** Asks in two rounds; the second is for webhooks that want to see what later ones changed. */
async function mutate(
  parts: WebhookParts,
  request: AdmissionRequest,
  call: AdmissionCall,
): Promise<ApiDocument | undefined> {
  const webhooks = parts.index.webhooksOf('mutating')
  const reinvocations = new Reinvocations()
  const ask = async (subject: AdmissionSubject, webhook: Webhook) => {
    const object = await mutateBy(parts, webhook, subject, call, reinvocations)
    return object === subject.request.object ? subject : subjectOf({ ...request, object }, parts)
  }
  let subject = await subjectOf(request, parts)
  for (const webhook of webhooks) subject = await ask(subject, webhook)
  if (!reinvocations.hasChange) return subject.request.object
  for (const webhook of webhooks) if (reinvocations.isDue(webhook)) subject = await ask(subject, webhook)
  return subject.request.object
}

/** Returns the object after one webhook. */
async function mutateBy(
  parts: WebhookParts,
  webhook: Webhook,
  subject: AdmissionSubject,
  call: AdmissionCall,
  reinvocations: Reinvocations,
): Promise<ApiDocument | undefined> {
  const { request } = subject
  const invocation = matchWebhook(webhook, subject, parts.authorizers)
  if (invocation === undefined) return request.object
  const used = await consultWebhook(parts, { webhook, invocation, request, call }, (response) => ({
    object: applyResponse(webhook, request, invocation, response),
  }))
  const { object } = used ?? request
  reinvocations.record(webhook, object !== request.object)
  return object
}

async function validate(parts: WebhookParts, request: AdmissionRequest, call: AdmissionCall): Promise<void> {
  const subject = await subjectOf(request, parts)
  const matched: { readonly webhook: Webhook; readonly invocation: Invocation }[] = []
  for (const webhook of parts.index.webhooksOf('validating')) {
    const invocation = matchWebhook(webhook, subject, parts.authorizers)
    if (invocation !== undefined) matched.push({ webhook, invocation })
  }
  const results = await Promise.allSettled(
    matched.map((each) => consultWebhook(parts, { ...each, request, call }, () => undefined)),
  )
  const refused = results.find((result) => result.status === 'rejected')
  if (refused !== undefined) throw refused.reason
}
