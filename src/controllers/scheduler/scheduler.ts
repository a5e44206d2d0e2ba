import { ApiError, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import type { BaseContext } from '../base-context.ts'
import { withCondition } from '../objects/conditions.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { namespaceType, nodeType, podType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { demandOf, loadNodes, type NodeLoad, type PodDemand, place } from './placed-pod.ts'
import { planPlacement, schedulingOrder } from './plan.ts'
import { isMakingRoom, type Preemption, planPreemption } from './preemption.ts'

/** Pods that name no scheduler, or this one, are ours. */
const schedulerName = 'default-scheduler'

/** All changes fold into one key: each pass places everything that waits. */
const everything = 'pods'

/** Gives pending pods a node, and says of the others why not. */
export function createScheduler(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const scheduler = new Scheduler(kit, pods)
  return new Controller({
    name: 'scheduler',
    watches: [
      watchKeys(pods, () => [everything]),
      watchKeys(kit.caches.of(nodeType), () => [everything]),
      watchKeys(kit.caches.of(namespaceType), () => [everything]),
    ],
    reconcile: async (_key, { signal }) => {
      await scheduler.placeAll(signal)
      return undefined
    },
    workers: 1,
    metrics: kit.metrics,
    log: kit.log.child('scheduler'),
  })
}

const noLabels: Readonly<Record<string, string>> = {}

class Scheduler {
  readonly #kit: BaseContext
  readonly #pods: ObjectCache<Pod>
  /** What each version of a pod asks for, read once. */
  readonly #demands = new WeakMap<Pod, PodDemand>()
  /** By uid where a pod was bound to, until the cache shows it. */
  readonly #assumed = new Map<string, string>()

  constructor(kit: BaseContext, pods: ObjectCache<Pod>) {
    this.#kit = kit
    this.#pods = pods
  }

  async placeAll(signal: AbortSignal): Promise<void> {
    const { dialect, caches } = this.#kit
    const { placed, waiting } = this.#sortOut()
    const loads = loadNodes([...caches.of(nodeType).list()], placed)
    const tasks: Promise<void>[] = []
    for (const demand of waiting.toSorted(schedulingOrder)) {
      const placement = planPlacement(demand, loads, dialect.taints.unschedulable)
      if (placement.kind === 'unschedulable') tasks.push(...this.#makeRoom(demand, loads, placement.message, signal))
      else {
        const load = loads.get(placement.node)
        if (load !== undefined) place(load, demand)
        this.#assumed.set(demand.pod.metadata.uid, placement.node)
        tasks.push(this.#bind(demand.pod, placement.node, signal))
      }
    }
    const failed = (await Promise.allSettled(tasks)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** A pod that is to have a node keeps it for the rest of the pass: less important ones must not slip in. */
  #makeRoom(
    demand: PodDemand,
    loads: ReadonlyMap<string, NodeLoad>,
    message: string,
    signal: AbortSignal,
  ): readonly Promise<void>[] {
    const promised = loads.get(demand.pod.status.nominatedNodeName ?? '')
    if (promised !== undefined && isMakingRoom(promised, demand)) {
      place(promised, demand)
      return []
    }
    const preemption = planPreemption(demand, loads, this.#kit.dialect.taints.unschedulable)
    const load = preemption && loads.get(preemption.node)
    if (preemption === undefined || load === undefined) return [this.#refuse(demand.pod, message, signal)]
    place(load, demand)
    return [this.#preempt(demand.pod, preemption, message, signal)]
  }

  /** The node is noted before anyone goes, so that the next pass knows for whom. */
  async #preempt(pod: Pod, { node, victims }: Preemption, message: string, signal: AbortSignal): Promise<void> {
    const { client, caches, events } = this.#kit
    const { uid, name, namespace } = pod.metadata
    const patch = { metadata: { uid }, status: { nominatedNodeName: node } }
    await orAbsent(caches.writer(podType).patch(pod, { kind: 'merge', patch }, signal, 'status'))
    const told = `${message} preemption: ${victims.length} Pods on ${node} go for it`
    events.record(subjectOf(pod), 'Warning', 'FailedScheduling', told)
    for (const { pod: victim } of victims) {
      if (victim.metadata.deletionTimestamp !== undefined) continue
      events.record(subjectOf(victim), 'Normal', 'Preempted', `Preempted by ${namespace}/${name} on node ${node}`)
      const { name: victimName, namespace: victimNamespace = 'default', uid: victimUid } = victim.metadata
      const ref = { resource: podType.resource, namespace: victimNamespace, name: victimName }
      await orAbsent(client.delete(ref, { uid: victimUid, signal }))
    }
  }

  /** A pod whose spec cannot be read is told so and left out. */
  #sortOut(): { readonly placed: readonly PodDemand[]; readonly waiting: readonly PodDemand[] } {
    const placed: PodDemand[] = []
    const waiting: PodDemand[] = []
    const assumed = new Map(this.#assumed)
    this.#assumed.clear()
    for (const pod of this.#pods.list()) {
      const { uid, deletionTimestamp } = pod.metadata
      const node = assumed.get(uid)
      if (isFinished(pod)) continue
      const demand = this.#demandOf(pod)
      if (demand === undefined) continue
      if (pod.spec.nodeName) placed.push(demand)
      else if (node !== undefined) {
        this.#assumed.set(uid, node)
        placed.push({ ...demand, pod: { ...pod, spec: { ...pod.spec, nodeName: node } } })
      } else if (deletionTimestamp === undefined && isOurs(pod)) waiting.push(demand)
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

  /** A pod that is gone or bound by someone else meanwhile is no failure. */
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

  /** Said once for each reason: the condition remembers. */
  async #refuse(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const change = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const
    const conditions = withCondition(pod.status.conditions, change, Date.now())
    if (conditions === pod.status.conditions) return
    this.#kit.events.record(subjectOf(pod), 'Warning', 'FailedScheduling', message)
    const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions } }
    const writer = this.#kit.caches.writer(podType)
    await orAbsent(writer.patch(pod, { kind: 'merge', patch }, signal, 'status'))
  }
}

function isOurs({ spec }: Pod): boolean {
  const gates = spec['schedulingGates']
  const isGated = Array.isArray(gates) && gates.length > 0
  return !isGated && ['', schedulerName].includes(spec.schedulerName)
}

function subjectOf({ metadata }: Pod) {
  return { apiVersion: 'v1', kind: 'Pod', metadata }
}
