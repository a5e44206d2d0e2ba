import { isQuantity, parseQuantity } from '../../model/quantity.ts'
import { selects } from '../objects/selector.ts'
import type { Volume, VolumeClaim } from '../objects/volume.ts'

/** Returns the class of a volume or claim; in old objects an annotation names it. */
export function classOf({ metadata, spec }: Volume | VolumeClaim, annotation: string): string {
  return metadata.annotations[annotation] ?? spec.storageClassName ?? ''
}

const sizes = new WeakMap<Volume, bigint>()

/** Returns the size of a volume in thousandths of a byte; one that cannot be read has none. */
function sizeOf(volume: Volume): bigint {
  const known = sizes.get(volume) ?? readAmount(volume.spec.capacity) ?? -1n
  sizes.set(volume, known)
  return known
}

/**
 * Reads an amount of storage. An API server may store amounts that no parser here reads: they must not end the search
 * for all claims.
 */
function readAmount({ storage = '0' }: Readonly<Record<string, string | number>>): bigint | undefined {
  const text = String(storage)
  return isQuantity(text) ? parseQuantity(text) : undefined
}

function isLargeEnough(volume: Volume, { spec }: VolumeClaim): boolean {
  const request = readAmount(spec.resources.requests)
  return request !== undefined && sizeOf(volume) >= request
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
  if (!isLargeEnough(volume, claim)) return 'requested PV is too small'
  if (classOf(volume, annotation) !== classOf(claim, annotation)) return 'storageClassName does not match'
  if (volume.spec.volumeAttributesClassName !== claim.spec.volumeAttributesClassName)
    return 'VolumeAttributesClass does not match'
  if (volume.spec.volumeMode !== claim.spec.volumeMode) return 'incompatible volumeMode'
  return hasModes(volume, claim) ? undefined : 'incompatible accessMode'
}

function hasModes(volume: Volume, claim: VolumeClaim): boolean {
  return claim.spec.accessModes.every((mode) => volume.spec.accessModes.includes(mode))
}

/** Returns the key of the claim that a volume names, for an index of volumes: `namespace/name`. */
export function claimKeyOf({ spec: { claimRef } }: Volume): readonly string[] {
  return claimRef === undefined ? [] : [`${claimRef.namespace}/${claimRef.name}`]
}

/** Returns the class of a volume that names no claim, for an index of volumes. No claim looks at all volumes. */
export function freeClassOf(annotation: string): (volume: Volume) => readonly string[] {
  return (volume) => (volume.spec.claimRef === undefined ? [classOf(volume, annotation)] : [])
}

interface MatchOptions {
  /** The annotation with the class of old objects. */
  readonly annotation: string
  /** Whether the claim waits for its first Pod: then it gets only a volume that names it. */
  readonly waits: boolean
}

/**
 * Finds the volume of a claim: one that names the claim, else of the free ones that suit it the one with the fewest
 * access modes, and of these the smallest.
 */
export function findVolume(claim: VolumeClaim, volumes: Iterable<Volume>, options: MatchOptions): Volume | undefined {
  let best: Volume | undefined
  for (const volume of volumes) {
    if (isKept(volume, claim)) return volume
    if (options.waits || !isFreeFor(volume, claim, options.annotation)) continue
    if (best === undefined || compareVolumes(volume, best) < 0) best = volume
  }
  return best
}

/** Checks whether a volume names the claim and suits it. */
export function isKept(volume: Volume, claim: VolumeClaim): boolean {
  return isFor(volume, claim) && suits(volume, claim)
}

/** Checks whether a volume names no claim and suits this one. */
export function isFreeFor(volume: Volume, claim: VolumeClaim, annotation: string): boolean {
  if (volume.spec.claimRef !== undefined || volume.status.phase !== 'Available') return false
  const { selector } = claim.spec
  return (
    classOf(volume, annotation) === classOf(claim, annotation) &&
    suits(volume, claim) &&
    (selector === undefined || selects(selector, volume.metadata.labels))
  )
}

function suits(volume: Volume, claim: VolumeClaim): boolean {
  return (
    volume.metadata.deletionTimestamp === undefined &&
    volume.spec.volumeMode === claim.spec.volumeMode &&
    volume.spec.volumeAttributesClassName === claim.spec.volumeAttributesClassName &&
    hasModes(volume, claim) &&
    isLargeEnough(volume, claim)
  )
}

/** Compares two volumes that suit a claim: the better one first. */
export function compareVolumes(one: Volume, other: Volume): number {
  const byModes = one.spec.accessModes.length - other.spec.accessModes.length
  if (byModes !== 0) return byModes
  const [size, otherSize] = [sizeOf(one), sizeOf(other)]
  if (size !== otherSize) return size < otherSize ? -1 : 1
  return one.metadata.name < other.metadata.name ? -1 : 1
}
