import type { ApiDocument } from '../document.ts'
import { validateMetadata } from '../resources/metadata.ts'
import type { Resource, Strategy } from '../resources/resource.ts'
import { coerce } from '../schema/coerce.ts'
import type { FieldError } from '../schema/field-error.ts'

type ObjectCheck = Strategy['validateStatus']

/**
 * Returns the errors of an update. An object that an earlier version stored may lack defaults of this version and break
 * its rules. Such errors do not block a request that changes something else, so its labels, finalizers and status can
 * still be written. `validateUpdate`: the rules for what may change, for a part of an object its own.
 */
export function findUpdateErrors(
  resource: Resource,
  next: ApiDocument,
  old: ApiDocument,
  validateUpdate = resource.strategy.validateUpdate,
): readonly FieldError[] {
  const check: ObjectCheck = (document, before) => [
    ...validateMetadata(resource, document),
    ...(resource.strategy.validate?.(document, before) ?? []),
  ]
  return [...findNewErrors(check, next, old), ...findForbiddenChanges(resource, next, old, validateUpdate)]
}

/** Returns the errors of a new status that the old one did not have. */
export function findStatusErrors({ strategy }: Resource, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return findNewErrors(strategy.validateStatus, next, old)
}

/** Returns the errors that a check finds in an object and not in its old state. */
function findNewErrors(check: ObjectCheck, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const errors = check?.(next, old) ?? []
  if (errors.length === 0) return []
  const known = new Set(check?.(old, old).map(keyOf))
  return errors.filter((error) => !known.has(keyOf(error)))
}

function keyOf({ field, message }: FieldError): string {
  return `${field}: ${message}`
}

function findForbiddenChanges(
  resource: Resource,
  next: ApiDocument,
  old: ApiDocument,
  validateUpdate: Strategy['validateUpdate'],
): readonly FieldError[] {
  const errors = validateUpdate?.(next, old) ?? []
  if (validateUpdate === undefined || errors.length === 0 || resource.isCustom === true) return errors
  return validateUpdate(next, withDefaults(resource, old))
}

function withDefaults({ schema, strategy }: Resource, old: ApiDocument): ApiDocument {
  const complete = coerce(schema, old).value as ApiDocument
  return strategy.prepareForUpdate?.(complete, complete) ?? complete
}
