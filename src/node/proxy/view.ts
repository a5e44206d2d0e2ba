import type { ObjectKey } from '../../model/api-object.ts'
import type { IpFamily } from '../../model/ip.ts'
import { formatXorHash } from '../../model/xor-hash.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import { isExternal } from '../../netfilter/frontend.ts'
import type { TracedPacket, TracedWorld } from '../../netfilter/trace/types.ts'
import type { NodeState } from '../state/index.ts'
import { explainFlow, type FlowExplanation } from './explain-flow.ts'
import { explainService, type ServiceExplanation } from './explain-service.ts'
import type { PendingChanges } from './pending-changes.ts'
import type { ProxyMode, ProxyModeName, RuleCounts } from './proxy-mode.ts'
import type { PlannedState, ServicePlans } from './service-plans.ts'
import type { SetAside, SetAsideService } from './set-aside.ts'
import type { LastSync, SyncRecord } from './sync-record.ts'

/** The status of the proxy in one family, for `platnet status`. */
export interface ProxyStatus {
  readonly family: IpFamily
  readonly mode: ProxyModeName
  /** The reason for this mode. */
  readonly modeReason: string
  /** How many Services have a frontend in this family. */
  readonly services: number
  readonly objectsHash: string | undefined
  readonly lastSync: LastSync | undefined
  readonly setAside: readonly SetAsideService[]
  /** How many Services have rules that are not written yet, or not all of them. */
  readonly waiting: number
}

export interface ProxyFreshness {
  readonly family: IpFamily
  /** Milliseconds since 1970; undefined where nothing waits. */
  readonly pendingSinceMs: number | undefined
  readonly lastSyncMs: number | undefined
}

export interface ProxyViewParts {
  readonly state: PlannedState & NodeState
  readonly plans: ServicePlans
  readonly mode: ProxyMode
  readonly setAside: SetAside
  readonly pending: PendingChanges
  readonly record: SyncRecord
  /** How many Services wait to be written. */
  readonly waiting: () => number
}

/** The read-only side of one family's plane, for `platnet explain`, `platnet status`, health and metrics. */
export class ProxyView {
  readonly family: IpFamily
  readonly #parts: ProxyViewParts

  constructor(parts: ProxyViewParts) {
    this.family = parts.plans.settings.family
    this.#parts = parts
  }

  /** For load balancers: since when a change waits to be written, and when the last one was. */
  freshness(): ProxyFreshness {
    const { pending, record } = this.#parts
    return { family: this.family, pendingSinceMs: pending.sinceMs, lastSyncMs: record.lastSync?.atMs }
  }

  /** True until all rules have been planned and written once, or compared with what the kernel holds. */
  get isPlanning(): boolean {
    return this.#parts.record.lastSync === undefined
  }

  status(): ProxyStatus {
    const { plans, record, setAside, waiting, mode } = this.#parts
    return {
      family: this.family,
      mode: mode.name,
      modeReason: mode.why,
      services: plans.size,
      objectsHash: record.appliedHash && formatXorHash(record.appliedHash),
      lastSync: record.lastSync,
      setAside: setAside.list(),
      waiting: waiting(),
    }
  }

  /** The keys of all Services that this node knows, also of those without a frontend. */
  serviceKeys(): Iterable<ObjectKey> {
    return this.#parts.state.serviceKeys()
  }

  /**
   * Explains what the wanted rules do with the first packet of a connection. `others`: base chains of other programs
   * that it meets.
   */
  explainFlow(packet: TracedPacket, world: TracedWorld, others: readonly BaseChain[] = []): FlowExplanation {
    const { state, plans, record, mode } = this.#parts
    const services = {
      frontends: [...plans.frontends()],
      all: [...state.serviceKeys()].flatMap((key) => state.service(key) ?? []),
      settings: plans.settings,
      caveat: record.failures > 0 ? record.health.message : undefined,
      explain: (service: ObjectKey) => this.explainService(service),
    }
    return explainFlow(packet, services, { ...world, outcomes: mode.trace(packet, world, plans.settings) }, others)
  }

  /** Undefined where there is no such Service. */
  explainService(key: ObjectKey): ServiceExplanation | undefined {
    const { state, plans, mode } = this.#parts
    const service = state.service(key)
    const setAside = this.#parts.setAside.list().find((each) => each.service === key)
    const plan = plans.get(key)
    const chains = plan === undefined ? [] : mode.chainsOf(plan)
    return service && explainService(service, state.slicesOf(key), plan, { ...plans.settings, setAside, chains })
  }

  get mode(): ProxyModeName {
    return this.#parts.mode.name
  }

  /** Counts the wanted rules and elements. */
  ruleCounts(): RuleCounts {
    return this.#parts.mode.counts()
  }

  /** Counts the frontends with a Local policy that have endpoints, but none on this node. */
  noLocalEndpointCounts(): { readonly internal: number; readonly external: number } {
    const counts = { internal: 0, external: 0 }
    for (const frontend of this.#parts.plans.frontends()) {
      if (!frontend.hasEndpoints || frontend.localEndpoints.length > 0) continue
      if (frontend.internalPolicy === 'Local') counts.internal += 1
      if (frontend.externalPolicy === 'Local' && isExternal(frontend)) counts.external += 1
    }
    return counts
  }

  get pendingCounts(): PendingChanges['counts'] {
    return this.#parts.pending.counts
  }
}
