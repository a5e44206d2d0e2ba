import type { Component } from '../../loop/component.ts'
import type { ControllerContext } from '../context.ts'
import { isOwnedBy } from '../objects/claim.ts'
import type { Pod } from '../objects/pod.ts'
import { claimKeysOf, claimNameOf } from '../objects/pod-claims.ts'
import { podType, volumeClaimType, volumeType } from '../objects/types.ts'
import type { Volume, VolumeClaim } from '../objects/volume.ts'
import { Controller, type Watch, watchKeys } from '../runtime/controller.ts'
import type { Identity } from '../runtime/metadata.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { type CachedObject, keyOf, type ResourceType } from '../runtime/resource-type.ts'
import { ListedPods } from './listed-pods.ts'

/** When an object is looked at again that was in use by the API server, and not by the caches. */
const stillUsedMs = 5_000

interface Protected {
  readonly metadata: Identity
}

interface ProtectionParts<T extends Protected> {
  readonly name: string
  readonly type: ResourceType<T>
  readonly finalizer: string
  readonly isUsed: (object: T) => boolean
  /** Asks the API server once more where the caches show no use; absent: the caches decide. */
  readonly isUsedLive?: (object: T, signal: AbortSignal) => Promise<boolean>
  /** The resources whose changes can end a use. */
  readonly watches: readonly Watch[]
}

/** Creates the controller that keeps a deleted claim while a pod that has a node uses it. */
export function createClaimProtection(context: ControllerContext): Component {
  const pods = context.caches.of(podType)
  const users = pods.addIndex(claimKeysOf)
  const listed = new ListedPods(context.client)
  const seenMs = new WeakMap<VolumeClaim, number>()
  return createProtection(context, {
    name: 'pvc-protection',
    type: volumeClaimType,
    finalizer: context.dialect.volumes.claimProtection,
    isUsed: (claim) => users.get(keyOf(claim)).some((pod) => usesClaim(pod, claim)),
    // The cache may not have a pod yet that has just got a node.
    isUsedLive: async (claim, signal) => {
      const { namespace = '' } = claim.metadata
      const since = seenMs.get(claim) ?? performance.now()
      const pods = await listed.usersOf({ key: keyOf(claim), namespace }, since, signal)
      return pods === undefined || pods.some((pod) => usesClaim(pod, claim))
    },
    watches: [watchKeys(pods, claimKeysOf), rememberChanges(context.caches.of(volumeClaimType), seenMs)],
  })
}

/** Remembers when the cache got each object; adds no key. */
function rememberChanges<T extends CachedObject>(cache: ObjectCache<T>, seenMs: WeakMap<T, number>): Watch {
  return { subscribe: () => cache.onChange(({ next }) => next && seenMs.set(next, performance.now())) }
}

/**
 * A pod that has ended uses its claims until it is gone. The claim of an ephemeral volume goes before its pod where that
 * waits for what it owns: it is free when nothing of the pod runs any more.
 */
function usesClaim(pod: Pod, claim: VolumeClaim): boolean {
  if (!pod.spec.nodeName) return false
  return pod.spec.volumes.some((volume) => {
    if (claimNameOf(pod, volume) !== claim.metadata.name) return false
    if (volume.template === undefined) return true
    return !isShutDown(pod) && isOwnedBy(claim, pod)
  })
}

/** Checks for a deleted pod whose containers have ended: its grace is over, or was none. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0
}

/** Creates the controller that keeps a deleted volume while it is bound. */
export function createVolumeProtection(context: ControllerContext): Component {
  return createProtection(context, {
    name: 'pv-protection',
    type: volumeType,
    finalizer: context.dialect.volumes.volumeProtection,
    isUsed: ({ status }) => status.phase === 'Bound',
    watches: [],
  })
}

/** Creates the controller that keeps a deleted VolumeAttributesClass while a claim or volume names it. */
export function createAttributesClassProtection(context: ControllerContext): Component {
  const [claims, volumes] = [context.caches.of(volumeClaimType), context.caches.of(volumeType)]
  const ofClaims = claims.addIndex(classesOfClaim)
  const ofVolumes = volumes.addIndex(classesOfVolume)
  return createProtection(context, {
    name: 'vac-protection',
    type: context.types.attributesClasses,
    finalizer: context.dialect.volumes.attributesProtection,
    isUsed: ({ metadata }) => ofClaims.count(metadata.name) + ofVolumes.count(metadata.name) > 0,
    watches: [watchKeys(claims, classesOfClaim), watchKeys(volumes, classesOfVolume)],
  })
}

function classesOfClaim({ spec, status }: VolumeClaim): readonly string[] {
  return [...new Set([spec.volumeAttributesClassName, status.currentVolumeAttributesClassName])].filter(isNamed)
}

function classesOfVolume({ spec }: Volume): readonly string[] {
  return [spec.volumeAttributesClassName].filter(isNamed)
}

function isNamed(name: string): boolean {
  return name !== ''
}

function createProtection<T extends Protected>(context: ControllerContext, parts: ProtectionParts<T>): Component {
  const { caches, metrics, log } = context
  const cache: ObjectCache<T> = caches.of(parts.type)
  const writer = caches.writer(parts.type)
  return new Controller({
    name: parts.name,
    watches: [watchKeys(cache, (object) => [keyOf(object)]), ...parts.watches],
    reconcile: async (key, { signal }) => {
      const object = cache.get(key)
      if (object === undefined) return undefined
      const finalizers = wantedFinalizers(object, parts)
      if (finalizers === undefined) return undefined
      const isDeleted = object.metadata.deletionTimestamp !== undefined
      if (isDeleted && (await parts.isUsedLive?.(object, signal))) return { againInMs: stillUsedMs }
      const { uid, resourceVersion } = object.metadata
      const patch = { metadata: { uid, resourceVersion, finalizers } }
      await writer.patch(object, { kind: 'merge', patch }, signal)
      return undefined
    },
    metrics,
    log: log.child(parts.name),
  })
}

/** Returns the finalizers that an object should have; undefined where it has them. */
function wantedFinalizers<T extends Protected>(
  object: T,
  { finalizer, isUsed }: ProtectionParts<T>,
): string[] | undefined {
  const { finalizers, deletionTimestamp } = object.metadata
  const isProtected = finalizers.includes(finalizer)
  if (deletionTimestamp === undefined) return isProtected ? undefined : [...finalizers, finalizer]
  return isProtected && !isUsed(object) ? finalizers.filter((each) => each !== finalizer) : undefined
}
