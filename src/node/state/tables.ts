import type { ObjectKey } from '../../model/api-object.ts'
import { countLeading } from '../../model/binary-search.ts'
import { none } from '../../model/compact.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { WatchedResource } from './node-state.ts'
import { type Hashed, type StoredObject, sameValue } from './stored-object.ts'

/** Collects the Services that a write may have changed. */
export type Touched = Set<ObjectKey>

/** The parsed objects of every watched resource, with the slices indexed by Service. */
export class Tables {
  readonly #objects: Readonly<Record<WatchedResource, Map<ObjectKey, StoredObject>>> = {
    services: new Map(),
    endpointslices: new Map(),
    endpoints: new Map(),
  }
  /** The slices of each Service, by `source`. They change in place: a copy for each of thousands takes seconds. */
  readonly #slicesByService = new Map<ObjectKey, Hashed<EndpointSlice>[]>()

  get(resource: WatchedResource, key: ObjectKey): StoredObject | undefined {
    return this.#objects[resource].get(key)
  }

  all(resource: WatchedResource): IteratorObject<StoredObject> {
    return this.#objects[resource].values()
  }

  count(resource: WatchedResource): number {
    return this.#objects[resource].size
  }

  put(resource: WatchedResource, object: StoredObject, touched: Touched): void {
    const before = this.get(resource, object.key)
    this.#objects[resource].set(object.key, object)
    if (before !== undefined && sameContent(before, object)) return
    if (before !== undefined) this.#unindex(resource, before, touched)
    this.#index(resource, object, touched)
  }

  remove(resource: WatchedResource, key: ObjectKey, touched: Touched): void {
    const before = this.get(resource, key)
    if (before === undefined) return
    this.#objects[resource].delete(key)
    this.#unindex(resource, before, touched)
  }

  /** The slices of a Service by `source`; those of its Endpoints object only where it has no slice. */
  slicesOf(service: ObjectKey): readonly Hashed<EndpointSlice>[] {
    return this.#slicesByService.get(service)?.slice() ?? sortSlices(this.get('endpoints', service)?.slices ?? none)
  }

  #index(resource: WatchedResource, object: StoredObject, touched: Touched): void {
    touchServices(object, touched)
    if (resource !== 'endpointslices') return
    for (const slice of object.slices) {
      const { service, source } = slice.value
      const slices = this.#slicesByService.getOrInsert(service, [])
      slices.splice(positionOf(slices, source), 0, slice)
    }
  }

  #unindex(resource: WatchedResource, object: StoredObject, touched: Touched): void {
    touchServices(object, touched)
    if (resource !== 'endpointslices') return
    for (const { value } of object.slices) {
      const { service, source } = value
      const slices = this.#slicesByService.get(service) ?? []
      const position = positionOf(slices, source)
      if (slices[position]?.value.source !== source) continue
      if (slices.length === 1) this.#slicesByService.delete(service)
      else slices.splice(position, 1)
    }
  }
}

/** Returns the index of the first slice whose source is not before this one: sorting thousands of slices of one Service for each of them takes seconds. */
function positionOf(slices: readonly Hashed<EndpointSlice>[], source: string): number {
  return countLeading(slices, ({ value }) => value.source < source)
}

function sortSlices(slices: readonly Hashed<EndpointSlice>[]): readonly Hashed<EndpointSlice>[] {
  return slices.toSorted((a, b) => (a.value.source < b.value.source ? -1 : 1))
}

function touchServices({ service, slices }: StoredObject, touched: Touched): void {
  if (service !== undefined) touched.add(service.value.key)
  for (const slice of slices) touched.add(slice.value.service)
}

/** Whether two versions of an object are one to all planes; the hashes of their values are made for it, once. */
export function sameContent(a: StoredObject, b: StoredObject): boolean {
  return sameValue(a.service, b.service) && sameSlices(a.slices, b.slices)
}

export function sameSlices(a: readonly Hashed<EndpointSlice>[], b: readonly Hashed<EndpointSlice>[]): boolean {
  return a.length === b.length && a.every((slice, index) => sameValue(slice, b[index]))
}
