import { PlatnetError } from '../../model/errors.ts'

type WebhookErrorCode = 'unreachable' | 'timeout' | 'refused' | 'bad-response' | 'bad-configuration'

/** A webhook that could not be asked, or whose answer is none. Its failure policy decides what becomes of the request. */
export class WebhookError extends PlatnetError<WebhookErrorCode> {
  /** The HTTP code under which metrics count the call. */
  readonly httpCode: number

  constructor(code: WebhookErrorCode, message: string, details: { cause?: unknown; httpCode?: number } = {}) {
    super(code, message, details.cause === undefined ? {} : { cause: details.cause })
    this.httpCode = details.httpCode ?? 503
  }
}

/** Returns the error for a webhook that could not be reached at the URL. */
export function callFailed(url: string, why: string, cause?: unknown, code: 'unreachable' | 'timeout' = 'unreachable') {
  return new WebhookError(code, `failed to call webhook: Post ${JSON.stringify(url)}: ${why}`, { cause })
}
