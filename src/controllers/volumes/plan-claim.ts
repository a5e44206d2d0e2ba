import type { EventType } from '../../client/index.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { VolumeNames } from '../../model/volume-names.ts'
import { volumeClaimType, volumeType } from '../objects/types.ts'
import type { StorageClass, Volume, VolumeClaim } from '../objects/volume.ts'
import { nameOf, type Write } from '../objects/writes.ts'
import { classOf, findVolume, isFor, mismatchOf } from './match.ts'

export interface ClaimView {
  readonly claim: VolumeClaim
  /** The volume that the claim names; undefined where there is none. */
  readonly named: Volume | undefined
  /** The volumes that the claim may get: those that name it, and the free ones of its class. Read only while it names none. */
  readonly volumes: () => Iterable<Volume>
  readonly findClass: (name: string) => StorageClass | undefined
  /** The class of claims that name none; undefined where there is none. */
  readonly defaultClass: string | undefined
  /** The names of the Pods that use the claim and have no node. */
  readonly waitingPods: readonly string[]
  readonly names: VolumeNames
  /** The API group of StorageClasses, for the message about a missing one. */
  readonly storageGroup: string
}

export interface Said {
  readonly type: EventType
  readonly reason: string
  readonly message: string
}

export interface ClaimPlan {
  readonly writes: readonly Write[]
  readonly said?: Said
}

/** Plans the next step of a claim towards a volume that has it, and that it has. */
export function planClaim(view: ClaimView): ClaimPlan {
  const { claim, names } = view
  const isBound = claim.metadata.annotations[names.bindCompleted] !== undefined
  return isBound ? planBound(view) : planUnbound(view)
}

/** Takes out of the status what the claim had from a volume. */
const nothingGot = { accessModes: null, capacity: null }

function planBound(view: ClaimView): ClaimPlan {
  const { claim, named } = view
  const lost = (reason: string, message: string): ClaimPlan =>
    claim.status.phase === 'Lost'
      ? { writes: [] }
      : { writes: [phaseWrite(claim, 'Lost', nothingGot)], said: { type: 'Warning', reason, message } }
  if (claim.spec.volumeName === '')
    return lost('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!')
  if (named === undefined)
    return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  if (named.spec.claimRef !== undefined && named.spec.claimRef.uid !== claim.metadata.uid)
    return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
  return { writes: bindWrites(view, named) }
}

function planUnbound(view: ClaimView): ClaimPlan {
  const { claim, named, names } = view
  if (claim.spec.volumeName !== '') return planNamed(view, named)
  const className = classOf(claim, names.storageClass)
  const storageClass = view.findClass(className)
  const isDelayed = storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
  const volume = findVolume(claim, view.volumes(), { annotation: names.storageClass, waits: isDelayed })
  if (volume !== undefined) return { writes: bindWrites(view, volume) }
  if (claim.spec.storageClassName === undefined && className === '' && view.defaultClass !== undefined)
    return { writes: [patchOf(claim, { spec: { storageClassName: view.defaultClass } })] }
  const isPlaced = claim.metadata.annotations[names.selectedNode] !== undefined
  if (isDelayed && !isPlaced) return waiting(claim, waitsForPods(view.waitingPods))
  if (className !== '') return planProvision(view, className, storageClass)
  const message = 'no persistent volumes available for this claim and no storage class is set'
  return waiting(claim, { type: 'Normal', reason: 'FailedBinding', message })
}

function waitsForPods(pods: readonly string[]): Said {
  if (pods.length === 0)
    return {
      type: 'Normal',
      reason: 'WaitForFirstConsumer',
      message: 'waiting for first consumer to be created before binding',
    }
  const message = `waiting for pod${pods.length > 1 ? 's' : ''} ${pods.join(',')} to be scheduled`
  return { type: 'Normal', reason: 'WaitForPodScheduled', message }
}

/** Asks the provisioner of the class for a volume. Nothing of this server is one. */
function planProvision(view: ClaimView, className: string, storageClass: StorageClass | undefined): ClaimPlan {
  const { claim, names, storageGroup } = view
  const failed = (message: string) => waiting(claim, { type: 'Warning', reason: 'ProvisioningFailed', message })
  if (storageClass === undefined) return failed(`storageclass.${storageGroup} "${className}" not found`)
  const { provisioner } = storageClass
  if (provisioner === names.noProvisioner) return failed(`no volume plugin matched name: ${provisioner}`)
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
  const asked = names.storageProvisioners.every((each) => claim.metadata.annotations[each] === provisioner)
  const annotations = Object.fromEntries(names.storageProvisioners.map((each) => [each, provisioner]))
  const writes = asked ? [] : [patchOf(claim, { metadata: { annotations } })]
  return { writes, said: { type: 'Normal', reason: 'ExternalProvisioning', message } }
}

