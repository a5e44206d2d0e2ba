import type { ApiObject, JsonObject } from '../../model/api-object.ts'

/** The plural of a resource with its group and version; `group` is `''` for the core group. */
export interface ResourceName {
  readonly group: string
  readonly version: string
  readonly resource: string
}

export interface ObjectName {
  readonly resource: ResourceName
  readonly namespace?: string
  readonly name: string
}

/** One API request that a plan asks for. Plans only describe requests and send none. */
export type Write =
  | { readonly verb: 'create'; readonly resource: ResourceName; readonly object: ApiObject }
  /**
   * A merge patch. A uid or resourceVersion in its metadata makes it a precondition: the patch applies only to that
   * object or version.
   */
  | {
      readonly verb: 'patch'
      readonly target: ObjectName
      readonly patch: JsonObject
      readonly subresource?: string
      /** The number of replicas before a patch of `spec.replicas`, for the Event. */
      readonly sizeBefore?: number
    }
  | {
      readonly verb: 'delete'
      readonly target: ObjectName
      readonly uid: string
      readonly propagation?: Propagation
      readonly graceSeconds?: number
    }

export type Propagation = 'Background' | 'Foreground' | 'Orphan'

export const podsResource: ResourceName = { group: '', version: 'v1', resource: 'pods' }

/** Returns the name, namespace and resource of an object, from its metadata. */
export function nameOf(
  resource: ResourceName,
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string | undefined } },
): ObjectName {
  const { name, namespace } = metadata
  return { resource, name, ...(namespace === undefined ? {} : { namespace }) }
}
