import { badRequest, internalError, StatusError } from '../status.ts'
import type { GivenStatus } from './read-response.ts'
import type { Webhook } from './webhook.ts'
import type { WebhookError } from './webhook-error.ts'

const lowestCode = 400
const highestCode = 599

/** Returns the error for a request that a webhook denies: code, reason and details are the webhook's own. */
export function denial({ name }: Webhook, status: GivenStatus | undefined): StatusError {
  const { code = 0, reason = '', message = '', details } = status ?? {}
  const why = message || reason
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`
  return new StatusError('BadRequest', why === '' ? `${denied} without explanation` : `${denied}: ${why}`, {
    details: details ?? undefined,
    // A code that is none would be no answer to the client.
    chosen: { reason, httpCode: code > highestCode ? lowestCode : Math.max(code, lowestCode) },
  })
}

/** Returns the error for a request that needs a webhook which could not be asked. */
export function failure({ name }: Webhook, error: WebhookError): StatusError {
  return internalError(`failed calling webhook ${JSON.stringify(name)}: ${error.message}`, error)
}

export function dryRunUnsupported({ name }: Webhook): StatusError {
  return badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`)
}

/** Returns the error for a webhook that would change a request without an object. */
export function unsupportedPatch({ name }: Webhook): StatusError {
  const quoted = JSON.stringify(name)
  return internalError(
    `admission webhook ${quoted} attempted to modify the object, which is not supported for this operation`,
  )
}
