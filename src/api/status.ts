import { PlatnetError } from '../model/errors.ts'
import type { FieldError } from './schema/field-error.ts'

export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'UnsupportedMediaType'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'RequestEntityTooLarge'
  | 'TooManyRequests'
  | 'Invalid'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'Timeout'

interface StatusCause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

/** The details of a Status. `kind` is the plural resource for most reasons and the Kind for Invalid. Absent and empty members are left out. */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** The names of a resource in a message: its group, its plural resource and its Kind. */
export interface ResourceNames {
  readonly group: string
  readonly plural: string
  readonly kind: string
}

const httpCodes: Readonly<Record<StatusReason, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
}

/** A reason, which may be empty, and an HTTP code from 400 that an admission webhook chose. */
interface ChosenAnswer {
  readonly reason: string
  readonly httpCode: number
}

interface StatusContext {
  readonly details?: StatusDetails | undefined
  readonly continueToken?: string
  /** The answer in place of the reason and its code. */
  readonly chosen?: ChosenAnswer
  readonly cause?: unknown
}

/** An error response; becomes a Status body. */
export class StatusError extends PlatnetError<StatusReason> {
  readonly details: StatusDetails | undefined
  /** A fresh continue token, present with Expired. */
  readonly continueToken: string | undefined
  readonly #chosen: ChosenAnswer | undefined

  constructor(reason: StatusReason, message: string, context: StatusContext = {}) {
    super(reason, message, context.cause === undefined ? {} : { cause: context.cause })
    this.details = context.details
    this.continueToken = context.continueToken
    this.#chosen = context.chosen
  }

  get httpCode(): number {
    return this.#chosen?.httpCode ?? httpCodes[this.code]
  }

  /** The reason that the client sees. */
  get reason(): string {
    return this.#chosen?.reason ?? this.code
  }
}

/** Returns the Status object of a failure as JSON text. */
export function renderFailure(error: StatusError): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error.continueToken === undefined ? {} : { continue: error.continueToken },
    status: 'Failure',
    message: error.message,
    ...(error.reason === '' ? {} : { reason: error.reason }),
    ...(error.details === undefined ? {} : { details: withoutEmpty(error.details) }),
    code: error.httpCode,
  })
}

/** Returns the Status object of a delete that removed the object at once. */
export function renderSuccess(details: StatusDetails): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: withoutEmpty(details),
  })
}

export function badRequest(message: string, cause?: unknown): StatusError {
  return new StatusError('BadRequest', message, { cause })
}

export function unauthorized(): StatusError {
  return new StatusError('Unauthorized', 'Unauthorized')
}

/** Returns a 403; the name is empty for a request without an object. */
export function forbidden(resource: ResourceNames, name: string, why: string, causes?: StatusCause[]): StatusError {
  const object = name === '' ? qualifiedResource(resource) : `${qualifiedResource(resource)} ${quote(name)}`
  return new StatusError('Forbidden', `${object} is forbidden: ${why}`, {
    details: { ...objectDetails(resource, name), ...(causes === undefined ? {} : { causes }) },
  })
}

export function notFound(resource: ResourceNames, name: string): StatusError {
  return new StatusError('NotFound', `${qualifiedResource(resource)} ${quote(name)} not found`, {
    details: objectDetails(resource, name),
  })
}

export function unknownPath(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', { details: {} })
}

export function methodNotAllowed(verb: string, resource: ResourceNames): StatusError {
  return new StatusError(
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind ${quote(resource.plural)}`,
    {
      details: { group: resource.group, kind: resource.plural },
    },
  )
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`)
}

/** A form of the answer that does not suit what was asked for. */
export function unsuitableForm(why: string): StatusError {
  return new StatusError('NotAcceptable', why)
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const list = accepted.join(', ')
  const message = `the body of the request was in an unknown format - accepted media types include: ${list}`
  return new StatusError('UnsupportedMediaType', message)
}

export function alreadyExists(resource: ResourceNames, name: string): StatusError {
  return new StatusError('AlreadyExists', `${qualifiedResource(resource)} ${quote(name)} already exists`, {
    details: objectDetails(resource, name),
  })
}

const modified = 'the object has been modified; please apply your changes to the latest version and try again'

export function conflict(resource: ResourceNames, name: string, why: string = modified): StatusError {
  const object = `${qualifiedResource(resource)} ${quote(name)}`
  return new StatusError('Conflict', `Operation cannot be fulfilled on ${object}: ${why}`, {
    details: objectDetails(resource, name),
  })
}

/** Returns the error for a revision that the store no longer has, or does not have yet. */
export function expired(requested: number, oldest: number): StatusError {
  return new StatusError('Expired', `too old resource version: ${requested} (${oldest})`)
}

export function tooLarge(limitBytes: number): StatusError {
  return new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`)
}

export function tooManyRequests(): StatusError {
  return new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  })
}

export function revisionTimeout(requested: number, current: number): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}

export function internalError(message: string, cause?: unknown): StatusError {
  return new StatusError('InternalError', `Internal error occurred: ${message}`, {
    cause,
    details: { causes: [{ message }] },
  })
}

/** The limit of causes: more help no reader, and a response must not be much longer than its request. */
const maxCauses = 100

/** Returns a 422 with one cause for each of the first 100 fields; several errors stand in brackets in the message. */
export function invalid(resource: ResourceNames, name: string, all: readonly FieldError[]): StatusError {
  const errors = all.length > maxCauses ? all.slice(0, maxCauses) : all
  const list = listReasons(errors.map(({ field, message }) => `${field}: ${message}`))
  return new StatusError('Invalid', `${qualifiedKind(resource)} ${quote(name)} is invalid: ${list}`, {
    details: {
      name,
      group: resource.group,
      kind: resource.kind,
      causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  })
}

/** Returns reasons as one text, as Kubernetes writes them: several stand in brackets. */
export function listReasons(reasons: readonly string[]): string {
  return reasons.length === 1 ? String(reasons[0]) : `[${reasons.join(', ')}]`
}

function objectDetails(resource: ResourceNames, name: string): StatusDetails {
  return { name, group: resource.group, kind: resource.plural }
}

function qualifiedResource(resource: ResourceNames): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

function qualifiedKind(resource: ResourceNames): string {
  return resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`
}

function quote(text: string): string {
  return JSON.stringify(text)
}

function withoutEmpty(details: StatusDetails): StatusDetails {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== ''))
}