/** Plans for a claim that names its volume, which a user wrote, or an earlier pass that did not get further. */
function planNamed(view: ClaimView, named: Volume | undefined): ClaimPlan {
  const { claim, names } = view
  if (named === undefined) return waiting(claim)
  if (named.spec.claimRef === undefined) {
    const why = mismatchOf(named, claim, names.storageClass)
    if (why === undefined) return { writes: bindWrites(view, named) }
    const message = `Cannot bind to requested volume "${named.metadata.name}": ${why}`
    return waiting(claim, { type: 'Warning', reason: 'VolumeMismatch', message })
  }
  if (isFor(named, claim)) return { writes: bindWrites(view, named) }
  const message = `volume "${named.metadata.name}" already bound to a different claim.`
  return waiting(claim, { type: 'Warning', reason: 'FailedBinding', message })
}

function waiting(claim: VolumeClaim, said?: Said): ClaimPlan {
  const writes = claim.status.phase === 'Pending' ? [] : [phaseWrite(claim, 'Pending', nothingGot)]
  return { writes, ...(said && { said }) }
}

/**
 * Returns the writes that bind both sides, in the order in which a crash leaves nothing bound twice: the volume names
 * the claim, then the claim the volume. What is there already is not written again.
 */
function bindWrites({ claim, names }: ClaimView, volume: Volume): readonly Write[] {
  return [...volumeWrites(claim, volume, names), ...claimWrites(claim, volume, names)]
}

function volumeWrites(claim: VolumeClaim, volume: Volume, names: VolumeNames): readonly Write[] {
  const phase = volume.status.phase === 'Bound' ? [] : [phaseWrite(volume, 'Bound')]
  return [...claimRefWrites(claim, volume, names), ...phase]
}

/** Returns the write by which a volume names a claim by its uid; none where it does. It is marked unless a user wrote the name. */
export function claimRefWrites(claim: VolumeClaim, volume: Volume, names: VolumeNames): readonly Write[] {
  const { name, namespace = '', uid, resourceVersion } = claim.metadata
  if (volume.spec.claimRef?.uid === uid) return []
  const mark = isFor(volume, claim) ? {} : { metadata: { annotations: { [names.boundByController]: 'yes' } } }
  const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion }
  return [patchOf(volume, { ...mark, spec: { claimRef } })]
}

function claimWrites(claim: VolumeClaim, volume: Volume, names: VolumeNames): readonly Write[] {
  const { annotations } = claim.metadata
  const isNamed = claim.spec.volumeName === volume.metadata.name
  const marks: JsonObject = {
    ...(isNamed ? {} : { [names.boundByController]: 'yes' }),
    ...(annotations[names.bindCompleted] === undefined ? { [names.bindCompleted]: 'yes' } : {}),
  }
  const spec = isNamed ? {} : { spec: { volumeName: volume.metadata.name } }
  const isMarked = Object.keys(marks).length === 0
  const { accessModes, capacity } = volume.spec
  const got = { phase: 'Bound', accessModes: [...accessModes], capacity: capacity as JsonObject }
  return [
    ...(isMarked && isNamed ? [] : [patchOf(claim, { metadata: { annotations: marks }, ...spec })]),
    ...(claim.status.phase === 'Bound' ? [] : [statusWrite(claim, got)]),
  ]
}

/** A patch of exactly the version that the plan was made from. */
export function patchOf(object: Volume | VolumeClaim, change: JsonObject): Write {
  const { uid, resourceVersion } = object.metadata
  const metadata = { ...(change['metadata'] as JsonObject | undefined), uid, resourceVersion }
  return { verb: 'patch', target: nameOf(resourceOf(object), object), patch: { ...change, metadata } }
}

export function phaseWrite(
  object: Volume | VolumeClaim,
  phase: string,
  more: Readonly<Record<string, Json>> = {},
): Write {
  return statusWrite(object, { phase, ...more })
}

function statusWrite(object: Volume | VolumeClaim, status: JsonObject): Write {
  const patch = { metadata: { uid: object.metadata.uid }, status }
  return { verb: 'patch', target: nameOf(resourceOf(object), object), patch, subresource: 'status' }
}

function resourceOf(object: Volume | VolumeClaim) {
  return object.metadata.namespace === undefined ? volumeType.resource : volumeClaimType.resource
}
