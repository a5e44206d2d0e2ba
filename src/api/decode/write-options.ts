import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { DialectName } from '../../model/dialect.ts'
import type { ApplyOptions, FieldValidation, WriteOptions } from '../request/request.ts'
import { forbiddenField, invalidField, requiredField, tooLongField, unsupportedField } from '../schema/field-error.ts'
import { parseDryRun } from './dry-run.ts'
import { invalidOption } from './invalid-option.ts'
import { flag, parseQuery } from './query.ts'

const maxManagerLength = 128

const shape = z.object({
  fieldManager: z.string().default(''),
  force: flag.default(false),
  fieldValidation: z.string().default(''),
})
const fieldValidations: readonly string[] = ['Ignore', 'Strict', 'Warn'] satisfies readonly FieldValidation[]

const parsedWrites = new WeakMap<URLSearchParams, z.infer<typeof shape>>()

/** Parses the options of a write once: several steps of a request read them. */
function parseWrite(query: URLSearchParams): z.infer<typeof shape> {
  const parsed = parsedWrites.get(query) ?? parseQuery(shape, query)
  parsedWrites.set(query, parsed)
  return parsed
}

/** Parses the options of create, update and of patches other than apply. */
export function parseWriteOptions(query: URLSearchParams, { headers, method }: IncomingMessage): WriteOptions {
  const given = parseWrite(query)
  const { fieldManager } = given
  assertManager(fieldManager, method)
  return { dryRun: parseDryRun(query, method), manager: fieldManager || managerOf(headers['user-agent']), given }
}

/** Parses the options of server-side apply, which must name the field manager. */
export function parseApplyOptions(query: URLSearchParams): ApplyOptions {
  const given = parseWrite(query)
  const { fieldManager: manager, force } = given
  if (manager === '') throw invalidOption('PATCH', requiredField('fieldManager', 'is required for apply patch'))
  assertManager(manager, 'PATCH')
  return { dryRun: parseDryRun(query, 'PATCH'), manager, force, given }
}

/** Checks that `force` is absent: only an apply takes it. */
export function assertNotForced(query: URLSearchParams): void {
  if (!query.has('force')) return
  throw invalidOption('PATCH', forbiddenField('force', 'may not be specified for non-apply patch'))
}

/** Parses the field validation. By default the platform's API ignores unknown fields (spec part 7), and Kubernetes warns. */
export function parseFieldValidation(
  query: URLSearchParams,
  method: string | undefined,
  dialect: DialectName,
): FieldValidation {
  const { fieldValidation } = parseWrite(query)
  if (fieldValidation === '') return dialect === 'platform' ? 'Ignore' : 'Warn'
  if (isFieldValidation(fieldValidation)) return fieldValidation
  throw invalidOption(method, unsupportedField('fieldValidation', fieldValidation, ['', ...fieldValidations]))
}

function isFieldValidation(text: string): text is FieldValidation {
  return fieldValidations.includes(text)
}

function assertManager(manager: string, method: string | undefined): void {
  if (manager.length > maxManagerLength) throw invalidOption(method, tooLongField('fieldManager', maxManagerLength))
  if (/\p{C}/u.test(manager)) {
    throw invalidOption(method, invalidField('fieldManager', manager, 'should only contain printable characters'))
  }
}

/** Returns the program name of a User-Agent: `kubectl/v1.32 (linux/amd64)` is kubectl. */
function managerOf(userAgent = ''): string {
  const [program = ''] = userAgent.split('/', 1)
  return program.replace(/\P{ASCII}|\p{C}/gu, '').slice(0, maxManagerLength) || 'unknown'
}
