import type { Json } from '../../model/api-object.ts'
import type { Resource } from '../resources/resource.ts'
import { invalidField } from '../schema/field-error.ts'
import { prune } from '../schema/prune.ts'
import { badRequest, invalid, type StatusError } from '../status.ts'
import type { Patch } from './patch.ts'

/** What happens to fields that a kind does not declare and to fields that stand twice: dropped in silence, with a warning, or refused. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** How a request wants its fields checked, and where warnings go. */
export interface FieldCheck {
  readonly validation: FieldValidation
  readonly warn: (text: string) => void
}

/** Checks the fields of a body; its text is looked at again only when someone wants to know. Strict: 400. */
export function checkBodyFields(
  { validation, warn }: FieldCheck,
  resource: Resource,
  { value, findDuplicates }: { readonly value: Json; readonly findDuplicates: () => readonly string[] },
): void {
  if (validation === 'Ignore') return
  const problems = [...findUnknown(resource, value), ...findDuplicates()]
  if (validation === 'Warn') problems.forEach(warn)
  else if (problems.length > 0) throw strictBodyError(resource, problems)
}

/** Checks what a patch makes of an object, and the patch's own text. Strict: 422. */
export function checkPatchedFields(
  { validation, warn }: FieldCheck,
  { resource, name }: { readonly resource: Resource; readonly name: string },
  patched: Json,
  patch: Patch,
): void {
  if (validation === 'Ignore') return
  const prefix = patch.type === 'json' ? 'json patch ' : ''
  const duplicates = patch.findDuplicates().map((text) => `${prefix}${text}`)
  const problems = [...duplicates, ...findUnknown(resource, patched)]
  if (validation === 'Warn') problems.forEach(warn)
  else if (problems.length > 0) {
    const error = invalidField('patch', JSON.stringify(patch.value), `strict decoding error: ${problems.join(', ')}`)
    throw invalid(resource, name, [error])
  }
}

function findUnknown({ schema }: Resource, value: Json): readonly string[] {
  const { unknown } = prune(schema, value)
  return [...new Set(unknown)].sort().map((path) => `unknown field ${JSON.stringify(path)}`)
}

function strictBodyError({ kind, version }: Resource, problems: readonly string[]): StatusError {
  const what = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`
  return badRequest(`${what}: strict decoding error: ${problems.join(', ')}`)
}
