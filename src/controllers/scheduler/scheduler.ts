import { isDeepStrictEqual } from 'node:util'
import { ApiError, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites, type WriteTarget } from '../objects/apply-writes.ts'
import { withCondition } from '../objects/conditions.ts'
import type { Node } from '../objects/node.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { claimKeysOf } from '../objects/pod-claims.ts'
import { namespaceType, nodeType, podType, volumeClaimType, volumeType } from '../objects/types.ts'
import type { Volume } from '../objects/volume.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import type { Write } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { PendingPods } from '../runtime/metrics.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import type { ObjectIndex } from '../runtime/object-index.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { restAfterPass, type WorkResult } from '../runtime/work-queue.ts'
import { claimKeyOf, freeClassOf } from '../volumes/match.ts'
import { demandOf, loadNodes, type PodDemand } from './placed-pod.ts'
import { Placements, schedulingOrder } from './plan.ts'
import { isMakingRoom, type Preemption, planPreemption } from './preemption.ts'
import { VolumeWaits, volumeBindTimeoutMs } from './volume-waits.ts'
import { VolumePlanner } from './volumes.ts'

/** The name of this scheduler. It also places pods that name no scheduler. */
const schedulerName = 'default-scheduler'

/** Returns the patch that says why a pod is about to be deleted; its Job, for one, reads that. */
function markOf({ metadata: { uid, resourceVersion }, status }: Pod) {
  const message = `${schedulerName}: preempting to accommodate a higher priority pod`
  const change = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message } as const
  return {
    metadata: { uid, resourceVersion },
    status: { conditions: withCondition(status.conditions, change, Date.now()) },
  }
}

/** The single key of the queue: each pass places all waiting pods. */
const everything = 'pods'

/** Binds pending pods to nodes, and reports why the others cannot run. */
export function createScheduler(kit: ControllerContext, bindTimeoutMs = volumeBindTimeoutMs): Component {
  const pods = kit.caches.of(podType)
  const scheduler = new Scheduler(kit, pods, new VolumeWaits(bindTimeoutMs))
  return new Controller({
    name: 'scheduler',
    watches: [
      watchKeys(pods, () => [everything], { isSame: isSamePod }),
      watchKeys(kit.caches.of(nodeType), () => [everything], { isSame: isSameNode }),
      watchKeys(kit.caches.of(namespaceType), () => [everything], {
        isSame: (old, next) => isDeepStrictEqual(old.metadata.labels, next.metadata.labels),
      }),
      watchKeys(kit.caches.of(volumeClaimType), () => [everything]),
      watchKeys(kit.caches.of(volumeType), () => [everything]),
      watchKeys(kit.caches.of(kit.types.storageClasses), () => [everything]),
    ],
    reconcile: (_key, { signal }) => scheduler.placeAll(signal),
    rest: restAfterPass,
    workers: 1,
    metrics: kit.metrics,
    log: kit.log.child('scheduler'),
  })
}

/** Ignores changes that neither free resources nor change requirements, such as that a pod becomes ready. */
function isSamePod(old: Pod, next: Pod): boolean {
  return (
    old.metadata.uid === next.metadata.uid &&
    old.metadata.deletionTimestamp === next.metadata.deletionTimestamp &&
    old.status.nominatedNodeName === next.status.nominatedNodeName &&
    isFinished(old) === isFinished(next) &&
    isDeepStrictEqual(old.metadata.labels, next.metadata.labels) &&
    isDeepStrictEqual(old.spec, next.spec)
  )
}

/** Ignores heartbeats: they change neither the resources of a node nor the pods it accepts. */
function isSameNode(old: Node, next: Node): boolean {
  return (
    isDeepStrictEqual(old.metadata.labels, next.metadata.labels) &&
    isDeepStrictEqual(old.spec, next.spec) &&
    isDeepStrictEqual(old.status.allocatable, next.status.allocatable) &&
    isDeepStrictEqual(old.status.capacity, next.status.capacity)
  )
}

const waitingPods = 'waiting'

/** The words of kube-scheduler. */
const bindTimeoutText = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'

function whetherWaiting(pod: Pod): Iterable<string> {
  return isWaiting(pod) ? [waitingPods] : []
}

