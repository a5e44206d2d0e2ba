import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from '../schema/field-error.ts'
import { invalid, type StatusError } from '../status.ts'
import type { ApplyOptions } from '../verbs/apply.ts'
import type { FieldValidation } from '../verbs/field-validation.ts'
import type { WriteOptions } from '../verbs/verb-context.ts'
import { flag, parseDryRun, parseQuery } from './query.ts'

const maxManagerLength = 128

const shape = z.object({
  fieldManager: z.string().default(''),
  force: flag.default(false),
  fieldValidation: z.string().default(''),
})
const fieldValidations: readonly string[] = ['Ignore', 'Warn', 'Strict'] satisfies readonly FieldValidation[]

/** The options of create, update and of patches that are no apply. */
export function parseWriteOptions(query: URLSearchParams, { headers }: IncomingMessage): WriteOptions {
  const { fieldManager } = parseQuery(shape, query)
  assertManager(fieldManager)
  return { dryRun: parseDryRun(query), manager: fieldManager || managerOf(headers['user-agent']) }
}

/** The options of server-side apply, which must say who applies. */
export function parseApplyOptions(query: URLSearchParams): ApplyOptions {
  const { fieldManager: manager, force } = parseQuery(shape, query)
  if (manager === '') throw invalidOption(requiredField('fieldManager', 'is required for apply patch'))
  assertManager(manager)
  return { dryRun: parseDryRun(query), manager, force }
}

/** `force` is only for an apply. */
export function assertNotForced(query: URLSearchParams): void {
  if (!query.has('force')) return
  throw invalidOption(forbiddenField('force', 'may not be specified for non-apply patch'))
}

/** Ignore where it is not said, as the platform's API has it (Kubernetes: Warn). */
export function parseFieldValidation(query: URLSearchParams): FieldValidation {
  const { fieldValidation } = parseQuery(shape, query)
  if (fieldValidation === '') return 'Ignore'
  if (isFieldValidation(fieldValidation)) return fieldValidation
  throw invalidOption(unsupportedField('fieldValidation', fieldValidation, fieldValidations))
}

function isFieldValidation(text: string): text is FieldValidation {
  return fieldValidations.includes(text)
}

function invalidOption(error: FieldError): StatusError {
  return invalid({ group: 'meta.k8s.io', plural: '', kind: 'PatchOptions' }, '', [error])
}

function assertManager(manager: string): void {
  if (manager.length > maxManagerLength) throw invalidOption(tooLongField('fieldManager', maxManagerLength))
  if (/\p{C}/u.test(manager)) {
    throw invalidOption(invalidField('fieldManager', manager, 'should only contain printable characters'))
  }
}

/** The program that the client says it is: `kubectl/v1.32 (linux/amd64)` is kubectl. */
function managerOf(userAgent = ''): string {
  const [program = ''] = userAgent.split('/', 1)
  return program.replace(/\P{ASCII}|\p{C}/gu, '').slice(0, maxManagerLength) || 'unknown'
}
