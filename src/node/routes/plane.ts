import { isDeepStrictEqual } from 'node:util'
import type { SharedInformer } from '../../client/index.ts'
import type { Run } from '../../host/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { HealthKeeper } from '../../loop/health-keeper.ts'
import type { Cidr } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { type ClaimSettings, describeRefusal, type RefusedClaim, type SettledClaims, settleClaims } from './claims.ts'
import { applyMasquerade, applyRoutes, listForeignRoutes } from './ip-batch.ts'
import type { RoutesMetrics } from './metrics.ts'
import { parseNode } from './nodes.ts'
import { masqueradeTable, type NetworkNode, planRoutes, type RouteMode, type RoutePlan } from './plan.ts'

/** The networks from which Services get their addresses; the watch starts with its first user. */
interface ServiceNetworks {
  readonly serviceCidrs: readonly Cidr[]
  want(resource: 'servicecidrs'): Promise<void>
  subscribe(listener: () => void): () => void
}

export interface RoutesPlaneParts {
  readonly nodesOfCluster: SharedInformer
  readonly nodeName: string
  readonly mode: RouteMode
  readonly clusterCidrs: readonly Cidr[]
  readonly addresses: ServiceNetworks
  /** True if this node routes to the pods of other nodes; otherwise our routes are removed. */
  readonly leadsToOthers: boolean
  /** Receives this node's pod networks at each change, and enables their masquerading. Absent if another CNI provides both. */
  readonly onPodCidrs?: (podCidrs: readonly Cidr[]) => Promise<void>
  /** Called at the start: tells whether pods run in namespaces of this node. An engine's bridge has networks of its own. */
  readonly isWanted: () => Promise<boolean>
  readonly metrics: RoutesMetrics
  readonly log: Logger
  /** Network namespace of the routes; this process' own by default. */
  readonly run?: Run
}

/** Interval of repeated attempts: a conflicting route of another program may disappear without a change to any Node. */
const recheckMs = 30_000
const namedRefusals = 5

/** Maintains routes to the pods of every other node, and passes this node's own pod networks to the code that makes its pods. */
export class RoutesPlane implements Component {
  readonly name = 'routes'
  readonly #parts: RoutesPlaneParts
  readonly #nodes = new Map<string, NetworkNode>()
  readonly #source: Component
  readonly #flight: BoundedFrequencyRunner
  #applied: RoutePlan | undefined
  #areRoutesMade = false
  #ownCidrs: readonly Cidr[] = []
  #refusals = ''
  #unsubscribe = () => {}
  #recheckTimer: NodeJS.Timeout | undefined
  readonly #health = new HealthKeeper('unknown', 'not started')

