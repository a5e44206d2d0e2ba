import type { ObjectKey } from '../../model/api-object.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import { describeError } from '../../model/errors.ts'
import { ipFamily } from '../../model/ip.ts'
import { compareResourceVersions } from '../../model/resource-version.ts'
import type { Service } from '../../model/service.ts'
import type { Logger, TraceContext } from '../../observe/index.ts'
import type { ChangeScope } from './applied.ts'
import { type LocalPod, LocalPods } from './local-pods.ts'
import type { ChangeSet, NodeState, WatchedResource } from './node-state.ts'
import type { Problem } from './problem.ts'
import { type Hashed, type StoredObject, sameValue } from './stored-object.ts'
import { sameSlices, Tables, type Touched } from './tables.ts'

export const watchedResources: readonly WatchedResource[] = ['services', 'endpointslices', 'endpoints']

/** A Service as the planes see it: the object, if there is one, and the slices that count. */
interface View {
  readonly service: Hashed<Service> | undefined
  readonly slices: readonly Hashed<EndpointSlice>[]
  /** The values of `slices`, made once. */
  readonly sliceValues: readonly EndpointSlice[]
}

type ProgressListener = () => void

/**
 * The node's copy of API objects, in memory. It is a function of the newest version of each object: the same objects
 * give the same state in any order of arrival. Writers are synchronous and complete: a reader never sees half
 * a step.
 */
export class LiveNodeState implements NodeState {
  readonly #log: Logger
  readonly #tables = new Tables()
  readonly #views = new Map<ObjectKey, View>()
  readonly #seen = new Map<WatchedResource, string>()
  readonly #localPods = new LocalPods()
  readonly #listeners = new Set<(change: ChangeSet) => void>()
  readonly #progressListeners = new Set<ProgressListener>()
  #revision = 0
  #problemCount = 0

  constructor(log: Logger) {
    this.#log = log
  }

  get revision(): number {
    return this.#revision
  }

  get synced(): boolean {
    return this.#revision > 0
  }

  /** How many problems were found since the start, for a counter. */
  get problemCount(): number {
    return this.#problemCount
  }

  service(key: ObjectKey): Service | undefined {
    return this.#views.get(key)?.service?.value
  }

