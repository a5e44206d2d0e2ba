import { inSlices, type TimeSlice } from '../../loop/time-slice.ts'
import { formatTime, type Json } from '../../model/api-object.ts'
import { type ApiDocument, withMetadata, without } from '../document.ts'
import type { WrittenPart } from '../managed-fields/ownable.ts'
import { trackUpdate } from '../managed-fields/track-update.ts'
import type { Target, WriteOptions } from '../request/request.ts'
import { apiVersionOf } from '../resources/resource.ts'
import type { VerbContext } from './verb-context.ts'

interface Write {
  readonly old: ApiDocument | undefined
  readonly next: ApiDocument
  /** The `metadata.managedFields` of the request. */
  readonly requested: Json | undefined
}

/** Returns `next` with its managed fields after this write; yields to other requests. An apply has computed its own. */
export async function trackFields(
  context: VerbContext,
  target: Target,
  { old, next, requested }: Write,
  { manager, isApply }: WriteOptions,
  slice: TimeSlice,
): Promise<ApiDocument> {
  const { resource, subresource } = target
  if (isApply === true) return withMetadata(next, requested === undefined ? {} : { managedFields: requested })
  const stages = trackUpdate({
    schema: resource.schema,
    old,
    next,
    writer: { manager, operation: 'Update', apiVersion: apiVersionOf(resource), subresource: subresource ?? '' },
    part: partOf(target),
    time: formatTime(context.now()),
    requested: subresource === undefined ? requested : undefined,
  })
  const managedFields = await inSlices(stages, slice)
  if (managedFields !== undefined) return withMetadata(next, { managedFields })
  return { ...next, metadata: without(next.metadata, 'managedFields') }
}

/** Returns the fields that a request to this target can own. */
export function partOf({ resource, subresource }: Target): WrittenPart {
  if (subresource === 'status') return resource.strategy.statusLeaves === 'metadata' ? 'status' : 'metadata-and-status'
  return resource.subresources.includes('status') ? 'all-but-status' : 'all'
}