  constructor(parts: RoutesPlaneParts) {
    this.#parts = parts
    this.#flight = new BoundedFrequencyRunner(() => this.#sync(), {
      backoff: new Backoff({ baseMs: 500, maxMs: 30_000 }),
      onError: (error) => this.#onTrouble(error),
    })
    this.#source = parts.nodesOfCluster.follow({
      onReplace: (items) => {
        this.#nodes.clear()
        for (const item of items) this.#take(item)
        this.#flight.request()
      },
      onEvent: (type, object) => {
        const isChange = type === 'DELETED' ? this.#nodes.delete(object.metadata.name) : this.#take(object)
        if (isChange) this.#flight.request()
      },
      onProgress: () => {},
    })
  }

  async start(scope: { signal: AbortSignal }): Promise<void> {
    if (!(await this.#parts.isWanted())) {
      this.#health.set('ok', 'pods are on the bridge of an engine')
      return
    }
    const { addresses } = this.#parts
    this.#unsubscribe = addresses.subscribe(() => this.#flight.request())
    await addresses.want('servicecidrs')
    await this.#source.start(scope)
  }

  /** Stops; the routes stay, so that traffic between pods continues. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    clearTimeout(this.#recheckTimer)
    await this.#source.stop(scope)
    await this.#flight.stop(scope)
  }

  health(): Health {
    return this.#health.current
  }

  /** Tells whether a Node changed in a field that routes depend on: Node objects change with every heartbeat, those fields rarely. */
  #take(object: unknown): boolean {
    const node = parseNode(object)
    if (node === undefined || isDeepStrictEqual(node, this.#nodes.get(node.name))) return false
    this.#nodes.set(node.name, node)
    return true
  }

  async #sync(): Promise<void> {
    const { mode, nodeName, leadsToOthers, log, run } = this.#parts
    // A node without a Node object keeps its routes.
    if (!this.#nodes.has(nodeName)) {
      this.#health.set('ok', 'the API does not know this node yet')
      return
    }
    this.#areRoutesMade = false
    const { nodes, refused } = await this.#settle()
    const plan = leadsToOthers ? planRoutes(nodes, { mode, nodeName }) : { routes: [], vxlan: undefined }
    if (!isDeepStrictEqual(plan, this.#applied)) {
      const { added, removed } = await applyRoutes(plan, run)
      log.info('routes to the pods of other nodes', { mode, routes: plan.routes.length, added, removed })
      this.#applied = plan
    }
    this.#areRoutesMade = true
    // After the routes, which have nothing to do with a folder that cannot be written, as on a full disk.
    await this.#useOwnNetwork(nodes.find(({ name }) => name === nodeName)?.podCidrs ?? [])
    this.#report(plan, refused)
  }

  async #settle(): Promise<SettledClaims> {
    const { nodeName, clusterCidrs, addresses, run } = this.#parts
    const localRoutes = await listForeignRoutes(clusterCidrs, run)
    const settings: ClaimSettings = { nodeName, clusterCidrs, serviceCidrs: addresses.serviceCidrs, localRoutes }
    return settleClaims(this.#nodes.values(), settings)
  }

  async #useOwnNetwork(podCidrs: readonly Cidr[]): Promise<void> {
    const { clusterCidrs, onPodCidrs, log, run } = this.#parts
    if (onPodCidrs === undefined || podCidrs.length === 0 || isDeepStrictEqual(podCidrs, this.#ownCidrs)) return
    await applyMasquerade(masqueradeTable(podCidrs, clusterCidrs), run)
    await onPodCidrs(podCidrs)
    this.#ownCidrs = podCidrs
    log.info('this node has its pod network', { podCidrs: podCidrs.join() })
  }

  #report(plan: RoutePlan, refused: readonly RefusedClaim[]): void {
    const { mode, metrics, log } = this.#parts
    metrics.setRefusedClaims(refused)
    const named = refused.slice(0, namedRefusals).map(describeRefusal).join('; ')
    const more = refused.length > namedRefusals ? `; and ${refused.length - namedRefusals} more` : ''
    if (`${named}${more}` !== this.#refusals && refused.length > 0)
      log.warn('Nodes claim networks or addresses that this node does not use', { claims: `${named}${more}` })
    this.#refusals = `${named}${more}`
    const routes = `${plan.routes.length} routes (${mode})`
    if (refused.length === 0) this.#health.set('ok', routes)
    else this.#health.set('degraded', `${routes}; not used: ${named}${more}`)
    clearTimeout(this.#recheckTimer)
    if (!refused.some(({ reason }) => reason === 'overlaps-local-route')) return
    this.#recheckTimer = setTimeout(() => this.#flight.request(), recheckMs)
    this.#recheckTimer.unref()
  }

  #onTrouble(error: unknown): void {
    const { mode, log } = this.#parts
    const remedy = mode === 'host-gw' ? '; nodes that share no network need --pod-network vxlan' : ''
    if (this.#areRoutesMade) {
      this.#health.fail(error, () => log.warn('the pod network of this node could not be set up', { error }))
      return
    }
    this.#applied = undefined
    const warn = () => log.warn('routes to the pods of other nodes could not be made', { error, remedy })
    this.#health.fail(error, warn, remedy)
  }
}
