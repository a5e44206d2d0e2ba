import type { ApiObject } from '../model/api-object.ts'

/** The resources whose arrival in the kernel the demo waits for. */
export type AppliedResource = 'services' | 'endpointslices'

/** The operations of a cluster that the demo uses. */
export interface ClusterApi {
  /** Creates the object, or replaces the one of that name; the answer is what the API server stored. */
  apply(object: ApiObject): Promise<ApiObject>
  /** Deletes the object of that kind and name. */
  remove(object: ApiObject): Promise<void>
  /** Resolves when this node's kernel has everything of that resource up to the resourceVersion. */
  waitApplied(resource: AppliedResource, resourceVersion: string): Promise<void>
  /** Explains a TCP connection: its fate on this node and the reasons, in sentences. The source is `NAMESPACE/NAME` of a pod, as the destination. */
  explain(source: string, destination: string, port: number): Promise<readonly string[]>
}
