import { orAbsent } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { Controller } from '../runtime/controller.ts'
import type { OwnerReference } from '../runtime/metadata.ts'
import { restAfterPass, type WorkResult } from '../runtime/work-queue.ts'
import { type GraphNode, OwnerGraph } from './owner-graph.ts'
import { planCollection } from './plan.ts'
import { WatchedResources } from './watched-resources.ts'

const refreshIntervalMs = 30_000
const maxAbsent = 10_000

/** Deletes objects without owners, and finishes foreground deletion and orphaning. */
export class GarbageCollector implements Component {
  readonly name = 'garbage-collector'
  readonly #kit: BaseContext
  #graph = new OwnerGraph()
  /** The uids that the server confirmed as absent; a uid never comes back. */
  readonly #absent = new Set<string>()
  #resources: WatchedResources | undefined
  #controller: Controller | undefined
  #refresh: Periodic | undefined
  #enqueue: ((uid: string) => void) | undefined

  constructor(kit: BaseContext) {
    this.#kit = kit
  }

  /** Starts without waiting for the lists: for an owner that is not in the graph yet, the collector asks the server. */
  async start(): Promise<void> {
    const { client, metrics } = this.#kit
    const log = this.#kit.log.child(this.name)
    this.#graph = new OwnerGraph()
    this.#controller = new Controller({
      name: this.name,
      watches: [{ subscribe: (add) => this.#subscribe(add) }],
      reconcile: (uid, { signal }) => this.#reconcile(uid, signal),
      rest: restAfterPass,
      metrics,
      log,
    })
    await this.#controller.start()
    const onChange = (old: GraphNode | undefined, next: GraphNode | undefined) => this.#take(old, next)
    const resources = new WatchedResources({ client, ignored: ['events'], onChange, log })
    this.#resources = resources
    this.#refresh = new Periodic((scope) => resources.refresh(scope), {
      intervalMs: refreshIntervalMs,
      firstAfterMs: 0,
      onError: (error) => log.warn('resources could not be discovered; tried again later', { error }),
    })
    this.#refresh.start()
  }

  /** Stops every part, even if another one exceeds its time: a process that lost the lease must not go on. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    const resources = this.#resources
    this.#resources = undefined
    await Promise.all([this.#refresh?.stop(scope), this.#controller?.stop(scope), resources?.stop()])
  }

  health(): Health {
    return this.#controller?.health() ?? { level: 'unknown', message: 'not running', sinceMs: 0 }
  }

  #subscribe(add: (uid: string) => void): () => void {
    this.#enqueue = add
    return () => {
      this.#enqueue = undefined
    }
  }

  #take(old: GraphNode | undefined, next: GraphNode | undefined): void {
    for (const uid of this.#graph.change(old, next)) this.#enqueue?.(uid)
  }

  async #reconcile(uid: string, signal: AbortSignal): Promise<WorkResult> {
    const node = this.#graph.get(uid)
    if (node === undefined) return undefined
    const startedMs = performance.now()
    const plan = planCollection(node, this.#graph, (owner) => this.#absent.has(owner))
    const busyMs = performance.now() - startedMs
    for (const reference of plan.invalid) this.#reportInvalid(node, reference)
    if (plan.unknown.length > 0) return this.#findOut(node, plan.unknown, signal)
    const note = ({ group, resource }: { group: string; resource: string }, written: unknown) =>
      this.#resources?.note(resource, group, written)
    await applyWrites({ client: this.#kit.client, note }, plan.writes, signal)
    return { busyMs }
  }

  /** Asks the server for owners missing in the graph. If one exists, its watch event is still on its way. */
  async #findOut(node: GraphNode, owners: readonly OwnerReference[], signal: AbortSignal): Promise<WorkResult> {
    for (const owner of owners) {
      if (await this.#exists(node, owner, signal)) continue
      if (this.#absent.size >= maxAbsent) this.#absent.clear()
      this.#absent.add(owner.uid)
    }
    const isSettled = owners.every(({ uid }) => this.#absent.has(uid))
    return { againInMs: isSettled ? 1 : refreshIntervalMs }
  }

  /** Checks whether the owner exists. For a kind that is not served (any more) this is unknown: its objects count as present. */
  async #exists({ metadata }: GraphNode, owner: OwnerReference, signal: AbortSignal): Promise<boolean> {
    const resource = this.#resources?.find(owner.apiVersion, owner.kind)
    if (resource === undefined || (resource.namespaced && metadata.namespace === undefined)) return true
    const namespace = resource.namespaced && metadata.namespace !== undefined ? { namespace: metadata.namespace } : {}
    const found = await orAbsent(this.#kit.client.get({ resource, name: owner.name, ...namespace }, { signal }))
    return found?.metadata.uid === owner.uid
  }

  #reportInvalid({ resource, metadata }: GraphNode, { kind, name, uid }: OwnerReference): void {
    const { group, version } = resource
    const apiVersion = group === '' ? version : `${group}/${version}`
    const message = `the owner ${kind} ${name} (${uid}) is in another namespace than ${metadata.namespace ?? 'none'}`
    this.#kit.events.record(
      { apiVersion, kind: resource.kind, metadata },
      'Warning',
      'OwnerRefInvalidNamespace',
      message,
    )
  }
}
