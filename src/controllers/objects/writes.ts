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

/** One request to the API that a plan asks for. Plans say what should be; they never send anything. */
export type Write =
  | { readonly verb: 'create'; readonly resource: ResourceName; readonly object: ApiObject }
  /** A merge patch; with a uid or resourceVersion in its metadata it holds for that object, or that version, alone. */
  | {
      readonly verb: 'patch'
      readonly target: ObjectName
      readonly patch: JsonObject
      readonly subresource?: string
      /** Where the patch sets `spec.replicas`: how many there were, for the Event. */
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

/** Where an object stands, from its own metadata. */
export function nameOf(
  resource: ResourceName,
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string | undefined } },
): ObjectName {
  const { name, namespace } = metadata
  return { resource, name, ...(namespace === undefined ? {} : { namespace }) }
}
