import type { Component } from '../../loop/component.ts'
import type { ApiObject, JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites, type WriteTarget } from '../objects/apply-writes.ts'
import { controllerReference, isOwnedBy } from '../objects/claim.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { type ClaimedVolume, claimNameOf } from '../objects/pod-claims.ts'
import { podType, volumeClaimType } from '../objects/types.ts'
import type { VolumeClaim } from '../objects/volume.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import type { Write } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'

/** Creates the controller that makes the claims of ephemeral volumes; they are deleted with their pod. */
export function createEphemeralVolumeController(context: ControllerContext): Component {
  const { caches, client, metrics, log } = context
  const [pods, claims] = [caches.of(podType), caches.of(volumeClaimType)]
  const podsOfClaim = pods.addIndex((pod) =>
    ephemeralVolumes(pod).map((volume) => `${pod.metadata.namespace}/${claimNameOf(pod, volume)}`),
  )
  const target = writeTarget(client, caches, [noted(volumeClaimType)])
  return new Controller({
    name: 'ephemeral-volume',
    watches: [
      watchKeys(pods, (pod) => (ephemeralVolumes(pod).length === 0 ? [] : [keyOf(pod)]), {
        isSame: (old, next) => old.metadata.uid === next.metadata.uid && next.metadata.deletionTimestamp === undefined,
      }),
      // A claim that a client deletes is made again, and one of another owner that had the name makes room.
      watchKeys(claims, (claim) => podsOfClaim.get(keyOf(claim)).map(keyOf)),
    ],
    reconcile: async (key, { signal }) => {
      const pod = pods.get(key)
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isFinished(pod)) return undefined
      const findClaim = (name: string) => claims.get(`${pod.metadata.namespace}/${name}`)
      for (const volume of ephemeralVolumes(pod)) await keepClaim(context, target, { pod, volume, findClaim }, signal)
      return undefined
    },
    metrics,
    log: log.child('ephemeral-volume'),
  })
}

interface EphemeralVolume {
  readonly pod: Pod
  readonly volume: ClaimedVolume
  readonly findClaim: (name: string) => VolumeClaim | undefined
}

/** Creates the claim of a volume where there is none. An Event of the pod says why it cannot have one. */
async function keepClaim(
  { events }: ControllerContext,
  target: WriteTarget,
  { pod, volume, findClaim }: EphemeralVolume,
  signal: AbortSignal,
): Promise<void> {
  const name = claimNameOf(pod, volume)
  const claim = findClaim(name)
  const refuse = (why: string) => {
    const subject = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata }
    events.record(subject, 'Warning', 'FailedBinding', `ephemeral volume ${volume.name}: ${why}`)
  }
  if (claim !== undefined) {
    if (!isOwnedBy(claim, pod)) refuse(`PVC ${keyOf(claim)} was not created for pod ${keyOf(pod)} (pod is not owner)`)
    return
  }
  const onOutcome: WriteTarget['onOutcome'] = (_, outcome) => {
    if (outcome.kind === 'failed') refuse(`create PVC ${name}: ${describeError(outcome.error)}`)
  }
  await applyWrites({ ...target, onOutcome }, [createWrite(pod, volume, name)], signal)
}

function ephemeralVolumes({ spec }: Pod): readonly ClaimedVolume[] {
  return spec.volumes.filter(({ template }) => template !== undefined)
}

function createWrite(pod: Pod, { template }: ClaimedVolume, name: string): Write {
  const { namespace } = pod.metadata
  const { labels, annotations } = template?.metadata ?? {}
  const object = {
    apiVersion: volumeClaimType.apiVersion,
    kind: volumeClaimType.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference({ ...pod, apiVersion: 'v1', kind: 'Pod' })],
    },
    spec: (template?.spec ?? {}) as JsonObject,
  }
  return { verb: 'create', resource: volumeClaimType.resource, object: object as unknown as ApiObject }
}
