import type { VolumeNames } from '../../model/volume-names.ts'
import type { Volume, VolumeClaim } from '../objects/volume.ts'
import type { Write } from '../objects/writes.ts'
import { patchOf, phaseWrite, type Said } from './plan-claim.ts'

export interface VolumeView {
  readonly volume: Volume
  /** The claim with the name in the volume; undefined where there is none. */
  readonly claim: VolumeClaim | undefined
  readonly names: VolumeNames
}

export interface VolumePlan {
  readonly writes: readonly Write[]
  readonly said?: Said
  /** Whether the volume has lost its claim, so that its reclaim policy holds after the writes. */
  readonly isToReclaim?: boolean
}

/** Plans the phase of a volume, and takes back a binding that its claim did not follow. */
export function planVolume({ volume, claim, names }: VolumeView): VolumePlan {
  const { claimRef } = volume.spec
  if (claimRef === undefined || claimRef.uid === '') return { writes: phaseWrites(volume, 'Available') }
  if (claim === undefined || claim.metadata.uid !== claimRef.uid) return released(volume)
  if (claim.spec.volumeName === volume.metadata.name) return { writes: phaseWrites(volume, 'Bound') }
  if (claim.spec.volumeName === '') return { writes: [], ...mismatch(volume, claim) }
  const isProvisioned = volume.metadata.annotations[names.provisionedBy] !== undefined
  if (isProvisioned && volume.spec.persistentVolumeReclaimPolicy === 'Delete') return released(volume)
  return { writes: [unbindWrite(volume, names), ...phaseWrites(volume, 'Available')] }
}

function phaseWrites(volume: Volume, phase: string): readonly Write[] {
  // A message about an earlier failure goes with it.
  return volume.status.phase === phase ? [] : [phaseWrite(volume, phase, { message: null, reason: null })]
}

function released(volume: Volume): VolumePlan {
  const isKnown = ['Released', 'Failed'].includes(volume.status.phase)
  return { writes: isKnown ? [] : phaseWrites(volume, 'Released'), isToReclaim: true }
}

function mismatch(volume: Volume, claim: VolumeClaim): { readonly said?: Said } {
  if (volume.spec.volumeMode === claim.spec.volumeMode) return {}
  const message = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" due to incompatible volumeMode.`
  return { said: { type: 'Warning', reason: 'VolumeMismatch', message } }
}

/** A volume that a user kept for the claim stays kept for it. */
function unbindWrite(volume: Volume, names: VolumeNames): Write {
  if (volume.metadata.annotations[names.boundByController] === undefined)
    return patchOf(volume, { spec: { claimRef: { uid: null } } })
  return patchOf(volume, { metadata: { annotations: { [names.boundByController]: null } }, spec: { claimRef: null } })
}
