import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { AdmissionRequest } from '../admission/admission-request.ts'
import { convertTo } from '../admission/match-resources.ts'
import { type ApiDocument, isJsonObject } from '../document.ts'
import { applyJsonPatch } from '../patch/json-patch.ts'
import { PatchError } from '../patch/json-pointer.ts'
import { coerce } from '../schema/coerce.ts'
import { coerceStructural } from '../schema/coerce-structural.ts'
import { internalError } from '../status.ts'
import type { ReviewResponse } from './read-response.ts'
import { unsupportedPatch } from './rejection.ts'
import type { Invocation } from './review.ts'
import type { Webhook } from './webhook.ts'

/**
 * Returns the object of a request with the patch of a webhook, defaults filled in; the object itself where nothing
 * changes. Throws a 500 for a patch that cannot be applied, as kube-apiserver does.
 */
export function applyResponse(
  webhook: Webhook,
  request: AdmissionRequest,
  invocation: Invocation,
  { patch }: ReviewResponse,
): ApiDocument | undefined {
  const { object, resource } = invocation
  if (patch.length === 0) return request.object
  if (object === undefined) throw unsupportedPatch(webhook)
  const changed = accept(request, invocation, patchObject(object, patch))
  if (isDeepStrictEqual(changed, object)) return request.object
  return invocation.kind === request.kind ? changed : convertTo(request.resource, resource, changed)
}

function patchObject(object: ApiDocument, patch: readonly Json[]): Json {
  try {
    return applyJsonPatch(object, [...patch])
  } catch (thrown) {
    throw thrown instanceof PatchError ? internalError(thrown.message, thrown) : thrown
  }
}

/**
 * Checks the types of a changed object and fills in its defaults, which the next webhook sees. The body of a subresource
 * is accepted with the write.
 */
function accept({ operation }: AdmissionRequest, { resource, kind }: Invocation, value: Json): ApiDocument {
  if (!isJsonObject(value)) throw internalError('a webhook changed the object into something else')
  if (kind.kind !== resource.kind) return value as ApiDocument
  const coerceAny = resource.isCustom === true ? coerceStructural : coerce
  const { value: accepted, problems } = coerceAny(resource.schema, value)
  const [problem] = problems
  if (problem !== undefined)
    throw internalError(`${problem.path}: expected ${problem.expected}, found ${problem.found}`)
  const document = accepted as ApiDocument
  return operation === 'CREATE' ? (resource.strategy.prepareForCreate?.(document) ?? document) : document
}