const noLabels: Readonly<Record<string, string>> = {}

class Scheduler {
  readonly #kit: ControllerContext
  readonly #pods: ObjectCache<Pod>
  readonly #waiting: ObjectIndex<Pod>
  readonly #claimUsers: ObjectIndex<Pod>
  readonly #keptVolumes: ObjectIndex<Volume>
  readonly #freeVolumes: ObjectIndex<Volume>
  readonly #volumeTarget: WriteTarget
  /** The parsed requirements of each version of a pod. */
  readonly #demands = new WeakMap<Pod, PodDemand>()
  /** The nodes of pods that were just bound, by uid, until the cache shows the binding. */
  readonly #assumed = new Map<string, string>()
  readonly #volumeWaits: VolumeWaits

  constructor(kit: ControllerContext, pods: ObjectCache<Pod>, volumeWaits: VolumeWaits) {
    this.#kit = kit
    this.#pods = pods
    this.#volumeWaits = volumeWaits
    this.#waiting = pods.addIndex(whetherWaiting)
    this.#claimUsers = pods.addIndex(claimKeysOf)
    const volumes = kit.caches.of(volumeType)
    this.#keptVolumes = volumes.addIndex(claimKeyOf)
    this.#freeVolumes = volumes.addIndex(freeClassOf(kit.dialect.volumes.storageClass))
    this.#volumeTarget = writeTarget(kit.client, kit.caches, [noted(volumeType), noted(volumeClaimType)])
    kit.metrics.watchPending(() => this.#countPending())
  }

  /**
   * Places all waiting pods. Other work runs in between; a change that happens meanwhile is found when a pod is bound,
   * or by the next pass.
   */
  async placeAll(signal: AbortSignal): Promise<WorkResult> {
    if (this.#waiting.count(waitingPods) === 0) return undefined
    const startedMs = performance.now()
    const { placed, waiting } = this.#sortOut()
    const { caches, dialect } = this.#kit
    const loads = loadNodes([...caches.of(nodeType).list()], placed)
    const placements = new Placements(loads, dialect.taints.unschedulable)
    const planner = this.#createPlanner()
    const failures: unknown[] = []
    const tasks: Promise<unknown>[] = []
    const slice = new TimeSlice()
    this.#volumeWaits.keep(new Set(waiting.map(({ pod }) => pod.metadata.uid)))
    for (const demand of waiting.toSorted(schedulingOrder)) {
      for (const task of this.#settle(withVolumes(demand, planner), placements, signal))
        tasks.push(task.catch((error: unknown) => failures.push(error)))
      if (slice.spent) await slice.pause()
      signal.throwIfAborted()
    }
    const busyMs = performance.now() - startedMs
    await Promise.all(tasks)
    if (failures.length > 0) throw failures[0]
    return { busyMs, againInMs: this.#volumeWaits.nextInMs(performance.now()) }
  }

  /** Places one pod and returns the requests that write the result. */
  #settle(demand: PodDemand, placements: Placements, signal: AbortSignal): readonly Promise<void>[] {
    const { metrics } = this.#kit
    const startedMs = performance.now()
    if (this.#volumeWaits.isOver(demand.pod.metadata.uid, startedMs)) {
      metrics.countAttempt('error', performance.now() - startedMs)
      return [this.#refuse(demand.pod, bindTimeoutText, signal, 'SchedulerError')]
    }
    const refusal = demand.volumes?.refusal
    if (refusal !== undefined) {
      metrics.countAttempt('unschedulable', performance.now() - startedMs)
      return [this.#refuse(demand.pod, `0/${placements.loads.size} nodes are available: ${refusal}.`, signal)]
    }
    const placement = placements.plan(demand)
    metrics.observeChoice(performance.now() - startedMs)
    if (placement.kind === 'unschedulable') {
      metrics.countAttempt('unschedulable', performance.now() - startedMs)
      return this.#makeRoom(demand, placements, placement.message, signal)
    }
    placements.place(placement.node, demand)
    const node = placements.loads.get(placement.node)?.node
    const bindings = node && demand.volumes?.bindingsOn(node)
    if (bindings !== undefined) {
      this.#volumeWaits.note(demand.pod.metadata.uid, startedMs)
      return [this.#bindVolumes(bindings, signal)]
    }
    this.#assumed.set(demand.pod.metadata.uid, placement.node)
    return [this.#bindCounted(demand.pod, placement.node, startedMs, signal)]
  }

  async #bindCounted(pod: Pod, node: string, startedMs: number, signal: AbortSignal): Promise<void> {
    const count = (result: 'scheduled' | 'error') =>
      this.#kit.metrics.countAttempt(result, performance.now() - startedMs)
    try {
      await this.#bind(pod, node, signal)
      count('scheduled')
    } catch (error) {
      count('error')
      throw error
    }
  }

  /** Writes where the claims of a pod get their volumes. The pod is bound in a later pass, when its claims are. */
  async #bindVolumes(writes: readonly Write[], signal: AbortSignal): Promise<void> {
    await applyWrites(this.#volumeTarget, writes, signal)
  }

  #createPlanner(): VolumePlanner {
    const { caches, dialect, types } = this.#kit
    const [claims, volumes] = [caches.of(volumeClaimType), caches.of(volumeType)]
    const classes = caches.of(types.storageClasses)
    const hasNode = ({ metadata, spec }: Pod) => Boolean(spec.nodeName) || this.#assumed.has(metadata.uid)
    return new VolumePlanner({
      findClaim: (key) => claims.get(key),
      findVolume: (name) => volumes.get(name),
      keptFor: (claim) => this.#keptVolumes.get(keyOf(claim)),
      freeOf: (className) => this.#freeVolumes.get(className),
      findClass: (name) => classes.get(name),
      usersOf: (key) => this.#claimUsers.get(key).filter(hasNode),
      names: dialect.volumes,
    })
  }

  #countPending(): PendingPods {
    const all = this.#waiting.count(waitingPods)
    const unschedulable = [...this.#waiting.get(waitingPods)].filter(isRefused).length
    return { active: all - unschedulable, unschedulable }
  }

  /**
   * Plans a preemption for a pod that no node can run. The pod occupies its nominated node for the rest of the pass, so
   * that less important pods do not take the space.
   */
  #makeRoom(demand: PodDemand, placements: Placements, message: string, signal: AbortSignal): readonly Promise<void>[] {
    const { loads } = placements
    const { nominatedNodeName = '' } = demand.pod.status
    const promised = loads.get(nominatedNodeName)
    if (promised !== undefined && isMakingRoom(promised, demand)) {
      placements.place(nominatedNodeName, demand)
      return []
    }
    const preemption = planPreemption(demand, loads, this.#kit.dialect.taints.unschedulable)
    if (preemption === undefined) return [this.#refuse(demand.pod, message, signal)]
    placements.place(preemption.node, demand)
    return [this.#preempt(demand.pod, preemption, message, signal)]
  }

  /** Writes the nominated node before it deletes the victims, so that the next pass keeps the space for the pod. */
  async #preempt(pod: Pod, { node, victims }: Preemption, message: string, signal: AbortSignal): Promise<void> {
    const { client, caches, events } = this.#kit
    const { uid, name, namespace } = pod.metadata
    const patch = { metadata: { uid }, status: { nominatedNodeName: node } }
    await orAbsent(caches.writer(podType).patch(pod, { kind: 'merge', patch }, signal, 'status'))
    const text = `${message} preemption: ${victims.length} Pods on ${node} are deleted for it`
    events.record(subjectOf(pod), 'Warning', 'FailedScheduling', text)
    for (const { pod: victim } of victims) {
      if (victim.metadata.deletionTimestamp !== undefined) continue
      events.record(subjectOf(victim), 'Normal', 'Preempted', `Preempted by ${namespace}/${name} on node ${node}`)
      const { name: victimName, namespace: victimNamespace = 'default', uid: victimUid } = victim.metadata
      const ref = { resource: podType.resource, namespace: victimNamespace, name: victimName }
      await this.#mark(victim, signal)
      await orAbsent(client.delete(ref, { uid: victimUid, signal }))
    }
  }

  /** Marks a pod as preempted. A pod that has changed since is deleted without a mark: the waiting pod would lose a grace period. */
  async #mark(victim: Pod, signal: AbortSignal): Promise<void> {
    const { caches } = this.#kit
    const patch = { kind: 'merge', patch: markOf(victim) } as const
    const marked = orAbsent(caches.writer(podType).patch(victim, patch, signal, 'status'))
    await marked.catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'conflict')) throw error
    })
  }

  /** Reports a pod whose spec cannot be parsed and leaves it out. */
  #sortOut(): { readonly placed: readonly PodDemand[]; readonly waiting: readonly PodDemand[] } {
    const placed: PodDemand[] = []
    const waiting: PodDemand[] = []
    const assumed = new Map(this.#assumed)
    this.#assumed.clear()
    for (const pod of this.#pods.list()) {
      const { uid } = pod.metadata
      const node = assumed.get(uid)
      if (isFinished(pod)) continue
      const demand = this.#demandOf(pod)
      if (demand === undefined) continue
      if (pod.spec.nodeName) placed.push(demand)
      else if (node !== undefined) {
        this.#assumed.set(uid, node)
        placed.push({ ...demand, pod: { ...pod, spec: { ...pod.spec, nodeName: node } } })
      } else if (isWaiting(pod)) waiting.push(demand)
    }
    return { placed, waiting }
  }

  #demandOf(pod: Pod): PodDemand | undefined {
    const { labels = noLabels } = this.#kit.caches.of(namespaceType).get(pod.metadata.namespace ?? '')?.metadata ?? {}
    const known = this.#demands.get(pod)
    if (known?.namespaceLabels === labels) return known
    try {
      const demand = demandOf(pod, labels)
      this.#demands.set(pod, demand)
      return demand
    } catch (error) {
      this.#kit.events.record(subjectOf(pod), 'Warning', 'FailedScheduling', describeError(error))
      return undefined
    }
  }

