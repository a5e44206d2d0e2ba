import { z } from 'zod'
import { type ApiClient, ApiError, type Collection, Informer, type WireObject } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, parseCidr } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { ClusterAddresses, ClusterResource } from './cluster-addresses.ts'
import { parseNode } from './parse-node.ts'

export interface ClusterAddressWatchParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly addresses: ClusterAddresses
  readonly log: Logger
  /**
   * The time after which a resource that this node may not read, or that the server does not have, is requested again.
   */
  readonly retryMs?: number
}

const serviceCidrSchema = z.object({ spec: z.object({ cidrs: z.array(z.string()) }) })

/** Follows Nodes and ServiceCIDRs once the addresses are wanted. A server may lack the one or keep this node from the other. */
export class ClusterAddressWatch implements Component {
  readonly name = 'cluster-addresses'
  readonly #parts: ClusterAddressWatchParts
  readonly #serviceCidrs = new Map<string, readonly string[]>()
  readonly #settled = new Set<ClusterResource>()
  readonly #running = new Map<ClusterResource, Informer>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopped = false

  constructor(parts: ClusterAddressWatchParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    for (const resource of ['nodes', 'servicecidrs'] as const)
      void this.#parts.addresses.whenWanted(resource).then(() => this.#follow(resource))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.all([...this.#running.values()].map((informer) => informer.stop()))
  }

  health(): Health {
    return {
      level: 'ok',
      message: this.#running.size === 0 ? 'not asked for' : `followed: ${[...this.#running.keys()].join(', ')}`,
      sinceMs: 0,
    }
  }

  #follow(resource: ClusterResource): void {
    if (this.#isStopped) return
    const { client, log } = this.#parts
    const informer = new Informer({
      client,
      collection: this.#collectionOf(resource),
      handler: {
        onReplace: (items) => {
          if (resource === 'nodes') this.#replaceNodes(items)
          else this.#replaceServiceCidrs(items)
          this.#settle(resource)
        },
        onEvent: (type, object) => {
          const isGone = type === 'DELETED'
          if (resource === 'nodes')
            this.#parts.addresses.setNode(object.metadata.name, isGone ? [] : this.#read(object))
          else this.#updateServiceCidr(object, isGone)
        },
        onProgress: () => {},
        onFailure: (error) => {
          if (isDenied(error)) this.#giveUp(resource, error)
        },
      },
      log: log.child(resource),
    })
    this.#running.set(resource, informer)
    // It tries for as long as it takes: what cannot be listed keeps nothing else waiting.
    void informer.start({ signal: new AbortController().signal })
  }

  #collectionOf(resource: ClusterResource): Collection {
    const group = resource === 'nodes' ? '' : this.#parts.dialect.groups.networking
    return { resource: { group, version: 'v1', resource } }
  }

  #settle(resource: ClusterResource): void {
    this.#settled.add(resource)
    this.#parts.addresses.settle(resource)
  }

  /** Logs a denied resource once; it is requested again later, because the right may be granted. */
  #giveUp(resource: ClusterResource, error: ApiError): void {
    const { log, retryMs = 600_000 } = this.#parts
    const isFirst = !this.#settled.has(resource)
    const remedy = `let the agent list and watch ${resource}`
    if (isFirst) log.warn(`external addresses are not compared with ${resource}`, { error: error.message, remedy })
    this.#settle(resource)
    void this.#running.get(resource)?.stop()
    this.#running.delete(resource)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#follow(resource)
    }, retryMs)
    timer.unref()
    this.#timers.add(timer)
  }

  #replaceNodes(items: readonly WireObject[]): void {
    this.#parts.addresses.replaceNodes(new Map(items.map((item) => [item.metadata.name, this.#read(item)])))
  }

  #read(item: WireObject): readonly Ip[] {
    return parseNode(item, this.#parts.dialect).value?.addresses ?? []
  }

  #replaceServiceCidrs(items: readonly WireObject[]): void {
    this.#serviceCidrs.clear()
    for (const item of items) this.#storeServiceCidr(item)
    this.#publishServiceCidrs()
  }

  #updateServiceCidr(object: WireObject, isGone: boolean): void {
    if (isGone) this.#serviceCidrs.delete(object.metadata.name)
    else this.#storeServiceCidr(object)
    this.#publishServiceCidrs()
  }

  #storeServiceCidr(object: WireObject): void {
    const parsed = serviceCidrSchema.safeParse(object)
    if (parsed.success) this.#serviceCidrs.set(object.metadata.name, parsed.data.spec.cidrs)
  }

  #publishServiceCidrs(): void {
    const texts = [...this.#serviceCidrs.values()].flat()
    this.#parts.addresses.setServiceCidrs(texts.flatMap((text) => parseCidr(text) ?? []))
  }
}

function isDenied(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 403 || error.status === 404)
}
