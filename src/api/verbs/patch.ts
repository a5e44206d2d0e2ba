import { TimeSlice } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { maxDepth } from '../decode/limits.ts'
import { type ApiDocument, isDeeperThan } from '../document.ts'
import { applyJsonPatch } from '../patch/json-patch.ts'
import { PatchError } from '../patch/json-pointer.ts'
import { applyMergePatch } from '../patch/merge-patch.ts'
import { applyStrategicPatch } from '../patch/strategic-patch.ts'
import type { Answer, ItemTarget, Patch, WriteOptions } from '../request/request.ts'
import type { Resource } from '../resources/resource.ts'
import { invalidField } from '../schema/field-error.ts'
import { badRequest, invalid, StatusError } from '../status.ts'
import { acceptDocument } from './accept-document.ts'
import { checkPatchedFields } from './field-validation.ts'
import { reviseObject } from './update.ts'
import type { VerbContext } from './verb-context.ts'

export function patchObject(
  context: VerbContext,
  target: ItemTarget,
  patch: Patch,
  options: WriteOptions,
): Promise<Answer> {
  const revise = async (current: ApiDocument) => {
    const slice = new TimeSlice()
    const patched = applyPatch(target.resource, target.name, current, patch)
    if (options.fieldCheck !== undefined) checkPatchedFields(options.fieldCheck, target.resource, patched, patch)
    await slice.whenSpent()
    return withSameUid(target, acceptDocument(target, patched), current)
  }
  return reviseObject(context, target, revise, options)
}

/** Keeps the uid: a patch changes the existing object, while another uid in a PUT means another object. */
function withSameUid({ resource, name }: ItemTarget, patched: ApiDocument, { metadata }: ApiDocument): ApiDocument {
  const { uid } = patched.metadata
  if (!uid || uid === metadata.uid) return patched
  throw invalid(resource, name, [invalidField('metadata.uid', uid, 'field is immutable')])
}

/** Limits the depth: operations that each add a level can make an object deeper than any body. */
function withinDepth(value: Json): Json {
  if (!isDeeperThan(value, maxDepth)) return value
  throw new PatchError('failed', `the result is nested more than ${maxDepth} levels deep`)
}

/** Returns the patched value. Throws a Status. */
export function applyPatch(resource: Resource, name: string, current: Json, { type, value }: Patch): Json {
  if (type === 'merge') return applyMergePatch(current, value)
  try {
    if (type === 'json') return withinDepth(applyJsonPatch(current, value))
    return applyStrategicPatch(resource.schema, current, value)
  } catch (thrown) {
    throw thrown instanceof PatchError ? patchStatus(resource, name, thrown) : thrown
  }
}

function patchStatus(resource: Resource, name: string, error: PatchError): StatusError {
  switch (error.code) {
    case 'malformed':
      return badRequest(error.message, error)
    case 'too-large':
      return new StatusError('RequestEntityTooLarge', error.message, { cause: error })
    case 'failed':
      return invalid(resource, name, [
        { reason: 'FieldValueInvalid', field: 'patch', message: `Invalid value: ${error.message}` },
      ])
  }
}
