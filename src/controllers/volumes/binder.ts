import type { Component } from '../../loop/component.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { claimKeysOf } from '../objects/pod-claims.ts'
import { podType, volumeClaimType, volumeType } from '../objects/types.ts'
import type { StorageClass, Volume, VolumeClaim } from '../objects/volume.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf } from '../objects/writes.ts'
import { groupComponents } from '../runtime/component-group.ts'
import { Controller, type Watch, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { phaseWrite, planClaim, type Said } from './plan-claim.ts'
import { planVolume } from './plan-volume.ts'
import { reclaim } from './reclaim.ts'

/** How often an Event about a waiting claim or a failed volume is recorded again. */
const repeatMs = 300_000

const pending = 'pending'

/** Creates the controller that binds claims to PersistentVolumes and carries out the reclaim policy of released ones. */
export function createVolumeBinder(context: ControllerContext): Component {
  return groupComponents('persistentvolume-binder', [createClaimBinder(context), createVolumeKeeper(context)])
}

function createClaimBinder(context: ControllerContext): Component {
  const { caches, client, dialect, metrics, log, types } = context
  const [claims, volumes, pods] = [caches.of(volumeClaimType), caches.of(volumeType), caches.of(podType)]
  const classes = caches.of(types.storageClasses)
  const names = dialect.volumes
  const waiting = claims.addIndex(({ metadata }) =>
    metadata.annotations[names.bindCompleted] === undefined ? [pending] : [],
  )
  const podsOfClaim = pods.addIndex(claimKeysOf)
  const target = writeTarget(client, caches, [noted(volumeClaimType), noted(volumeType)])
  const speaker = new Speaker(context)
  const allWaiting = () => waiting.get(pending).map(keyOf)
  return new Controller({
    name: 'pv-binder-claims',
    watches: [
      watchKeys(claims, (claim) => [keyOf(claim)]),
      volumesForClaims(volumes, allWaiting, (name) => claimsNaming(claims, name)),
      watchKeys(classes, allWaiting),
      watchKeys(pods, claimKeysOf, { isSame: (old, next) => old.spec.nodeName === next.spec.nodeName }),
    ],
    // One claim after the other: two must not choose one volume.
    workers: 1,
    reconcile: async (key, { signal }) => {
      const claim = claims.get(key)
      if (claim === undefined) return speaker.forget(key)
      const { writes, said } = planClaim({
        claim,
        named: volumes.get(claim.spec.volumeName),
        volumes: () => volumes.list(),
        findClass: (name) => classes.get(name),
        defaultClass: defaultClassOf(classes, names.defaultClass),
        waitingPods: podsOfClaim
          .get(key)
          .filter(({ spec }) => !spec.nodeName)
          .map(({ metadata }) => metadata.name)
          .toSorted(),
        names,
        storageGroup: dialect.groups.storage,
      })
      await applyWrites(target, writes, signal)
      return speaker.say(key, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim.metadata }, said)
    },
    metrics,
    log: log.child('pv-binder-claims'),
  })
}

/** Turns a change of a volume into the claims that it concerns: its own, those that name it, all that wait if it is free. */
function volumesForClaims(
  volumes: ObjectCache<Volume>,
  allWaiting: () => readonly string[],
  naming: (volume: string) => readonly string[],
): Watch {
  return {
    subscribe: (add) =>
      volumes.onChange(({ old, next }) => {
        const name = (next ?? old)?.metadata.name ?? ''
        const isFreed = next !== undefined && next.spec.claimRef === undefined && next.status.phase === 'Available'
        const keys = [...claimKeyOf(old), ...claimKeyOf(next), ...naming(name), ...(isFreed ? allWaiting() : [])]
        for (const key of new Set(keys)) add(key)
      }),
  }
}

/** The claims by the name of their volume; made once a cache. */
const volumeNameOf = ({ spec }: VolumeClaim): Iterable<string> => (spec.volumeName === '' ? [] : [spec.volumeName])

function claimsNaming(claims: ObjectCache<VolumeClaim>, volume: string): readonly string[] {
  return claims.addIndex(volumeNameOf).get(volume).map(keyOf)
}

function claimKeyOf(volume: Volume | undefined): readonly string[] {
  const claim = volume?.spec.claimRef
  return claim === undefined ? [] : [`${claim.namespace}/${claim.name}`]
}

function defaultClassOf(classes: ObjectCache<StorageClass>, annotations: readonly string[]): string | undefined {
  const [first] = [...classes.list()]
    .filter(({ metadata }) => annotations.some((annotation) => metadata.annotations[annotation] === 'true'))
    .toSorted(
      ({ metadata: one }, { metadata: other }) =>
        Date.parse(other.creationTimestamp) - Date.parse(one.creationTimestamp) || (one.name < other.name ? -1 : 1),
    )
  return first?.metadata.name
}

function createVolumeKeeper(context: ControllerContext): Component {
  const { caches, client, dialect, metrics, log } = context
  const [claims, volumes] = [caches.of(volumeClaimType), caches.of(volumeType)]
  const names = dialect.volumes
  const target = writeTarget(client, caches, [noted(volumeType)])
  const speaker = new Speaker(context)
  const named = volumes.addIndex(claimKeyOf)
  return new Controller({
    name: 'pv-binder-volumes',
    watches: [
      watchKeys(volumes, (volume) => [keyOf(volume)]),
      watchKeys(claims, (claim) => named.get(keyOf(claim)).map(keyOf)),
    ],
    reconcile: async (key, { signal }) => {
      const volume = volumes.get(key)
      if (volume === undefined) return speaker.forget(key)
      const subject = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: volume.metadata }
      const claim = claims.get(claimKeyOf(volume)[0] ?? '')
      const { writes, said, isToReclaim } = planVolume({ volume, claim, names })
      await applyWrites(target, writes, signal)
      if (isToReclaim !== true || volume.metadata.deletionTimestamp !== undefined)
        return speaker.say(key, subject, said)
      const { kind, reason = '', message = '' } = { reason: '', message: '', ...(await reclaim(volume, names)) }
      if (kind === 'deleted')
        await applyWrites(
          target,
          [{ verb: 'delete', target: nameOf(volumeType.resource, volume), uid: volume.metadata.uid }],
          signal,
        )
      if (kind !== 'failed') return undefined
      if (volume.status.phase !== 'Failed')
        await applyWrites(target, [phaseWrite(volume, 'Failed', { message, reason })], signal)
      return speaker.say(key, subject, { type: 'Warning', reason, message })
    },
    metrics,
    log: log.child('pv-binder-volumes'),
  })
}

type Subject = Parameters<ControllerContext['events']['record']>[0]

/** Records what a plan says of an object: once, and again every five minutes while it holds. */
class Speaker {
  readonly #events: ControllerContext['events']
  readonly #said = new Map<string, { readonly text: string; readonly atMs: number }>()

  constructor({ events }: ControllerContext) {
    this.#events = events
  }

  say(key: string, subject: Subject, said: Said | undefined): { readonly againInMs: number } | undefined {
    if (said === undefined) return this.forget(key)
    const text = `${subject.metadata.uid} ${said.reason} ${said.message}`
    const known = this.#said.get(key)
    if (known?.text === text && performance.now() - known.atMs < repeatMs) return { againInMs: repeatMs }
    this.#said.set(key, { text, atMs: performance.now() })
    this.#events.record(subject, said.type, said.reason, said.message)
    return { againInMs: repeatMs }
  }

  forget(key: string): undefined {
    this.#said.delete(key)
  }
}
