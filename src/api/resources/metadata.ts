import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, formatTime, withMetadata } from '../document.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { checkMetadata } from '../schema/metadata-rules.ts'
import { checkDnsSubdomain } from './names.ts'
import type { Resource } from './resource.ts'

/** The rules every kind shares: name, labels, annotations, finalizers. */
export function validateMetadata(resource: Resource, { metadata }: ApiDocument): readonly FieldError[] {
  return [...validateName(resource, metadata.name), ...checkMetadata(metadata as JsonObject, 'metadata')]
}

/** What an update may not touch. */
export function validateMetadataUpdate({ metadata }: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const errors: FieldError[] = []
  if (metadata.name !== old.metadata.name) {
    errors.push(invalidField('metadata.name', metadata.name, 'field is immutable'))
  }
  const before = old.metadata.finalizers ?? []
  const added = (metadata.finalizers ?? []).filter((finalizer) => !before.includes(finalizer))
  if (old.metadata.deletionTimestamp !== undefined && added.length > 0) {
    const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`
    errors.push(forbiddenField('metadata.finalizers', why))
  }
  return errors
}

/** A request may leave the time of creation out, or repeat it. */
export function validateCreationTime({ metadata }: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const { creationTimestamp: wanted } = metadata
  const { creationTimestamp: present } = old.metadata
  if (!wanted || present === undefined || Date.parse(wanted) === Date.parse(present)) return []
  return [invalidField('metadata.creationTimestamp', wanted, 'field is immutable')]
}

/** Whether anything beside metadata and, where it is a subresource, status differs: what `metadata.generation` counts. */
export function isSpecChanged(resource: Resource, next: ApiDocument, old: ApiDocument): boolean {
  return !isDeepStrictEqual(specParts(resource, next), specParts(resource, old))
}

function specParts(resource: Resource, document: ApiDocument): unknown {
  const { metadata: _, status, ...spec } = document
  return resource.subresources.includes('status') ? spec : { ...spec, status }
}

function validateName(resource: Resource, name: string | undefined): readonly FieldError[] {
  if (name === undefined || name === '') {
    return [requiredField('metadata.name', 'name or generateName is required')]
  }
  const problem = (resource.strategy.validateName ?? checkDnsSubdomain)(name)
  return problem === undefined ? [] : [invalidField('metadata.name', name, problem)]
}

/** Being deleted from now on, and gone after the grace unless finalizers keep it longer. */
export function markDeleted(document: ApiDocument, graceSeconds: number, now: Date): ApiDocument {
  const { generation, deletionTimestamp } = document.metadata
  const isFirst = deletionTimestamp === undefined
  return withMetadata(document, {
    deletionTimestamp: formatTime(new Date(now.getTime() + graceSeconds * 1000)),
    deletionGracePeriodSeconds: graceSeconds,
    ...(isFirst && generation !== undefined ? { generation: generation + 1 } : {}),
  })
}
