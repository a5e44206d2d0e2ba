import type { ObjectKey } from '../../model/api-object.ts'
import { addHash, emptyXorHash, hashItem, removeHash, type XorHash } from '../../model/xor-hash.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import { lowerService, type ServiceRules } from '../../netfilter/lower-service.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { LiveNodeState } from '../state/index.ts'
import { lostEndpoints } from './endpoint-changes.ts'
import { type PlanNode, planService } from './plan.ts'
import { hashRuleForms } from './rule-forms.ts'

/** Everything beside the objects that shapes this family's rules. */
export type ProxySettings = PlanNode & ProxyRuleSettings

/** A Service as it is planned for this node and family. */
export interface ServicePlan {
  readonly frontends: readonly Frontend[]
  /** Made when they are first asked for. */
  readonly rules: ServiceRules
  /** Milliseconds since 1970. */
  readonly changedAtMs: number
}

class Planned implements ServicePlan {
  readonly frontends: readonly Frontend[]
  readonly hash: bigint
  readonly settings: ProxySettings
  readonly changedAtMs: number
  #rules: ServiceRules | undefined

  constructor(frontends: readonly Frontend[], hash: bigint, settings: ProxySettings, changedAtMs: number) {
    this.frontends = frontends
    this.hash = hash
    this.settings = settings
    this.changedAtMs = changedAtMs
  }

  get rules(): ServiceRules {
    this.#rules ??= lowerService(this.frontends, this.settings)
    return this.#rules
  }
}

/** What this family wants of each Service, planned when asked, with the hash of all of it (spec 2.12 rule 2). */
export class ServicePlans {
  readonly #state: Pick<LiveNodeState, 'service' | 'slicesOf'>
  #settings: ProxySettings
  #settingsHash: bigint | undefined
  readonly #plans = new Map<ObjectKey, Planned>()
  #objects: XorHash = emptyXorHash

  constructor(state: Pick<LiveNodeState, 'service' | 'slicesOf'>, settings: ProxySettings) {
    this.#state = state
    this.#settings = settings
  }

  /** Every Service is to be planned anew after this. */
  configure(settings: ProxySettings): void {
    this.#settings = settings
    this.#settingsHash = undefined
  }

  /** Over all planned ways in, the settings and the forms of our rules; of Services that have no way in for this family, nothing. */
  get hash(): XorHash {
    this.#settingsHash ??= hashSettings(this.#settings)
    return { value: this.#objects.value ^ this.#settingsHash, count: this.#objects.count }
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
    if (before !== undefined) this.#objects = removeHash(this.#objects, before.hash)
    if (frontends.length === 0) {
      this.#plans.delete(key)
      return undefined
    }
    const hash = hashItem(key, JSON.stringify(frontends))
    this.#objects = addHash(this.#objects, hash)
    if (before?.hash === hash && before.settings === this.#settings) return before
    const changedAtMs = before?.hash === hash ? before.changedAtMs : Date.now()
    const plan = new Planned(frontends, hash, this.#settings, changedAtMs)
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
  return hashItem('settings', JSON.stringify(settings)) ^ hashRuleForms(settings)
}
