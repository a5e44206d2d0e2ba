import type { z } from 'zod'
import type { ApiResource } from '../../client/index.ts'

/** Any object as a cache holds it. */
export interface CachedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid: string
    readonly resourceVersion: string
  }
}

/** A resource with the shape in which controllers see its objects. */
export interface ResourceType<T extends CachedObject = CachedObject> {
  readonly resource: ApiResource
  readonly apiVersion: string
  readonly kind: string
  /** Takes what the server sends; what it does not name is not kept in memory. */
  readonly schema: z.ZodType<T>
}

export function resourceType<T extends CachedObject>(
  group: string,
  version: string,
  plural: string,
  kind: string,
  schema: z.ZodType<T>,
): ResourceType<T> {
  const apiVersion = group === '' ? version : `${group}/${version}`
  return { resource: { group, version, resource: plural }, apiVersion, kind, schema }
}

/** `namespace/name`, or the name alone where there is no namespace. */
export function keyOf({ metadata }: { metadata: { name: string; namespace?: string | undefined } }): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}

/** The parts of a key; the namespace is undefined for what has none. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
