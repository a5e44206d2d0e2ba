import { z } from 'zod'
import { PlatnetError } from '../model/errors.ts'

export type ApiErrorCode =
  | 'bad-request'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'already-exists'
  | 'conflict'
  | 'expired'
  | 'too-large'
  | 'unsupported-media-type'
  | 'invalid'
  | 'too-many-requests'
  | 'internal'
  /** The server cannot be reached, broke the connection, or says it cannot serve now. */
  | 'unavailable'
  | 'timeout'
  /** The server's certificate is not one we trust. */
  | 'untrusted'
  /** The response is not one of an API server. */
  | 'bad-response'
  /** The caller's own signal ended the request. */
  | 'aborted'

/** One entry of `details.causes` in a Status body. */
export interface StatusCause {
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly field?: string | undefined
}

export interface ApiErrorDetails {
  /** The HTTP status, or the `code` of a Status that came as a watch event. */
  readonly status?: number | undefined
  readonly reason?: string | undefined
  readonly causes?: readonly StatusCause[] | undefined
  readonly retryAfterMs?: number | undefined
  readonly object?: string
  readonly remedy?: string
  readonly cause?: unknown
}

/** A request to the API server that failed, or an answer that made no sense. */
export class ApiError extends PlatnetError<ApiErrorCode> {
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly causes: readonly StatusCause[]
  /** How long the server asked us to stay away. */
  readonly retryAfterMs: number | undefined

  constructor(code: ApiErrorCode, message: string, details: ApiErrorDetails = {}) {
    super(code, message, details)
    this.status = details.status
    this.reason = details.reason
    this.causes = details.causes ?? []
    this.retryAfterMs = details.retryAfterMs
  }
}

const statusSchema = z.object({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z
    .object({
      causes: z
        .array(
          z.object({
            reason: z.string().optional(),
            message: z.string().optional(),
            field: z.string().optional(),
          }),
        )
        .nullish(),
      retryAfterSeconds: z.number().nonnegative().optional(),
    })
    .nullish(),
})

/**
 * The error that an answer stands for. `body` is the parsed body if there is one: a Status fills in reason, causes and
 * message, anything else leaves the HTTP status to speak.
 */
export function errorFromStatus(
  what: string,
  body: unknown,
  http: { status: number; retryAfter?: string | undefined },
) {
  const parsed = statusSchema.safeParse(body)
  const said = parsed.success ? parsed.data : undefined
  const status = said?.code ?? http.status
  const retryAfterSeconds = said?.details?.retryAfterSeconds ?? parseRetryAfter(http.retryAfter)
  return new ApiError(codeOf(said?.reason, status), `${what}: ${describeStatus(status, said?.reason, said?.message)}`, {
    status,
    reason: said?.reason,
    causes: said?.details?.causes ?? undefined,
    retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
  })
}

const maxMessageLength = 1000

function describeStatus(status: number, reason: string | undefined, message: string | undefined): string {
  const head = reason === undefined ? String(status) : `${status} ${reason}`
  return message === undefined ? head : `${head}: ${message.slice(0, maxMessageLength)}`
}

function parseRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : undefined
}

const codeOfReason: Readonly<Record<string, ApiErrorCode>> = {
  AlreadyExists: 'already-exists',
  Conflict: 'conflict',
  Expired: 'expired',
  Gone: 'expired',
  Timeout: 'timeout',
  ServerTimeout: 'timeout',
  ServiceUnavailable: 'unavailable',
}

const codeOfHttpStatus: Readonly<Record<number, ApiErrorCode>> = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  409: 'conflict',
  410: 'expired',
  413: 'too-large',
  415: 'unsupported-media-type',
  422: 'invalid',
  429: 'too-many-requests',
  502: 'unavailable',
  503: 'unavailable',
  504: 'timeout',
}

function codeOf(reason: string | undefined, status: number): ApiErrorCode {
  const byReason = reason !== undefined && Object.hasOwn(codeOfReason, reason) ? codeOfReason[reason] : undefined
  return byReason ?? codeOfHttpStatus[status] ?? (status >= 500 ? 'internal' : 'bad-response')
}

/** The answer, or undefined where the server has no such object. */
export async function orAbsent<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not-found') return undefined
    throw error
  }
}
