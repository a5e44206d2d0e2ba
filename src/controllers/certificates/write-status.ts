import { orAbsent } from '../../client/index.ts'
import type { JsonObject } from '../../model/api-object.ts'
import type { ControllerContext } from '../context.ts'
import type { SigningRequest } from '../objects/signing-request.ts'

interface StatusWrite {
  readonly subresource: 'approval' | 'status'
  readonly status: JsonObject
}

/** Writes the status of a request unless it has changed since it was read; for a request that is gone nothing is left to do. */
export async function writeStatus(
  { caches, types }: ControllerContext,
  request: SigningRequest,
  { subresource, status }: StatusWrite,
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion } = request.metadata
  const patch = { metadata: { uid, resourceVersion }, status }
  await orAbsent(caches.writer(types.signingRequests).patch(request, { kind: 'merge', patch }, signal, subresource))
}