  *serviceKeys(): Iterable<ObjectKey> {
    for (const [key, view] of this.#views) if (view.service !== undefined) yield key
  }

  slicesOf(service: ObjectKey): readonly EndpointSlice[] {
    return this.#views.get(service)?.sliceValues ?? []
  }

  /** A pod of this node that was announced and not withdrawn. */
  localPod(containerId: string): LocalPod | undefined {
    return this.#localPods.get(containerId)
  }

  /** The last announcement of a pod that was not withdrawn. */
  announcedPod(key: ObjectKey): LocalPod | undefined {
    return this.#localPods.lastOf(key)
  }

  /** A step of its own, so that planes act on the addresses and say so; the same again is none. */
  announcePod(pod: LocalPod): void {
    if (this.#localPods.put(pod)) this.#publishPod(pod)
  }

  withdrawPod(containerId: string): void {
    const pod = this.#localPods.remove(containerId)
    if (pod !== undefined) this.#publishPod(pod)
  }

  /** The problems of the objects as they are now. */
  *problems(): Iterable<Problem> {
    for (const resource of watchedResources) for (const object of this.#tables.all(resource)) yield* object.problems
  }

  /** The version of an object that was taken last. */
  stored(resource: WatchedResource, key: ObjectKey): StoredObject | undefined {
    return this.#tables.get(resource, key)
  }

  /** The newest resourceVersion up to which everything of this resource has been taken. */
  seen(resource: WatchedResource): string | undefined {
    return this.#seen.get(resource)
  }

  /** Whether the present revision holds everything of the resource up to that resourceVersion. */
  contains(resource: WatchedResource, resourceVersion: string): boolean {
    const seen = this.#seen.get(resource)
    return this.synced && seen !== undefined && compareResourceVersions(seen, resourceVersion) >= 0
  }

  /** The Services of this version of an object, and the families of its addresses; where it is not the newest any more, it may be about any Service. */
  scopeOf(resource: WatchedResource, resourceVersion: string): ChangeScope {
    const object = this.#tables.all(resource).find((each) => each.resourceVersion === resourceVersion)
    if (object === undefined) return { families: new Set(), concerns: () => true }
    const services = new Set([object.key, ...object.slices.map(({ value }) => value.service)])
    const ofService = (object.service?.value.clusterIps ?? []).map(ipFamily)
    return {
      families: new Set([...ofService, ...object.slices.map(({ value }) => value.family)]),
      concerns: (service) => services.has(service),
    }
  }

  subscribe(listener: (change: ChangeSet) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The listener runs after each write, also when it changed nothing but a resourceVersion. */
  onProgress(listener: ProgressListener): () => void {
    this.#progressListeners.add(listener)
    return () => this.#progressListeners.delete(listener)
  }

  /**
   * Prepares some of the objects of a coming `replace`, so that it has less work at once. It works only before the first step, when
   * no plane reads; later it does nothing.
   */
  prepare(resource: WatchedResource, objects: readonly StoredObject[]): void {
    if (this.synced) return
    const touched: Touched = new Set()
    for (const object of objects) this.#put(resource, object, touched)
    for (const key of touched) this.#refresh(key)
  }

  /** Takes the whole content of a resource. Objects that are as before touch nothing. */
  replace(resource: WatchedResource, objects: readonly StoredObject[], resourceVersion: string): void {
    const touched: Touched = new Set()
    const changed = objects.filter((object) => this.#tables.get(resource, object.key) !== object)
    for (const object of changed) this.#put(resource, object, touched)
    for (const key of this.#keysBeside(resource, objects)) this.#tables.remove(resource, key, touched)
    this.#commit(touched, resource, resourceVersion, changed)
  }

  upsert(resource: WatchedResource, object: StoredObject, trace?: TraceContext): void {
    const touched: Touched = new Set()
    this.#put(resource, object, touched)
    this.#commit(touched, resource, object.resourceVersion, [object], trace)
  }

  /** `resourceVersion` is that of the deletion. */
  remove(resource: WatchedResource, key: ObjectKey, resourceVersion: string, trace?: TraceContext): void {
    const touched: Touched = new Set()
    this.#tables.remove(resource, key, touched)
    this.#commit(touched, resource, resourceVersion, [], trace)
  }

  /** Nothing of the resource changed up to this resourceVersion. */
  progress(resource: WatchedResource, resourceVersion: string): void {
    this.#commit(new Set(), resource, resourceVersion)
  }

  /** The keys of objects that the state holds and the list lacks. */
  #keysBeside(resource: WatchedResource, objects: readonly StoredObject[]): readonly ObjectKey[] {
    const kept = new Set(objects.map(({ key }) => key))
    if (this.#tables.count(resource) === kept.size) return []
    return Array.from(this.#tables.all(resource), ({ key }) => key).filter((key) => !kept.has(key))
  }

  #put(resource: WatchedResource, object: StoredObject, touched: Touched): void {
    if (this.#tables.get(resource, object.key) === object) return
    this.#problemCount += object.problems.length
    this.#tables.put(resource, object, touched)
  }

  #commit(
    touched: Touched,
    resource: WatchedResource,
    resourceVersion: string,
    objects: readonly StoredObject[] = [],
    trace?: TraceContext,
  ): void {
    const changed = new Set(Array.from(touched).filter((key) => this.#refresh(key)))
    this.#seen.set(resource, resourceVersion)
    if (!this.synced) this.#commitFirst()
    else if (changed.size > 0)
      this.#publish({
        services: changed,
        resource,
        ...triggersOf(objects, changed),
        ...(trace && { traces: [trace] }),
      })
    for (const listener of this.#progressListeners) this.#call(listener)
  }

  #commitFirst(): void {
    if (!watchedResources.every((resource) => this.#seen.has(resource))) return
    this.#publish({ services: new Set(this.#views.keys()), localPods: this.#localPods.keys() })
  }

  /** The first step, when it comes, holds what was announced before it. */
  #publishPod({ key }: LocalPod): void {
    if (this.synced) this.#publish({ services: new Set(), localPods: new Set([key]) })
    for (const listener of this.#progressListeners) this.#call(listener)
  }

  #publish({ localPods = new Set(), ...step }: Omit<ChangeSet, 'revision'>): void {
    this.#revision += 1
    const change = { revision: this.#revision, ...step, ...(localPods.size > 0 && { localPods }) }
    for (const listener of this.#listeners) this.#call(() => listener(change))
  }

  /** One listener's fault must not keep the change from the others. */
  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#log.error('a listener of the node state failed', { error: describeError(error) })
    }
  }

  /** Makes the view of a Service anew; whether it differs from before. */
  #refresh(key: ObjectKey): boolean {
    const before = this.#views.get(key)
    const service = this.#tables.get('services', key)?.service
    const slices = this.#tables.slicesOf(key)
    if (sameValue(before?.service, service) && sameSlices(before?.slices ?? [], slices)) return false
    if (service === undefined && slices.length === 0) {
      this.#views.delete(key)
      return true
    }
    this.#views.set(key, { service, slices, sliceValues: slices.map(({ value }) => value) })
    return true
  }
}

function triggersOf(
  objects: readonly StoredObject[],
  changed: ReadonlySet<ObjectKey>,
): Pick<ChangeSet, 'triggeredAtMs'> {
  const concerned = objects.filter(({ slices }) => slices.some(({ value }) => changed.has(value.service)))
  const triggeredAtMs = concerned.map((object) => object.triggeredAtMs).filter((atMs) => atMs !== undefined)
  return triggeredAtMs.length > 0 ? { triggeredAtMs } : {}
}
