import type { Json, JsonObject } from '../../model/api-object.ts'
import { unknownField } from '../decode/field-problems.ts'
import type { DecodedBody } from '../decode/json-text.ts'
import { isJsonObject } from '../document.ts'
import type { FieldCheck, FieldProblems, Patch } from '../request/request.ts'
import type { Resource } from '../resources/resource.ts'
import { invalidField } from '../schema/field-error.ts'
import { prune } from '../schema/prune.ts'
import { badRequest, StatusError } from '../status.ts'

/** Checks the fields of a body; its text is read again only where unknown or repeated fields are reported. Strict: 400. */
export function checkBodyFields(
  { validation, warn }: FieldCheck,
  resource: Resource,
  { value, problems }: DecodedBody,
): void {
  if (validation === 'Ignore') return
  const isStrict = validation === 'Strict'
  const found = inWords(resource, value, problems, isStrict ? asOneError : undefined)
  if (!isStrict) found.forEach(warn)
  else if (found.length > 0) throw strictBodyError(resource, found)
}

function strictBodyError({ kind, version }: Resource, problems: readonly string[]): StatusError {
  const what = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`
  return badRequest(`${what}: strict decoding error: ${problems.join(', ')}`)
}

/** Checks the text of a configuration to apply; its unknown fields are found when it is compared with the schema. Strict: 400. */
export function checkAppliedText({ validation, warn }: FieldCheck, { problems }: DecodedBody): void {
  if (validation === 'Ignore') return
  const duplicates = problems.findDuplicates()
  if (validation === 'Warn') duplicates.forEach(warn)
  else if (duplicates.length > 0)
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${asOneError(duplicates)}`)
}

/** Checks what a patch makes of an object, and the patch's own text. Strict: 422. */
export function checkPatchedFields(
  { validation, warn }: FieldCheck,
  resource: Resource,
  patched: Json,
  patch: Patch,
): void {
  if (validation === 'Ignore') return
  const problems = [...problemsOfPatch(patch), ...unknownFields(resource, patched).map(unknownField)]
  if (validation === 'Warn') problems.forEach(warn)
  else if (problems.length > 0) throw strictPatchError(patch, problems)
}

/** Returns the problems of a body in words, the duplicates of a YAML text combined by `unite`. */
function inWords(
  resource: Resource,
  value: Json,
  { findDuplicates, findInOrder, isYaml }: FieldProblems,
  unite: ((lines: readonly string[]) => string) | undefined,
): readonly string[] {
  const unknown = unknownFields(resource, value)
  if (resource.isCustom !== true && findInOrder !== undefined) return findInOrder(unknown)
  const duplicates = findDuplicates()
  const united = isYaml === true && unite !== undefined && duplicates.length > 0 ? [unite(duplicates)] : duplicates
  return [...united, ...unknown.map(unknownField)]
}

/** Joins the lines of a YAML reader into one error. */
function asOneError(lines: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${lines.join('\n  ')}`
}

/** Returns the unknown fields in order; the metadata of a custom resource precedes its other fields. */
function unknownFields({ schema, isCustom }: Resource, value: Json): readonly string[] {
  const unknown = [...new Set(prune(schema, value).unknown)].sort()
  if (isCustom !== true) return unknown
  const isMetadata = (path: string) => path.startsWith('metadata.')
  return [...unknown.filter(isMetadata), ...unknown.filter((path) => !isMetadata(path))]
}

const operationFields = ['op', 'path', 'from', 'value']

function problemsOfPatch({ type, value, problems }: Patch): readonly string[] {
  const duplicates = problems.findDuplicates()
  if (type !== 'json') return duplicates
  const operations = Array.isArray(value) ? (value as readonly Json[]) : []
  const unknown = operations.flatMap((operation, index) =>
    Object.keys(isJsonObject(operation) ? operation : ({} as JsonObject))
      .filter((field) => !operationFields.includes(field))
      .map((field) => unknownField(`[${index}].${field}`)),
  )
  return [...duplicates, ...unknown].map((text) => `json patch ${text}`)
}

/** Returns the error of a strict patch, which in Kubernetes names neither the kind nor the object. */
function strictPatchError(patch: Patch, problems: readonly string[]): StatusError {
  const value = JSON.stringify(patch.value)
  const error = invalidField('patch', value, `strict decoding error: ${problems.join(', ')}`)
  return new StatusError('Invalid', ` "" is invalid: ${error.field}: ${error.message}`, {
    details: { causes: [error] },
  })
}
