import type { ApiClient } from '../../client/index.ts'
import type { Caches } from '../runtime/caches.ts'
import type { CachedObject, ResourceType } from '../runtime/resource-type.ts'
import type { WriteTarget } from './apply-writes.ts'

/** Creates a target that writes through the client and puts responses of the given types into their caches. */
export function writeTarget(client: ApiClient, caches: Caches, types: readonly NotedType[]): WriteTarget {
  const notes = new Map(types.map((type) => [type.resource.resource, type.noteInto(caches)]))
  return { client, note: ({ resource }, written) => void notes.get(resource)?.(written) }
}

/** A resource type whose responses go into its cache, without its type parameter. */
export interface NotedType {
  readonly resource: ResourceType['resource']
  noteInto(caches: Caches): (written: unknown) => void
}

export function noted<T extends CachedObject>(type: ResourceType<T>): NotedType {
  return {
    resource: type.resource,
    noteInto: (caches) => {
      const cache = caches.of(type)
      return (written) => void cache.note(written)
    },
  }
}
