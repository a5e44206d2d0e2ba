import { orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites, type WriteTarget } from '../objects/apply-writes.ts'
import { claimKeysOf } from '../objects/pod-claims.ts'
import { podType, volumeClaimType, volumeType } from '../objects/types.ts'
import type { StorageClass, Volume, VolumeClaim } from '../objects/volume.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf } from '../objects/writes.ts'
import { groupComponents } from '../runtime/component-group.ts'
import { Controller, type Watch, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { confirmRelease, type LiveRead } from './confirm-release.ts'
import { claimKeyOf, classOf, freeClassOf } from './match.ts'
import { phaseWrite, planClaim, type Said } from './plan-claim.ts'
import { planVolume, type VolumePlan } from './plan-volume.ts'
import { reclaim } from './reclaim.ts'

/** How often an Event about a waiting claim or a failed volume is recorded again. */
const repeatMs = 300_000

/** The key of a pass over all claims of a class that wait. No namespace has a space in its name. */
const waitingKey = (className: string) => `* ${className}`

/** Creates the controller that binds claims to PersistentVolumes and carries out the reclaim policy of released ones. */
export function createVolumeBinder(context: ControllerContext): Component {
  return groupComponents('persistentvolume-binder', [createClaimBinder(context), createVolumeKeeper(context)])
}

function createClaimBinder(context: ControllerContext): Component {
  const { caches, client, dialect, metrics, log, types } = context
  const [claims, volumes, pods] = [caches.of(volumeClaimType), caches.of(volumeType), caches.of(podType)]
  const classes = caches.of(types.storageClasses)
  const names = dialect.volumes
  const waiting = claims.addIndex((claim) =>
    claim.metadata.annotations[names.bindCompleted] === undefined
      ? [waitingKey(classOf(claim, names.storageClass))]
      : [],
  )
  const naming = claims.addIndex(volumeNameOf)
  const kept = volumes.addIndex(claimKeyOf)
  const free = volumes.addIndex(freeClassOf(names.storageClass))
  const podsOfClaim = pods.addIndex(claimKeysOf)
  const target = writeTarget(client, caches, [noted(volumeClaimType), noted(volumeType)])
  const speaker = new Speaker(context)
  const fanOut = new FanOut()
  return new Controller({
    name: 'pv-binder-claims',
    watches: [
      watchKeys(claims, (claim) => [keyOf(claim)]),
      volumesForClaims(volumes, names.storageClass, (name) => naming.get(name).map(keyOf)),
      // A claim without a class gets the default one.
      watchKeys(classes, ({ metadata }) => [waitingKey(metadata.name), waitingKey('')]),
      fanOut,
      watchKeys(pods, claimKeysOf, { isSame: (old, next) => old.spec.nodeName === next.spec.nodeName }),
    ],
    // One claim after the other: two must not choose one volume.
    workers: 1,
    reconcile: async (key, { signal }) => {
      if (key.startsWith(waitingKey(''))) return fanOut.add(waiting.get(key).map(keyOf))
      const claim = claims.get(key)
      if (claim === undefined) return speaker.forget(key)
      const { writes, said } = planClaim({
        claim,
        named: volumes.get(claim.spec.volumeName),
        volumes: () => [...kept.get(key), ...free.get(classOf(claim, names.storageClass))],
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

/** Adds the keys that the pass over another key finds. */
class FanOut implements Watch {
  #add: (key: string) => void = () => {}

  subscribe(add: (key: string) => void): () => void {
    this.#add = add
    return () => {
      this.#add = () => {}
    }
  }

  add(keys: readonly string[]): undefined {
    for (const key of keys) this.#add(key)
  }
}

/**
 * Turns a change of a volume into the claims that it concerns: its own, those that name it, and if it is free all of its
 * class that wait. These have one key together: many volumes may become free at once.
 */
function volumesForClaims(
  volumes: ObjectCache<Volume>,
  annotation: string,
  naming: (volume: string) => readonly string[],
): Watch {
  return {
    subscribe: (add) =>
      volumes.onChange(({ old, next }) => {
        const name = (next ?? old)?.metadata.name ?? ''
        const isFreed = next !== undefined && next.spec.claimRef === undefined && next.status.phase === 'Available'
        const waiting = isFreed ? [waitingKey(classOf(next, annotation))] : []
        const own = [old, next].flatMap((volume) => (volume === undefined ? [] : claimKeyOf(volume)))
        for (const key of new Set([...own, ...naming(name), ...waiting])) add(key)
      }),
  }
}

/** Returns the name of the volume that a claim names, for an index of claims. */
function volumeNameOf({ spec }: VolumeClaim): Iterable<string> {
  return spec.volumeName === '' ? [] : [spec.volumeName]
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
  const { caches, dialect, metrics, log } = context
  const [claims, volumes] = [caches.of(volumeClaimType), caches.of(volumeType)]
  const speaker = new Speaker(context)
  const kept = volumes.addIndex(claimKeyOf)
  const keeping = { ...context, speaker, target: writeTarget(context.client, caches, [noted(volumeType)]) }
  return new Controller({
    name: 'pv-binder-volumes',
    watches: [
      watchKeys(volumes, (volume) => [keyOf(volume)]),
      watchKeys(claims, (claim) => kept.get(keyOf(claim)).map(keyOf)),
    ],
    reconcile: async (key, { signal }) => {
      const volume = volumes.get(key)
      if (volume === undefined) return speaker.forget(key)
      const claim = claims.get(claimKeyOf(volume)[0] ?? '')
      return keepVolume(keeping, volume, planVolume({ volume, claim, names: dialect.volumes }), signal)
    },
    metrics,
    log: log.child('pv-binder-volumes'),
  })
}

interface Keeping extends Pick<ControllerContext, 'client' | 'dialect'> {
  readonly speaker: Speaker
  readonly target: WriteTarget
}

async function keepVolume(keeping: Keeping, volume: Volume, plan: VolumePlan, signal: AbortSignal) {
  const { writes, said, isToReclaim = false } = plan
  const { client, dialect, speaker, target } = keeping
  const isSettled = writes.length === 0 && volume.spec.persistentVolumeReclaimPolicy === 'Retain'
  if (!isToReclaim || isSettled) {
    await applyWrites(target, writes, signal)
    return speaker.say(keyOf(volume), subjectOf(volume), said)
  }
  const read: LiveRead = (name) => orAbsent(client.get(name, { signal }))
  const released = await confirmRelease(volume, dialect.volumes, read)
  if (released === undefined) return undefined
  await applyWrites(target, writes, signal)
  if (released.metadata.deletionTimestamp !== undefined) return speaker.forget(keyOf(volume))
  return reclaimVolume(keeping, released, signal)
}

async function reclaimVolume({ dialect, speaker, target }: Keeping, volume: Volume, signal: AbortSignal) {
  const reclaimed = await reclaim(volume, dialect.volumes)
  if (reclaimed.kind === 'deleted') {
    const { uid } = volume.metadata
    await applyWrites(target, [{ verb: 'delete', target: nameOf(volumeType.resource, volume), uid }], signal)
  }
  if (reclaimed.kind !== 'failed') return undefined
  const { reason, message } = reclaimed
  if (volume.status.phase !== 'Failed')
    await applyWrites(target, [phaseWrite(volume, 'Failed', { message, reason })], signal)
  return speaker.say(keyOf(volume), subjectOf(volume), { type: 'Warning', reason, message })
}

function subjectOf({ metadata }: Volume): Subject {
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata }
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
