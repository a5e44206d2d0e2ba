import type { ObjectKey } from '../../model/api-object.ts'
import { addHash, emptyXorHash, hashItem, removeHash, type XorHash } from '../../model/xor-hash.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import { lowerService, type ServiceRules } from '../../netfilter/lower-service.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { LiveNodeState } from '../state/index.ts'
import { lostEndpoints } from './endpoint-changes.ts'
import { type PlanNode, planService } from './plan.ts'

/** Everything beside the objects that shapes this family's rules. */
export type ProxySettings = PlanNode & ProxyRuleSettings

/** A Service as it is planned for this node and family. */
export interface ServicePlan {
  readonly frontends: readonly Frontend[]
  readonly rules: ServiceRules
  /** Milliseconds since 1970. */
  readonly changedAtMs: number
}

interface Planned extends ServicePlan {
  readonly hash: bigint
  readonly settings: ProxySettings
}

/** What this family wants of each Service, planned when asked, with the hash of all of it (spec 2.12 rule 2). */
export class ServicePlans {
  readonly #state: Pick<LiveNodeState, 'service' | 'slicesOf'>
  #settings: ProxySettings
  readonly #plans = new Map<ObjectKey, Planned>()
  #hash: XorHash

  constructor(state: Pick<LiveNodeState, 'service' | 'slicesOf'>, settings: ProxySettings) {
    this.#state = state
    this.#settings = settings
    this.#hash = { value: hashSettings(settings), count: emptyXorHash.count }
  }

  /** Every Service is to be planned anew after this. */
  configure(settings: ProxySettings): void {
    const value = this.#hash.value ^ hashSettings(this.#settings) ^ hashSettings(settings)
    this.#hash = { value, count: this.#hash.count }
    this.#settings = settings
  }

  /** Over all planned ways in and the settings; of Services that have no way in for this family, nothing. */
  get hash(): XorHash {
    return this.#hash
  }

  get size(): number {
    return this.#plans.size
  }

  *frontends(): Iterable<Frontend> {
    for (const { frontends } of this.#plans.values()) yield* frontends
  }

  get(key: ObjectKey): ServicePlan | undefined {
    return this.#plans.get(key)
  }

  /** Plans a Service anew. Undefined where it has no way in for this family (any more). */
  refresh(key: ObjectKey): ServicePlan | undefined {
    const before = this.#plans.get(key)
    const frontends = this.#frontendsOf(key)
    if (before !== undefined) this.#hash = removeHash(this.#hash, before.hash)
    if (frontends.length === 0) {
      this.#plans.delete(key)
      return undefined
    }
    const hash = hashItem(key, JSON.stringify(frontends))
    this.#hash = addHash(this.#hash, hash)
    if (before?.hash === hash && before.settings === this.#settings) return before
    const settings = this.#settings
    const changedAtMs = before?.hash === hash ? before.changedAtMs : Date.now()
    const plan = { frontends, hash, settings, changedAtMs, rules: lowerService(frontends, settings) }
    this.#plans.set(key, plan)
    return plan
  }

  /** Whether planning it now would take an endpoint away from where it leads now. */
  wouldLoseEndpoint(key: ObjectKey): boolean {
    const before = this.#plans.get(key)
    return before !== undefined && lostEndpoints(before.frontends, this.#frontendsOf(key)).length > 0
  }

  #frontendsOf(key: ObjectKey): readonly Frontend[] {
    const service = this.#state.service(key)
    return service === undefined ? [] : planService(service, this.#state.slicesOf(key), this.#settings)
  }
}

function hashSettings(settings: ProxySettings): bigint {
  return hashItem('settings', JSON.stringify(settings))
}
