import type { ApiDocument } from '../document.ts'
import { validateMetadata } from '../resources/metadata.ts'
import type { Resource, Strategy } from '../resources/resource.ts'
import { coerce } from '../schema/coerce.ts'
import type { FieldError } from '../schema/field-error.ts'

type ObjectCheck = Strategy['validateStatus']

/**
 * What is wrong with an update. An object that an earlier version stored lacks this version's defaults and may break its rules: neither
 * is held against a request that changes something else, so its labels, finalizers and status can still be written.
 */
export function findUpdateErrors(resource: Resource, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const check: ObjectCheck = (document, before) => [
    ...validateMetadata(resource, document),
    ...(resource.strategy.validate?.(document, before) ?? []),
  ]
  return [...findNewErrors(check, next, old), ...findForbiddenChanges(resource, next, old)]
}

/** What is wrong with a new status, and was not with the one before. */
export function findStatusErrors({ strategy }: Resource, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return findNewErrors(strategy.validateStatus, next, old)
}

/** What a check finds in an object and not in what it was before. */
function findNewErrors(check: ObjectCheck, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const errors = check?.(next, old) ?? []
  if (errors.length === 0) return []
  const known = new Set(check?.(old, old).map(keyOf))
  return errors.filter((error) => !known.has(keyOf(error)))
}

function keyOf({ field, message }: FieldError): string {
  return `${field}: ${message}`
}

function findForbiddenChanges(resource: Resource, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const { validateUpdate } = resource.strategy
  const errors = validateUpdate?.(next, old) ?? []
  if (validateUpdate === undefined || errors.length === 0 || resource.isCustom === true) return errors
  return validateUpdate(next, withDefaults(resource, old))
}

function withDefaults({ schema, strategy }: Resource, old: ApiDocument): ApiDocument {
  const complete = coerce(schema, old).value as ApiDocument
  return strategy.prepareForUpdate?.(complete, complete) ?? complete
}
