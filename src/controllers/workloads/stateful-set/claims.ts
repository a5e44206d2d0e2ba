import { isDeepStrictEqual } from 'node:util'
import type { ApiObject, Json, JsonObject } from '../../../model/api-object.ts'
import { controllerReference, reownWrite } from '../../objects/claim.ts'
import type { Pod } from '../../objects/pod.ts'
import { volumeClaimType } from '../../objects/types.ts'
import type { VolumeClaim } from '../../objects/volume.ts'
import type { Write } from '../../objects/writes.ts'
import type { OwnerReference } from '../../runtime/metadata.ts'
import { appsVersion } from '../kinds.ts'
import type { StatefulSet } from '../shapes.ts'

/** Returns the claim of a name in the namespace of the set. */
export type FindClaim = (name: string) => VolumeClaim | undefined

type ClaimTemplate = StatefulSet['spec']['volumeClaimTemplates'][number]

/** Returns the name of a pod's claim: `data-web-0` of the template `data` and the pod `web-0`. */
function claimName({ metadata }: ClaimTemplate, podName: string): string {
  return `${metadata.name}-${podName}`
}

/** Returns the volumes of a pod: those of its template, and one for each claim, which replaces one of the same name. */
export function withClaimedVolumes(set: StatefulSet, volumes: Json | undefined, podName: string): JsonObject {
  const templates = set.spec.volumeClaimTemplates
  if (templates.length === 0) return {}
  const names = templates.map(({ metadata }) => metadata.name)
  const others = (Array.isArray(volumes) ? (volumes as readonly JsonObject[]) : []).filter(
    ({ name }) => !names.includes(String(name)),
  )
  const claimed = templates.map((template) => ({
    name: template.metadata.name,
    persistentVolumeClaim: { claimName: claimName(template, podName) },
  }))
  return { volumes: [...claimed, ...others] }
}

/**
 * Returns the claims of a pod that do not exist, and whether one is about to go, so that a new pod waits until it is
 * gone: it is being deleted, or an earlier pod of the name owns it, with which the garbage collector deletes it.
 */
export function missingClaims(
  set: StatefulSet,
  podName: string,
  find: FindClaim,
): { readonly writes: readonly Write[]; readonly isLeaving: boolean } {
  const found = set.spec.volumeClaimTemplates.map((template) => find(claimName(template, podName)))
  return {
    writes: set.spec.volumeClaimTemplates.flatMap((template, index) =>
      found[index] === undefined ? [createWrite(set, template, podName)] : [],
    ),
    isLeaving: found.some((claim) => claim !== undefined && isLeaving(claim, podName)),
  }
}

/** Checks a claim of a pod that does not exist: each pod of that name among its owners is an earlier one. */
function isLeaving({ metadata }: VolumeClaim, podName: string): boolean {
  if (metadata.deletionTimestamp !== undefined) return true
  return metadata.ownerReferences.some(({ kind, name }) => kind === 'Pod' && name === podName)
}

function createWrite(set: StatefulSet, template: ClaimTemplate, podName: string): Write {
  const { labels, annotations } = template.metadata
  const { whenDeleted } = set.spec.persistentVolumeClaimRetentionPolicy
  const object = {
    apiVersion: volumeClaimType.apiVersion,
    kind: volumeClaimType.kind,
    metadata: {
      name: claimName(template, podName),
      namespace: set.metadata.namespace,
      labels: { ...labels, ...set.spec.selector.matchLabels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(whenDeleted === 'Delete' && { ownerReferences: [ownerOf(set)] }),
    },
    spec: template.spec,
  }
  return { verb: 'create', resource: volumeClaimType.resource, object: object as unknown as ApiObject }
}

function ownerOf(set: StatefulSet): OwnerReference {
  return controllerReference({ ...set, apiVersion: appsVersion, kind: 'StatefulSet' })
}

/**
 * Returns the writes by which a pod's claims have the owners of the retention policy: the set where its deletion
 * deletes them, the pod where it is surplus and its end deletes them. Claims of another controller get neither.
 */
export function ownerWrites(set: StatefulSet, pod: Pod, isSurplus: boolean, find: FindClaim): readonly Write[] {
  return set.spec.volumeClaimTemplates.flatMap((template) => {
    const claim = find(claimName(template, pod.metadata.name))
    const owners = claim && wantedOwners(set, pod, isSurplus, claim)
    return claim === undefined || owners === undefined ? [] : [reownWrite(volumeClaimType.resource, claim, owners)]
  })
}

/** Returns the owners that a claim should have; undefined where it has them. */
function wantedOwners(
  set: StatefulSet,
  pod: Pod,
  isSurplus: boolean,
  claim: VolumeClaim,
): readonly OwnerReference[] | undefined {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy
  const known = claim.metadata.ownerReferences
  const others = known.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid)
  if (others.some((owner) => isEarlier(owner, 'StatefulSet', set) || isEarlier(owner, 'Pod', pod))) return undefined
  const isFree = !others.some(({ controller }) => controller)
  const isOfPod = whenScaled === 'Delete' && isSurplus
  const isOfSet = whenDeleted === 'Delete' && !isOfPod
  const wanted = [
    ...others,
    ...(isFree && isOfSet ? [ownerOf(set)] : []),
    ...(isFree && isOfPod ? [controllerReference({ ...pod, apiVersion: 'v1', kind: 'Pod' })] : []),
  ]
  const summary = (owners: readonly OwnerReference[]) =>
    owners.map(({ uid, controller = false }) => `${uid} ${controller}`).toSorted()
  return isDeepStrictEqual(summary(wanted), summary(known)) ? undefined : wanted
}

/** Checks for an owner of the same name that is not this one: the garbage collector decides about what it had. */
function isEarlier(owner: OwnerReference, kind: string, { metadata }: StatefulSet | Pod): boolean {
  return owner.kind === kind && owner.name === metadata.name && owner.uid !== metadata.uid
}
