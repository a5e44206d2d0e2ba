import { isDeepStrictEqual } from 'node:util'
import { type ApiClient, Informer } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import type { Component, Health } from '../../loop/component.ts'
import { SingleFlight } from '../../loop/single-flight.ts'
import { describeError } from '../../model/errors.ts'
import type { Cidr } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { applyMasquerade, applyRoutes } from './ip-batch.ts'
import { parseNode } from './nodes.ts'
import { masqueradeTable, type NetworkNode, planRoutes, type RouteMode, type RoutePlan } from './plan.ts'

export interface RoutesPlaneParts {
  readonly client: ApiClient
  readonly nodeName: string
  readonly mode: RouteMode
  readonly clusterCidrs: readonly Cidr[]
  /** Called with this node's pod networks whenever they are known anew. */
  readonly onPodCidrs: (podCidrs: readonly Cidr[]) => Promise<void>
  /** Asked at the start: whether pods are in namespaces of this node at all. An engine's bridge has networks of its own. */
  readonly isWanted: () => Promise<boolean>
  readonly log: Logger
}

/** Leads to the pods of every other node, and tells this node's own pod networks to whoever makes its pods. */
export class RoutesPlane implements Component {
  readonly name = 'routes'
  readonly #parts: RoutesPlaneParts
  readonly #nodes = new Map<string, NetworkNode>()
  readonly #informer: Informer
  readonly #flight: SingleFlight
  #applied: RoutePlan | undefined
  #ownCidrs: readonly Cidr[] = []
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

  constructor(parts: RoutesPlaneParts) {
    this.#parts = parts
    this.#flight = new SingleFlight(() => this.#sync(), {
      backoff: new Backoff({ baseMs: 500, maxMs: 30_000 }),
      onError: (error) => this.#onTrouble(error),
    })
    this.#informer = new Informer({
      client: parts.client,
      collection: { resource: { group: '', version: 'v1', resource: 'nodes' } },
      handler: {
        onReplace: (items) => {
          this.#nodes.clear()
          for (const item of items) this.#take(item)
          this.#flight.request()
        },
        onEvent: (type, object) => {
          if (type === 'DELETED') this.#nodes.delete(object.metadata.name)
          else this.#take(object)
          this.#flight.request()
        },
        onProgress: () => {},
      },
      log: parts.log.child('client'),
    })
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    if (await this.#parts.isWanted()) await this.#informer.start(scope)
    else this.#health = { level: 'ok', message: 'pods are on the bridge of an engine', sinceMs: Date.now() }
  }

  /** The routes stay: traffic between pods goes on. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#informer.stop()
    await this.#flight.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  #take(object: unknown): void {
    const node = parseNode(object)
    if (node !== undefined) this.#nodes.set(node.name, node)
  }

  async #sync(): Promise<void> {
    const { mode, nodeName, clusterCidrs, onPodCidrs, log } = this.#parts
    const self = this.#nodes.get(nodeName)
    // A node that the cluster does not know, or not any more, keeps the routes it has.
    if (self === undefined) {
      this.#health = { level: 'ok', message: 'the API does not know this node yet', sinceMs: Date.now() }
      return
    }
    const ownCidrs = self.podCidrs
    if (ownCidrs.length > 0 && !isDeepStrictEqual(ownCidrs, this.#ownCidrs)) {
      await applyMasquerade(masqueradeTable(ownCidrs, clusterCidrs))
      await onPodCidrs(ownCidrs)
      this.#ownCidrs = ownCidrs
      log.info('this node has its pod network', { podCidrs: ownCidrs.join() })
    }
    const plan = planRoutes(this.#nodes.values(), { mode, nodeName })
    // Node objects change with every heartbeat; what they say of routes hardly ever does.
    if (!isDeepStrictEqual(plan, this.#applied)) {
      const { added, removed } = await applyRoutes(plan)
      log.info('routes to the pods of other nodes', { mode, routes: plan.routes.length, added, removed })
      this.#applied = plan
    }
    this.#health = { level: 'ok', message: `${plan.routes.length} routes (${mode})`, sinceMs: Date.now() }
  }

  #onTrouble(error: unknown): void {
    this.#applied = undefined
    const remedy = this.#parts.mode === 'host-gw' ? '; nodes that share no network need --pod-network vxlan' : ''
    const message = `${describeError(error)}${remedy}`
    if (message !== this.#health.message) this.#parts.log.warn('routes could not be made', { error, remedy })
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
  }
}
