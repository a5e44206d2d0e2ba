import type { ApiClient, InformerTiming } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'
import { ObjectCache } from './object-cache.ts'
import { ObjectWriter } from './object-writer.ts'
import type { CachedObject, ResourceType } from './resource-type.ts'

export interface CachesOptions {
  readonly client: ApiClient
  readonly log: Logger
  readonly timing?: Partial<InformerTiming>
}

/** One cache per resource, shared by all controllers of this process. */
export class Caches {
  readonly #options: CachesOptions
  readonly #caches = new Map<ResourceType, Component>()

  constructor(options: CachesOptions) {
    this.#options = options
  }

  /** Returns the cache of a type. Each type must be declared once, because the cache is found by the type object. */
  of<T extends CachedObject>(type: ResourceType<T>): ObjectCache<T> {
    const known = this.#caches.get(type)
    if (known !== undefined) return known as ObjectCache<T>
    const log = this.#options.log.child(type.resource.resource)
    const cache = new ObjectCache({ ...this.#options, type, log })
    this.#caches.set(type, cache)
    return cache
  }

  /** Returns a writer that puts the server's responses into the cache of the type. */
  writer<T extends CachedObject>(type: ResourceType<T>): ObjectWriter<T> {
    return new ObjectWriter(this.#options.client, type, this.of(type))
  }

  get all(): readonly Component[] {
    return [...this.#caches.values()]
  }
}
