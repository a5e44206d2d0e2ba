import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Service } from '../../model/service.ts'
import { hashItem } from '../../model/xor-hash.ts'
import { contentOf } from './content.ts'
import type { WatchedResource } from './node-state.ts'
import { parseEndpointSlice } from './parse-endpoint-slice.ts'
import { parseEndpoints } from './parse-endpoints.ts'
import { parseService } from './parse-service.ts'
import type { Problem } from './problem.ts'

/** A value with what tells it from others: equal content is equal value. */
export interface Hashed<Value> {
  readonly value: Value
  readonly content: string
  readonly hash: bigint
}

/** One version of one API object, parsed. An object that is none of ours, or makes no sense, holds neither service nor slices. */
export interface StoredObject {
  readonly key: ObjectKey
  readonly uid: string | undefined
  readonly resourceVersion: string
  readonly service: Hashed<Service> | undefined
  readonly slices: readonly Hashed<EndpointSlice>[]
  readonly problems: readonly Problem[]
}

/** An API object of which only the identity has been checked. */
export interface UnparsedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid?: string | undefined
    readonly resourceVersion: string
  }
}

export function keyOf({ metadata }: UnparsedObject): ObjectKey {
  return objectKey(metadata.namespace ?? '', metadata.name)
}

export function readObject(resource: WatchedResource, object: UnparsedObject, dialect: Dialect): StoredObject {
  const { uid, resourceVersion } = object.metadata
  return { key: keyOf(object), uid, resourceVersion, ...readContent(resource, object, dialect) }
}

function readContent(resource: WatchedResource, object: UnparsedObject, dialect: Dialect) {
  switch (resource) {
    case 'services': {
      const { value, problems } = parseService(object, dialect)
      return { service: value && hashed(value, `services/${value.key}`), slices: [], problems }
    }
    case 'endpointslices': {
      const { value, problems } = parseEndpointSlice(object, dialect)
      return { service: undefined, slices: value === undefined ? [] : [hashed(value, value.source)], problems }
    }
    case 'endpoints': {
      const { value, problems } = parseEndpoints(object, dialect)
      return { service: undefined, slices: (value ?? []).map((slice) => hashed(slice, slice.source)), problems }
    }
  }
}

function hashed<Value extends Service | EndpointSlice>(value: Value, source: string): Hashed<Value> {
  const content = contentOf(value)
  return { value, content, hash: hashItem(source, content) }
}
