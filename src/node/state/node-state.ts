import type { ObjectKey } from '../../model/api-object.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Service } from '../../model/service.ts'
import type { TraceContext } from '../../observe/index.ts'

/** The API resources this node watches; the same words stand in API paths. */
export type WatchedResource = 'services' | 'endpointslices' | 'endpoints'

/** The Services that one step of the change feed touched: their own object or their endpoints differ from before. */
export interface ChangeSet {
  /** This node's own count of steps, 1 for the first. */
  readonly revision: number
  readonly services: ReadonlySet<ObjectKey>
  /** Pods of this node whose network was announced or withdrawn; absent for none. */
  readonly localPods?: ReadonlySet<ObjectKey>
  /** The resource that the change came from; absent for the first step and for pods. */
  readonly resource?: WatchedResource
  /** When what led to it happened in the cluster, as the slices of these Services tell; milliseconds since 1970. Absent for none. */
  readonly triggeredAtMs?: readonly number[]
  /** The place of the change in its trace; absent where the change is not traced. */
  readonly traces?: readonly TraceContext[]
}

/** The node's copy of API objects as the planes read it. Reads are synchronous and always of the latest revision. */
export interface NodeState {
  readonly revision: number
  /** True once every watched resource has been listed: before that no plane may write anything. */
  readonly synced: boolean
  service(key: ObjectKey): Service | undefined
  serviceKeys(): Iterable<ObjectKey>
  /** The slices of a Service; those made of its Endpoints object where it has no slice. Order is by `source`. */
  slicesOf(service: ObjectKey): readonly EndpointSlice[]
  /** The listener runs after the state took the change; the first call comes when `synced` turns true. */
  subscribe(listener: (change: ChangeSet) => void): () => void
}
