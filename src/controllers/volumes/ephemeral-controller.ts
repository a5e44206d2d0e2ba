import type { Component } from '../../loop/component.ts'
import type { ApiObject, JsonObject } from '../../model/api-object.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { controllerReference, isOwnedBy } from '../objects/claim.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { type ClaimedVolume, claimNameOf } from '../objects/pod-claims.ts'
import { podType, volumeClaimType } from '../objects/types.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import type { Write } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'

/** Creates the controller that makes the claims of ephemeral volumes; they are deleted with their pod. */
export function createEphemeralVolumeController(context: ControllerContext): Component {
  const { caches, client, events, metrics, log } = context
  const [pods, claims] = [caches.of(podType), caches.of(volumeClaimType)]
  const target = writeTarget(client, caches, [noted(volumeClaimType)])
  return new Controller({
    name: 'ephemeral-volume',
    watches: [
      watchKeys(pods, (pod) => (ephemeralVolumes(pod).length === 0 ? [] : [keyOf(pod)]), {
        isSame: (old, next) => old.metadata.uid === next.metadata.uid && next.metadata.deletionTimestamp === undefined,
      }),
      watchKeys(claims, ({ metadata }) =>
        metadata.ownerReferences
          .filter(({ kind, controller }) => kind === 'Pod' && controller)
          .map(({ name }) => `${metadata.namespace}/${name}`),
      ),
    ],
    reconcile: async (key, { signal }) => {
      const pod = pods.get(key)
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isFinished(pod)) return undefined
      const writes = ephemeralVolumes(pod).flatMap((volume): readonly Write[] => {
        const name = claimNameOf(pod, volume)
        const claim = claims.get(`${pod.metadata.namespace}/${name}`)
        if (claim === undefined) return [createWrite(pod, volume, name)]
        if (isOwnedBy(claim, pod)) return []
        const message = `ephemeral volume ${volume.name}: PVC ${keyOf(claim)} was not created for pod ${keyOf(pod)} (pod is not owner)`
        events.record({ apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata }, 'Warning', 'FailedMount', message)
        return []
      })
      await applyWrites(target, writes, signal)
      return undefined
    },
    metrics,
    log: log.child('ephemeral-volume'),
  })
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