  /** Binds a pod. It is no error if the pod was deleted or bound by another scheduler meanwhile. */
  async #bind(pod: Pod, node: string, signal: AbortSignal): Promise<void> {
    const { name, namespace = 'default', uid } = pod.metadata
    const ref = { resource: podType.resource, namespace, name, subresource: 'binding' }
    const target = { apiVersion: 'v1', kind: 'Node', name: node }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target }
    try {
      await this.#kit.client.createAt(ref, binding, { signal })
    } catch (error) {
      this.#assumed.delete(uid)
      if (error instanceof ApiError && (error.code === 'not-found' || error.code === 'conflict')) return
      throw error
    }
    const message = `Successfully assigned ${namespace}/${name} to ${node}`
    this.#kit.events.record(subjectOf(pod), 'Normal', 'Scheduled', message)
  }

  /**
   * Reports a pod that no node can run. The PodScheduled condition keeps the message, so each message becomes one
   * Event.
   */
  async #refuse(pod: Pod, message: string, signal: AbortSignal, reason = 'Unschedulable'): Promise<void> {
    const change = { type: 'PodScheduled', status: 'False', reason, message } as const
    const conditions = withCondition(pod.status.conditions, change, Date.now())
    if (conditions === pod.status.conditions) return
    this.#kit.events.record(subjectOf(pod), 'Warning', 'FailedScheduling', message)
    const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions } }
    const writer = this.#kit.caches.writer(podType)
    await orAbsent(writer.patch(pod, { kind: 'merge', patch }, signal, 'status'))
  }
}

function withVolumes(demand: PodDemand, planner: VolumePlanner): PodDemand {
  const volumes = planner.of(demand.pod)
  return volumes === undefined ? demand : { ...demand, volumes }
}

function isWaiting(pod: Pod): boolean {
  const isStaying = pod.metadata.deletionTimestamp === undefined && !isFinished(pod)
  return isStaying && !pod.spec.nodeName && isOurs(pod)
}

/** Checks whether an earlier pass found no node. */
function isRefused({ status }: Pod): boolean {
  return status.conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')
}

function isOurs({ spec }: Pod): boolean {
  const gates = spec['schedulingGates']
  const isGated = Array.isArray(gates) && gates.length > 0
  return !isGated && ['', schedulerName].includes(spec.schedulerName)
}

function subjectOf({ metadata }: Pod) {
  return { apiVersion: 'v1', kind: 'Pod', metadata }
}
