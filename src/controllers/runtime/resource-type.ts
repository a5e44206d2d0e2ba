import type { z } from 'zod'
import type { ApiResource } from '../../client/index.ts'

/** The fields that every cached object has. */
export interface CachedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid: string
    readonly resourceVersion: string
  }
}

/** A resource and the schema by which controllers read its objects. */
export interface ResourceType<T extends CachedObject = CachedObject> {
  readonly resource: ApiResource
  readonly apiVersion: string
  readonly kind: string
  /** Parses an object of the server; fields that the schema does not name are not kept in memory. */
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

/** Returns the key of an object: `namespace/name`, or `name` for a cluster-scoped object. */
export function keyOf({ metadata }: { metadata: { name: string; namespace?: string | undefined } }): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}

/** Splits a key into namespace and name; the namespace is undefined for a cluster-scoped object. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
