import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import { none } from '../../model/compact.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Service } from '../../model/service.ts'
import { hashItem } from '../../model/xor-hash.ts'
import type { WatchedResource } from './node-state.ts'
import { parseEndpointSlice } from './parse-endpoint-slice.ts'
import { parseEndpoints } from './parse-endpoints.ts'
import { parseService } from './parse-service.ts'
import type { Problem } from './problem.ts'

/** A value with what tells it from others: equal hashes are equal values. The text they are of is not kept, it is as large as the value. */
export interface Hashed<Value> {
  readonly value: Value
  readonly hash: bigint
}

/** Most values of a list are never compared with another version, so the hash is made when it is asked for. */
class HashedValue<Value extends Service | EndpointSlice> implements Hashed<Value> {
  readonly value: Value
  #hash: bigint | undefined

  constructor(value: Value) {
    this.value = value
  }

  /** A value is always made by the same code, so that its fields stand in one order: equal values are equal texts. */
  get hash(): bigint {
    const { value } = this
    this.#hash ??= hashItem('source' in value ? value.source : `services/${value.key}`, JSON.stringify(value))
    return this.#hash
  }
}

/** Whether both are one version of a value, or none. */
export function sameValue<Value>(a: Hashed<Value> | undefined, b: Hashed<Value> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.hash === b.hash)
}

/** One version of one API object, parsed. An object that is none of ours, or makes no sense, holds neither service nor slices. */
export interface StoredObject {
  readonly key: ObjectKey
  readonly uid: string | undefined
  readonly resourceVersion: string
  readonly service: Hashed<Service> | undefined
  readonly slices: readonly Hashed<EndpointSlice>[]
  readonly problems: readonly Problem[]
  /** When what led to this version of a slice happened in the cluster, milliseconds since 1970. */
  readonly triggeredAtMs?: number
}

/** An API object of which only the identity has been checked. */
export interface UnparsedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid?: string | undefined
    readonly resourceVersion: string
    readonly annotations?: unknown
  }
}

export function keyOf({ metadata }: UnparsedObject): ObjectKey {
  return objectKey(metadata.namespace ?? '', metadata.name)
}

/** @param key as of `keyOf` */
export function readObject(
  resource: WatchedResource,
  object: UnparsedObject,
  dialect: Dialect,
  key = keyOf(object),
): StoredObject {
  const { uid, resourceVersion } = object.metadata
  const triggeredAtMs = resource === 'services' ? undefined : readTrigger(object, dialect)
  return {
    key,
    uid,
    resourceVersion,
    ...readContent(resource, object, dialect),
    ...(triggeredAtMs !== undefined && { triggeredAtMs }),
  }
}

/** It serves a metric only, so what makes no sense is not worth a problem. */
function readTrigger({ metadata }: UnparsedObject, dialect: Dialect): number | undefined {
  const annotations = typeof metadata.annotations === 'object' ? metadata.annotations : undefined
  const text = Object.entries(annotations ?? {}).find(([name]) => name === dialect.annotations.lastChangeTriggerTime)
  const atMs = typeof text?.[1] === 'string' ? Date.parse(text[1]) : Number.NaN
  return Number.isNaN(atMs) ? undefined : atMs
}

function readContent(resource: WatchedResource, object: UnparsedObject, dialect: Dialect) {
  switch (resource) {
    case 'services': {
      const { value, problems } = parseService(object, dialect)
      return { service: value && new HashedValue(value), slices: none, problems }
    }
    case 'endpointslices': {
      const { value, problems } = parseEndpointSlice(object, dialect)
      return { service: undefined, slices: value === undefined ? none : [new HashedValue(value)], problems }
    }
    case 'endpoints': {
      const { value, problems } = parseEndpoints(object, dialect)
      return { service: undefined, slices: (value ?? []).map((slice) => new HashedValue(slice)), problems }
    }
  }
}
