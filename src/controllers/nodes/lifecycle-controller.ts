import { orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { findCondition } from '../objects/conditions.ts'
import type { Node, Taint } from '../objects/node.ts'
import { isReady, nodeNameOf, type Pod } from '../objects/pod.ts'
import { nodeType, podType } from '../objects/types.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf, podsResource } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { WorkResult } from '../runtime/work-queue.ts'
import { Heartbeats } from './heartbeats.ts'
import { conditionsOfLost, taintsOf } from './plan-node.ts'
import { notReadyWrites, planEviction } from './plan-pods.ts'

/** How long a node may be silent before it counts as lost, and be missing before its pods are deleted; read at each check. */
type Grace = () => number

/** The grace of a node that has not sent any heartbeat yet. */
const startupGraceMs = 60_000
const recheckMs = 10_000

const leaseNamespace = 'kube-node-lease'

/**
 * Follows the heartbeats of nodes. A silent node becomes Ready Unknown, its pods not ready; taints follow the conditions, and pods that do not
 * tolerate them are evicted. Pods of a deleted node are deleted. Its keys are names of nodes.
 */
export function createNodeLifecycleController(context: ControllerContext, graceMs: Grace): Component {
  const { caches, types, metrics, log } = context
  const pods = caches.of(podType)
  const wellNodes = caches.of(nodeType).addIndex(wellNode)
  const podsByNode = pods.addIndex(nodeNameOf)
  const lifecycle = new NodeLifecycle(context, graceMs, {
    podsOf: (node) => podsByNode.get(node),
    isAnyWell: () => wellNodes.count(well) > 0,
  })
  return new Controller({
    name: 'nodelifecycle',
    watches: [
      watchKeys(caches.of(nodeType), ({ metadata }) => [metadata.name]),
      watchKeys(caches.of(types.leases), ({ metadata }) =>
        metadata.namespace === leaseNamespace ? [metadata.name] : [],
      ),
      watchKeys(pods, nodeNameOf),
    ],
    reconcile: (name, { signal }) => lifecycle.reconcile(name, signal),
    metrics,
    log: log.child('nodelifecycle'),
  })
}

interface Surroundings {
  readonly podsOf: (node: string) => readonly Pod[]
  /** Checks whether at least one node is healthy. */
  readonly isAnyWell: () => boolean
}

class NodeLifecycle {
  readonly #context: ControllerContext
  readonly #graceMs: Grace
  readonly #surroundings: Surroundings
  readonly #heartbeats = new Heartbeats()
  /** The nodes that have a RegisteredNode Event, by name, as they were then. */
  readonly #known = new Map<string, Node>()
  /** The time since when a node is missing, by its name. */
  readonly #missing = new Map<string, number>()

  constructor(context: ControllerContext, graceMs: Grace, surroundings: Surroundings) {
    this.#context = context
    this.#graceMs = graceMs
    this.#surroundings = surroundings
  }

  async reconcile(name: string, signal: AbortSignal): Promise<WorkResult> {
    const { caches } = this.#context
    const node = caches.of(nodeType).get(name)
    if (node === undefined) return this.#collectOrphans(name, signal)
    this.#missing.delete(name)
    this.#greet(node)
    const lostInMs = this.#lostInMs(node)
    const updated = await this.#keepTaints(lostInMs > 0 ? node : await this.#declareLost(node, signal), signal)
    const pods = this.#surroundings.podsOf(name)
    const isLost = findCondition(updated.status.conditions, 'Ready')?.status === 'Unknown'
    if (isLost) await this.#markNotReady(pods, signal)
    const evictedInMs = await this.#evict(updated, pods, signal)
    return { againInMs: Math.min(evictedInMs ?? recheckMs, lostInMs > 0 ? lostInMs : recheckMs) }
  }

  #greet(node: Node): void {
    const { name } = node.metadata
    if (this.#known.has(name)) return
    this.#known.set(name, node)
    this.#recordEvent(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)
  }

  #takeLeave(name: string): void {
    const node = this.#known.get(name)
    if (node === undefined) return
    this.#known.delete(name)
    this.#recordEvent(node, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
  }

  #recordEvent(node: Node, reason: string, message: string): void {
    this.#context.events.record(subjectOf('Node', node), 'Normal', reason, message)
  }

  /** Returns the time until the node counts as lost; zero or less if it does now. */
  #lostInMs({ metadata: { name }, status }: Node): number {
    const { caches, types } = this.#context
    const renewed = caches.of(types.leases).get(`${leaseNamespace}/${name}`)?.spec.renewTime
    const heartbeat = findCondition(status.conditions, 'Ready')?.lastHeartbeatTime
    const graceMs = renewed || heartbeat ? this.#graceMs() : startupGraceMs
    return graceMs - this.#heartbeats.silentMs(name, `${renewed} ${heartbeat}`, performance.now())
  }

  async #declareLost(node: Node, signal: AbortSignal): Promise<Node> {
    const { caches } = this.#context
    const conditions = conditionsOfLost(node, Date.now())
    if (conditions === node.status.conditions) return node
    const { name, uid, resourceVersion } = node.metadata
    this.#recordEvent(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`)
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    return caches.writer(nodeType).patch(node, { kind: 'merge', patch }, signal, 'status')
  }

  async #keepTaints(node: Node, signal: AbortSignal): Promise<Node> {
    const { caches, dialect } = this.#context
    const taints = taintsOf(node, dialect.taints, Date.now())
    if (taints === node.spec.taints) return node
    const { uid, resourceVersion } = node.metadata
    const patch = { metadata: { uid, resourceVersion }, spec: { taints: taints.map(withoutEmptyValue) } }
    return caches.writer(nodeType).patch(node, { kind: 'merge', patch }, signal)
  }

  async #markNotReady(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods.filter(isReady))
      this.#context.events.record(subjectOf('Pod', pod), 'Warning', 'NodeNotReady', 'Node is not ready')
    await this.#write(notReadyWrites(pods, Date.now()), signal)
  }

  async #evict(node: Node, pods: readonly Pod[], signal: AbortSignal): Promise<number | undefined> {
    const { dialect, events } = this.#context
    const heedsTrouble = this.#surroundings.isAnyWell()
    const { taints } = node.spec
    const plan = planEviction({ taints, pods, heedsTrouble, names: dialect.taints, nowMs: Date.now() })
    for (const pod of plan.evicted) {
      const { name, namespace } = pod.metadata
      const message = `Marking for deletion Pod ${namespace}/${name}`
      events.record(subjectOf('Pod', pod), 'Normal', 'TaintManagerEviction', message)
    }
    await this.#write(
      plan.evicted.map((pod) => ({ verb: 'delete', target: nameOf(podsResource, pod), uid: pod.metadata.uid })),
      signal,
    )
    return plan.againInMs
  }

  /** Deletes pods of a missing node after a second check at the server: a stale cache must not cost a pod. */
  async #collectOrphans(name: string, signal: AbortSignal): Promise<WorkResult> {
    this.#heartbeats.forget(name)
    this.#takeLeave(name)
    const pods = this.#surroundings.podsOf(name)
    if (pods.length === 0) {
      this.#missing.delete(name)
      return undefined
    }
    const sinceMs = this.#missing.get(name) ?? performance.now()
    this.#missing.set(name, sinceMs)
    const leftMs = sinceMs + this.#graceMs() - performance.now()
    if (leftMs > 0) return { againInMs: leftMs }
    if (await this.#exists(name, signal)) return { againInMs: recheckMs }
    await this.#write(
      pods.map((pod) => ({
        verb: 'delete',
        target: nameOf(podsResource, pod),
        uid: pod.metadata.uid,
        graceSeconds: 0,
      })),
      signal,
    )
    return undefined
  }

  async #exists(name: string, signal: AbortSignal): Promise<boolean> {
    return (await orAbsent(this.#context.client.get({ resource: nodeType.resource, name }, { signal }))) !== undefined
  }

  #write(writes: Parameters<typeof applyWrites>[1], signal: AbortSignal): Promise<void> {
    const { client, caches } = this.#context
    return applyWrites(writeTarget(client, caches, [noted(podType)]), writes, signal)
  }
}

const well = 'well'

function wellNode({ status }: Node): Iterable<string> {
  return findCondition(status.conditions, 'Ready')?.status === 'True' ? [well] : []
}

function withoutEmptyValue({ value, ...taint }: Taint): Omit<Taint, 'value'> {
  return value === '' ? taint : { ...taint, value }
}

function subjectOf(kind: string, { metadata }: Node | Pod) {
  return { apiVersion: 'v1', kind, metadata }
}
