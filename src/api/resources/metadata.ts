import { isDeepStrictEqual } from 'node:util'
import { formatTime, type JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, type Metadata, withMetadata } from '../document.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { checkFinalizerDomains, checkMetadata } from '../schema/metadata-rules.ts'
import { checkDnsSubdomain } from '../schema/names.ts'
import type { Resource } from './resource.ts'

/** Checks the metadata rules of every kind: name, labels, annotations, owners, finalizers. */
export function validateMetadata(resource: Resource, { metadata }: ApiDocument): readonly FieldError[] {
  const { finalizers, generateName } = metadata
  const own = checkMetadata(metadata as JsonObject, 'metadata')
  return [
    ...(generateName ? validateBase(resource, generateName) : []),
    ...validateName(resource, metadata.name),
    ...own,
    ...(finalizers === undefined || takesAnyFinalizer(resource)
      ? []
      : checkFinalizerDomains(finalizers, (index) => `metadata.finalizers[${index}]`)),
  ]
}

function takesAnyFinalizer({ isCustom, strategy }: Resource): boolean {
  return isCustom === true || strategy.takesAnyFinalizer === true
}

/** Checks that an update does not change immutable metadata; `revised` is the object in the request. */
export function validateMetadataUpdate(revised: Metadata, next: Metadata, old: Metadata): readonly FieldError[] {
  const { finalizers } = next
  const errors = ['deletionTimestamp', 'deletionGracePeriodSeconds'].flatMap((field) => {
    const wanted = revised[field]
    const isKept = wanted === undefined || wanted === old[field] || isOverwritten(field, old)
    return isKept ? [] : [invalidField(`metadata.${field}`, wanted, 'field is immutable')]
  })
  if (old.deletionTimestamp === undefined || finalizers === undefined) return errors
  const before = old.finalizers ?? []
  const added = finalizers.filter((finalizer) => !before.includes(finalizer))
  if (added.length === 0) return errors
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`
  return [...errors, forbiddenField('metadata.finalizers', why)]
}

/** Checks whether the server overwrites a field: the deletion time in a request is ignored. */
function isOverwritten(field: string, old: Metadata): boolean {
  return field === 'deletionTimestamp' && old.deletionTimestamp !== undefined
}

/** Checks whether a change goes beyond metadata and, for a status subresource, status: `metadata.generation` counts those. */
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

/** Checks a name prefix: letters are appended to it, so it may end with a hyphen. */
function validateBase({ strategy }: Resource, base: string): readonly FieldError[] {
  const name = base.length > 1 && base.endsWith('-') ? `${base.slice(0, -2)}a` : base
  const problem = (strategy.validateName ?? checkDnsSubdomain)(name)
  return problem === undefined ? [] : [invalidField('metadata.generateName', base, problem)]
}

/** Returns the document marked for deletion: it is deleted after the grace period unless finalizers keep it longer. */
export function markDeleted(document: ApiDocument, graceSeconds: number, now: Date): ApiDocument {
  const { generation, deletionTimestamp } = document.metadata
  const isFirst = deletionTimestamp === undefined
  return withMetadata(document, {
    deletionTimestamp: formatTime(new Date(now.getTime() + graceSeconds * 1000)),
    deletionGracePeriodSeconds: graceSeconds,
    ...(isFirst && generation !== undefined ? { generation: generation + 1 } : {}),
  })
}
