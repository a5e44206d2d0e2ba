import { parseQuantity } from '../../model/quantity.ts'
import { selects } from '../objects/selector.ts'
import type { Volume, VolumeClaim } from '../objects/volume.ts'

/** Returns the class of a volume or claim; in old objects an annotation names it. */
export function classOf({ metadata, spec }: Volume | VolumeClaim, annotation: string): string {
  return metadata.annotations[annotation] ?? spec.storageClassName ?? ''
}

/** Returns the size of a volume in thousandths of a byte. */
function sizeOf({ spec }: Volume): bigint {
  return parseQuantity(String(spec.capacity['storage'] ?? '0'))
}

function requestOf({ spec }: VolumeClaim): bigint {
  return parseQuantity(String(spec.resources.requests['storage'] ?? '0'))
}

/** Checks whether a volume names the claim: by its uid where it has one, else by its name, which a user wrote. */
export function isFor({ spec }: Volume, { metadata }: VolumeClaim): boolean {
  const { claimRef } = spec
  if (claimRef === undefined) return false
  const isNamed = claimRef.name === metadata.name && claimRef.namespace === metadata.namespace
  return isNamed && (claimRef.uid === '' || claimRef.uid === metadata.uid)
}

/** Returns why a volume that a claim names does not suit it, in the words of Kubernetes; undefined where it does. */
export function mismatchOf(volume: Volume, claim: VolumeClaim, annotation: string): string | undefined {
  if (sizeOf(volume) < requestOf(claim)) return 'requested PV is too small'
  if (classOf(volume, annotation) !== classOf(claim, annotation)) return 'storageClassName does not match'
  if (volume.spec.volumeAttributesClassName !== claim.spec.volumeAttributesClassName)
    return 'VolumeAttributesClass does not match'
  if (volume.spec.volumeMode !== claim.spec.volumeMode) return 'incompatible volumeMode'
  return hasModes(volume, claim) ? undefined : 'incompatible accessMode'
}

function hasModes(volume: Volume, claim: VolumeClaim): boolean {
  return claim.spec.accessModes.every((mode) => volume.spec.accessModes.includes(mode))
}

interface MatchOptions {
  /** The annotation with the class of old objects. */
  readonly annotation: string
  /** Whether the claim waits for its first Pod: then it gets only a volume that names it. */
  readonly waits: boolean
  /** Checks whether a volume can be used where the Pod will run; absent: everywhere. */
  readonly isReachable?: (volume: Volume) => boolean
  /** The volumes that other claims of the same Pod get. */
  readonly taken?: ReadonlySet<string>
}

/**
 * Finds the volume of a claim: one that names the claim, else of the free ones that suit it the one with the fewest
 * access modes, and of these the smallest.
 */
export function findVolume(claim: VolumeClaim, volumes: Iterable<Volume>, options: MatchOptions): Volume | undefined {
  const { isReachable = () => true } = options
  let best: Volume | undefined
  for (const volume of volumes) {
    if (!mayBeUsed(volume, claim, options)) continue
    if (volume.spec.claimRef !== undefined) return isReachable(volume) ? volume : undefined
    if (!isFree(volume, options) || !isReachable(volume) || !isChosen(volume, claim, options.annotation)) continue
    if (best === undefined || isBetter(volume, best)) best = volume
  }
  return best
}

function mayBeUsed(volume: Volume, claim: VolumeClaim, { taken }: MatchOptions): boolean {
  if (taken?.has(volume.metadata.name) === true || volume.metadata.deletionTimestamp !== undefined) return false
  return (volume.spec.claimRef === undefined || isFor(volume, claim)) && suits(volume, claim)
}

function isFree({ status }: Volume, { waits }: MatchOptions): boolean {
  return !waits && status.phase === 'Available'
}

function suits(volume: Volume, claim: VolumeClaim): boolean {
  const isAlike =
    volume.spec.volumeMode === claim.spec.volumeMode &&
    volume.spec.volumeAttributesClassName === claim.spec.volumeAttributesClassName
  return isAlike && sizeOf(volume) >= requestOf(claim) && hasModes(volume, claim)
}

function isChosen(volume: Volume, claim: VolumeClaim, annotation: string): boolean {
  const { selector } = claim.spec
  if (selector !== undefined && !selects(selector, volume.metadata.labels)) return false
  return classOf(volume, annotation) === classOf(claim, annotation)
}

function isBetter(one: Volume, other: Volume): boolean {
  const [modes, otherModes] = [one.spec.accessModes.length, other.spec.accessModes.length]
  if (modes !== otherModes) return modes < otherModes
  const [size, otherSize] = [sizeOf(one), sizeOf(other)]
  return size === otherSize ? one.metadata.name < other.metadata.name : size < otherSize
}
