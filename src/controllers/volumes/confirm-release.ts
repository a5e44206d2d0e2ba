import type { ApiObject } from '../../model/api-object.ts'
import type { VolumeNames } from '../../model/volume-names.ts'
import { volumeClaimType, volumeType } from '../objects/types.ts'
import { type Volume, volumeClaimSchema, volumeSchema } from '../objects/volume.ts'
import { nameOf, type ObjectName } from '../objects/writes.ts'
import { planVolume } from './plan-volume.ts'

/** Reads an object from the API server; undefined where there is none. */
export type LiveRead = (name: ObjectName) => Promise<ApiObject | undefined>

/**
 * Reads both sides of a volume that has lost its claim by the caches, and returns the volume as it is now; undefined
 * where it is not to be reclaimed. A cache may be behind: the claim may be newer than the cache, or an administrator may
 * just have changed the policy. What a reclaim deletes does not come back. Throws ApiError, and ZodError for an object
 * that cannot be read.
 */
export async function confirmRelease(volume: Volume, names: VolumeNames, read: LiveRead): Promise<Volume | undefined> {
  const found = await read(nameOf(volumeType.resource, volume))
  if (found === undefined || found.metadata.uid !== volume.metadata.uid) return undefined
  const now = volumeSchema.parse(found)
  const claim = await readClaim(now, read)
  return planVolume({ volume: now, claim, names }).isToReclaim === true ? now : undefined
}

async function readClaim({ spec }: Volume, read: LiveRead) {
  const { namespace = '', name = '' } = spec.claimRef ?? {}
  if (namespace === '' || name === '') return undefined
  const found = await read({ resource: volumeClaimType.resource, namespace, name })
  return found === undefined ? undefined : volumeClaimSchema.parse(found)
}
