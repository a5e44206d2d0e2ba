import { type ApiClient, type ObjectRef, orAbsent, type Patch } from '../../client/index.ts'
import type { ApiObject } from '../../model/api-object.ts'
import { isInLeavingNamespace } from './leaving-namespace.ts'
import type { ObjectCache } from './object-cache.ts'
import type { CachedObject, ResourceType } from './resource-type.ts'

/** The fields of an object beside kind and metadata. */
export type ObjectFields = Readonly<Record<string, unknown>>

/** The metadata of a write. With a resourceVersion, an update succeeds only if the object has not changed since. */
export interface WrittenMetadata {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly [field: string]: unknown
}

interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid?: string
    readonly resourceVersion?: string
  }
}

/** Writes objects of one resource. When a call resolves, the server's response is in the cache. Throws ApiError. */
export class ObjectWriter<T extends CachedObject> {
  readonly #client: ApiClient
  readonly #type: ResourceType<T>
  readonly #cache: ObjectCache<T>

  constructor(client: ApiClient, type: ResourceType<T>, cache: ObjectCache<T>) {
    this.#client = client
    this.#type = type
    this.#cache = cache
  }

  /** Returns undefined where the namespace is being deleted, in which nothing new can be. */
  async create(metadata: WrittenMetadata, fields: ObjectFields, signal: AbortSignal): Promise<T | undefined> {
    const { resource } = this.#type
    const { namespace } = metadata
    const collection = namespace === undefined ? { resource } : { resource, namespace }
    try {
      return this.#cache.note(await this.#client.create(collection, this.#body(metadata, fields), { signal }))
    } catch (error) {
      if (isInLeavingNamespace(error)) return undefined
      throw error
    }
  }

  /** Replaces the object except for its status. */
  async update(metadata: WrittenMetadata & { name: string }, fields: ObjectFields, signal: AbortSignal): Promise<T> {
    return this.#cache.note(
      await this.#client.update(this.#ref({ metadata }), this.#body(metadata, fields), { signal }),
    )
  }

  async patch(object: Named, patch: Patch, signal: AbortSignal, subresource?: string): Promise<T> {
    return this.#cache.note(await this.#client.patch(this.#ref(object, subresource), patch, { signal }))
  }

  /** Deletes the object. One that does not exist counts as deleted. */
  async delete(object: Named, signal: AbortSignal): Promise<void> {
    await orAbsent(this.#client.delete(this.#ref(object), { signal }))
  }

  #ref({ metadata: { name, namespace } }: Named, subresource?: string): ObjectRef {
    return {
      resource: this.#type.resource,
      name,
      ...(namespace !== undefined && { namespace }),
      ...(subresource !== undefined && { subresource }),
    }
  }

  #body(metadata: WrittenMetadata, fields: ObjectFields): ApiObject {
    const { apiVersion, kind } = this.#type
    // Without a name, the server generates one.
    return { apiVersion, kind, metadata, ...fields } as ApiObject
  }
}
