import { z } from 'zod'
import type { ApiClient } from '../../client/index.ts'
import type { Logger } from '../../observe/index.ts'
import { listServedResources, type ServedResource } from '../objects/served-resources.ts'
import { identitySchema } from '../runtime/metadata.ts'
import { ObjectCache } from '../runtime/object-cache.ts'
import { resourceType } from '../runtime/resource-type.ts'
import type { GraphNode } from './owner-graph.ts'

/** The fields kept of each object, its identity and owners only: the collector caches every object of the cluster. */
const objectSchema = z.object({ metadata: identitySchema })
type MetadataCache = ObjectCache<z.output<typeof objectSchema>>

export interface WatchedResourcesOptions {
  readonly client: ApiClient
  /** The resources whose objects have no owners or dependents that matter. */
  readonly ignored: readonly string[]
  readonly onChange: (old: GraphNode | undefined, next: GraphNode | undefined) => void
  readonly log: Logger
}

interface Watched {
  readonly resource: ServedResource
  readonly cache: MetadataCache
}

/** A metadata cache for each resource in discovery; `refresh` follows resources that appear and disappear. */
export class WatchedResources {
  readonly #options: WatchedResourcesOptions
  readonly #watched = new Map<string, Watched>()
  #isStopped = false

  constructor(options: WatchedResourcesOptions) {
    this.#options = options
  }

  /** Returns the resource of a kind in any version; undefined for a kind that is not served. */
  find(apiVersion: string, kind: string): ServedResource | undefined {
    const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
    const served = [...this.#watched.values()].map(({ resource }) => resource)
    return served.find((resource) => resource.group === group && resource.kind === kind)
  }

  /** Updates the set of caches from discovery. Resolves when every resource has been listed once. */
  async refresh(scope: { signal: AbortSignal }): Promise<void> {
    const { client, ignored } = this.#options
    const served = await listServedResources(client, scope.signal)
    if (this.#isStopped) return
    const wanted = new Map(
      served.filter(({ resource }) => !ignored.includes(resource)).map((each) => [keyOf(each), each]),
    )
    for (const [key, { cache }] of this.#watched) if (!wanted.has(key)) await this.#drop(key, cache)
    const fresh = [...wanted].filter(([key]) => !this.#watched.has(key))
    await Promise.all(fresh.map(([key, resource]) => this.#watch(key, resource, scope)))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.#watched].map(([key, { cache }]) => this.#drop(key, cache)))
  }

  /** Puts the server's response into the cache, so that the next pass sees it. */
  note(resource: string, group: string, written: unknown): void {
    this.#watched.get(`${group}/${resource}`)?.cache.note(written)
  }

  async #watch(key: string, resource: ServedResource, scope: { signal: AbortSignal }): Promise<void> {
    if (this.#isStopped) return
    const { client, onChange, log } = this.#options
    const { group, version, kind } = resource
    const type = resourceType(group, version, resource.resource, kind, objectSchema)
    const cache = new ObjectCache({ client, type, content: 'metadata', log: log.child(resource.resource) })
    this.#watched.set(key, { resource, cache })
    const toNode = (object: z.output<typeof objectSchema> | undefined) =>
      object === undefined ? undefined : { resource, metadata: object.metadata }
    cache.onChange(({ old, next }) => onChange(toNode(old), toNode(next)))
    await cache.start(scope)
  }

  async #drop(key: string, cache: MetadataCache): Promise<void> {
    const resource = this.#watched.get(key)?.resource
    this.#watched.delete(key)
    await cache.stop()
    if (resource === undefined) return
    for (const { metadata } of cache.list()) this.#options.onChange({ resource, metadata }, undefined)
  }
}

function keyOf({ group, resource }: ServedResource): string {
  return `${group}/${resource}`
}
