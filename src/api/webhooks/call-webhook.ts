import { formatTraceparent, type Span, silentSpan } from '../../observe/index.ts'
import type { AdmissionCall, AdmissionRequest } from '../admission/admission-request.ts'
import type { WebhookClient } from './ask-webhook.ts'
import { locateWebhook } from './locate-webhook.ts'
import { type ReviewResponse, readResponse } from './read-response.ts'
import type { ServiceParts } from './resolve-service.ts'
import { createReview, type Invocation } from './review.ts'
import type { Webhook } from './webhook.ts'
import { WebhookError } from './webhook-error.ts'

export interface CallParts extends ServiceParts {
  readonly client: WebhookClient
  readonly newUid: () => string
}

/** Asks a webhook about a request; returns what it says. Rejects with WebhookError. */
export async function callWebhook(
  parts: CallParts,
  webhook: Webhook,
  invocation: Invocation,
  request: AdmissionRequest,
  { span = silentSpan }: AdmissionCall,
): Promise<ReviewResponse> {
  const child = startSpan(span, webhook, request)
  try {
    const response = await ask(parts, webhook, invocation, request, child)
    child.set({ 'platnet.allowed': response.isAllowed })
    child.end()
    return response
  } catch (thrown) {
    child.end({ error: String(thrown) })
    throw thrown
  }
}

async function ask(
  parts: CallParts,
  webhook: Webhook,
  invocation: Invocation,
  request: AdmissionRequest,
  { context }: Span,
): Promise<ReviewResponse> {
  const { reviewVersion: version, type, client, timeoutMs } = webhook
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)'
    throw new WebhookError('bad-configuration', `could not create admission objects: ${why}`)
  }
  const uid = parts.newUid()
  const location = await locateWebhook(parts, webhook)
  const body = JSON.stringify(createReview(version, uid, request, invocation))
  const headers = context === undefined ? {} : { traceparent: formatTraceparent(context) }
  const answer = await parts.client.ask({ ...location, caPem: client.caPem, body, headers, timeoutMs })
  return readResponse(answer, { type, version, uid })
}

function startSpan(
  parent: Span,
  { type, configuration, name }: Webhook,
  { operation, resource, subresource }: AdmissionRequest,
): Span {
  if (!parent.isRecorded) return silentSpan
  return parent.child(`call ${type} webhook`, {
    kind: 'client',
    attributes: {
      'platnet.configuration': configuration,
      'platnet.webhook': name,
      'platnet.resource': resource.plural,
      'platnet.subresource': subresource,
      'platnet.operation': operation,
    },
  })
}
