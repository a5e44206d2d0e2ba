import { inSlices, TimeSlice } from '../../loop/time-slice.ts'
import { formatTime, type Json, type JsonObject } from '../../model/api-object.ts'
import type { DecodedBody } from '../decode/json-text.ts'
import { type ApiDocument, isJsonObject, jsonTypeName, objectAt, textAt } from '../document.ts'
import type { Apply, Conflict } from '../managed-fields/apply.ts'
import { findDuplicateItems } from '../managed-fields/duplicate-items.ts'
import { renderPath } from '../managed-fields/fields-v1.ts'
import { applyWithLastApplied } from '../managed-fields/last-applied.ts'
import type { ManagedEntry } from '../managed-fields/managed-entry.ts'
import { findUndeclaredFields } from '../managed-fields/undeclared-fields.ts'
import type { Answer, ApplyOptions, FieldCheck, ItemTarget } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { apiVersionOf } from '../resources/resource.ts'
import { badRequest, notFound, StatusError } from '../status.ts'
import { acceptDocument, assertSameKind } from './accept-document.ts'
import { createObject } from './create.ts'
import { checkAppliedText } from './field-validation.ts'
import { partOf } from './track-fields.ts'
import { type ReviseOptions, reviseObject } from './update.ts'
import type { VerbContext } from './verb-context.ts'

const attempts = 8

/** Applies a configuration (server-side apply): 200, or 201 where it creates the object; 409 with the fields of other owners. */
export async function applyObject(
  context: VerbContext,
  target: ItemTarget,
  body: DecodedBody,
  options: ApplyOptions,
  fieldCheck: FieldCheck,
): Promise<Answer> {
  const applied = checkConfiguration(target, body.value)
  assertDeclared(context, target, applied, fieldCheck)
  checkAppliedText(fieldCheck, body)
  return applyConfigured(context, target, applied, options)
}

/**
 * Checks for unknown fields. In the kubernetes dialect a configuration with unknown fields is always refused, because
 * their owner is unknown. In the platform dialect `fieldValidation` decides (spec part 7).
 */
function assertDeclared(
  { dialect }: VerbContext,
  target: ItemTarget,
  applied: JsonObject,
  { validation, warn }: FieldCheck,
): void {
  const isRefused = dialect === 'kubernetes' || validation === 'Strict'
  if (!isRefused && validation === 'Ignore') return
  const undeclared = findUndeclaredFields(target.resource.schema, applied)
  if (isRefused && undeclared.length > 0) throw typedPatchError(target, applied, undeclared)
  undeclared.forEach(warn)
}

/** Returns a 400 in the words of Kubernetes, which answers a 500 here although the error is the client's. */
function typedPatchError({ resource, name }: ItemTarget, applied: JsonObject, errors: readonly string[]): StatusError {
  const { group, version, kind } = resource
  const object = `${textAt(applied, 'metadata', 'namespace')}/${name}; ${group}/${version}, Kind=${kind}`
  const list = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join('\n  ')}`
  return badRequest(`failed to create typed patch object (${object}): ${list}`)
}

/** Applies a configuration that has been checked. */
export async function applyConfigured(
  context: VerbContext,
  target: ItemTarget,
  applied: JsonObject,
  options: ApplyOptions & ReviseOptions,
): Promise<Answer> {
  const merge = (live: ApiDocument | undefined) => mergeInto(context, target, live, applied, options)
  const settled = { ...options, isApply: true }
  for (let attempt = 1; ; attempt++) {
    try {
      if (await exists(context, target)) return await reviseObject(context, target, merge, settled)
      if (target.subresource !== undefined) throw notFound(target.resource, target.name)
      return await createObject(context, target, await merge(undefined), settled)
    } catch (thrown) {
      if (attempt === attempts || !isOvertaken(target, thrown)) throw thrown
    }
  }
}

async function exists(context: VerbContext, { resource, namespace, name }: ItemTarget): Promise<boolean> {
  return (await context.store.get(storeKey(resource, namespace, name))) !== undefined
}

/** Checks whether another client created or deleted the object between the read and the write. */
function isOvertaken(target: ItemTarget, thrown: unknown): boolean {
  if (!(thrown instanceof StatusError) || target.subresource !== undefined) return false
  const isOwn = thrown.details?.name === target.name && thrown.details.kind === target.resource.plural
  return isOwn && (thrown.code === 'AlreadyExists' || thrown.code === 'NotFound')
}

/** Checks a configuration and returns it with its name. Throws a 400 for one that does not fit the target. */
export function checkConfiguration(target: ItemTarget, body: Json): JsonObject {
  if (!isJsonObject(body)) throw badRequest(`expected an object in the body, found ${jsonTypeName(body)}`)
  for (const field of ['apiVersion', 'kind']) {
    if (textAt(body, field) === '') throw badRequest(`${field} must be set in an apply patch`)
  }
  assertSameKind(target.resource, body)
  const metadata = objectAt(body, 'metadata')
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null) {
    throw badRequest('metadata.managedFields must be nil')
  }
  const name = textAt(metadata, 'name')
  if (name !== '' && name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
  }
  assertNoDuplicates(target, body)
  return { ...body, metadata: { ...metadata, name: target.name } }
}

/** Checks that no list repeats a key: the owner of two items with one key would be ambiguous. */
function assertNoDuplicates(target: ItemTarget, body: JsonObject): void {
  const [duplicate] = findDuplicateItems(target.resource.schema, body)
  if (duplicate !== undefined) throw typedPatchError(target, body, [duplicate])
}

async function mergeInto(
  context: VerbContext,
  target: ItemTarget,
  live: ApiDocument | undefined,
  applied: JsonObject,
  { manager, force }: ApplyOptions,
): Promise<ApiDocument> {
  const { resource, subresource = '' } = target
  const apply: Apply = {
    schema: resource.schema,
    live,
    applied,
    writer: { manager, operation: 'Apply', apiVersion: apiVersionOf(resource), subresource },
    part: partOf(target),
    time: formatTime(context.now()),
    isForced: force,
  }
  const slice = new TimeSlice()
  const result = await inSlices(applyWithLastApplied(apply), slice)
  if (result.kind === 'conflicts') throw applyConflict(result.conflicts)
  await slice.whenSpent()
  return acceptDocument(target, result.document)
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${renderOwner(owner)}`,
    field: renderPath(path),
  }))
  const count = conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`
  return new StatusError('Conflict', `Apply failed with ${count}: ${renderConflicts(conflicts)}`, {
    details: { causes },
  })
}

/** Renders conflicts: one on a single line, several grouped by their owner. */
function renderConflicts(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (first !== undefined && conflicts.length === 1) {
    return `conflict with ${renderOwner(first.owner)}: ${renderPath(first.path)}`
  }
  const byOwner = Map.groupBy(conflicts, ({ owner }) => renderOwner(owner))
  return [...byOwner]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([owner, own]) => [`conflicts with ${owner}:`, ...own.map(({ path }) => `- ${renderPath(path)}`)])
    .join('\n')
}

function renderOwner({ manager, subresource, operation, apiVersion }: ManagedEntry): string {
  const name = JSON.stringify(manager) + (subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`)
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
