import type { Json } from '../../model/api-object.ts'
import { shortJson } from './short-json.ts'

/** An error of one field, in Kubernetes' wording; becomes a cause of a 422. */
export interface FieldError {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
    | 'FieldValueForbidden'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid'
  /** `spec.ports[0].port` */
  readonly field: string
  /** The message without the field: `Required value: why`. */
  readonly message: string
}

export function requiredField(field: string, detail = ''): FieldError {
  return { reason: 'FieldValueRequired', field, message: join('Required value', detail) }
}

export function invalidField(field: string, value: Json | undefined, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: join(`Invalid value: ${render(value)}`, detail) }
}

/** An invalid value that the message does not show. */
export function invalidPart(field: string, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: join('Invalid value', detail) }
}

export function typeInvalidField(field: string, value: Json, detail: string): FieldError {
  return { reason: 'FieldValueTypeInvalid', field, message: join(`Invalid value: ${render(value)}`, detail) }
}

export function unsupportedField(field: string, value: Json | undefined, supported: readonly string[]): FieldError {
  const list = supported.map((text) => JSON.stringify(text)).join(', ')
  return {
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${render(value)}: supported values: ${list}`,
  }
}

export function duplicateField(field: string, value: Json): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${render(value)}` }
}

export function notFoundField(field: string, value: Json, detail = ''): FieldError {
  return { reason: 'FieldValueNotFound', field, message: join(`Not found: ${render(value)}`, detail) }
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` }
}

export function tooLongField(field: string, limitBytes: number): FieldError {
  return {
    reason: 'FieldValueTooLong',
    field,
    message: `Too long: may not be more than ${limitBytes} ${limitBytes === 1 ? 'byte' : 'bytes'}`,
  }
}

export function tooManyField(field: string, count: number, limit: number): FieldError {
  return { reason: 'FieldValueTooMany', field, message: `Too many: ${count}: must have at most ${limit} items` }
}

function join(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`
}

function render(value: Json | undefined): string {
  return value === undefined ? 'null' : shortJson(value)
}
