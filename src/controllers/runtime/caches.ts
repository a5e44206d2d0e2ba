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

/** One cache a resource, shared by all controllers of this process. */
export class Caches {
  readonly #options: CachesOptions
  readonly #caches = new Map<ResourceType, Component>()

  constructor(options: CachesOptions) {
    this.#options = options
  }

  /** Returns one cache per type; a type is declared once, so it stands for its shape. */
  of<T extends CachedObject>(type: ResourceType<T>): ObjectCache<T> {
    const known = this.#caches.get(type)
    if (known !== undefined) return known as ObjectCache<T>
    const log = this.#options.log.child(type.resource.resource)
    const cache = new ObjectCache({ ...this.#options, type, log })
    this.#caches.set(type, cache)
    return cache
  }

  /** Writes objects of a resource and notes in its cache what came of it. */
  writer<T extends CachedObject>(type: ResourceType<T>): ObjectWriter<T> {
    return new ObjectWriter(this.#options.client, type, this.of(type))
  }

  get all(): readonly Component[] {
    return [...this.#caches.values()]
  }
}
