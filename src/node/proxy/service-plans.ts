import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { addHash, emptyXorHash, hashItem, removeHash, type XorHash } from '../../model/xor-hash.ts'
import { countSize, type SizeCount } from '../../netfilter/count-size.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { NodeState } from '../state/index.ts'
import { lostEndpoints } from './endpoint-changes.ts'
import { type ClaimedService, type PlanNode, planFrontends } from './plan.ts'
import { sizeUpperBound } from './size-bound.ts'

/** Times the limit; hints may leave a part of the endpoints to this node. */
const farBeyond = 4

/** A change of more Services is planned when it is written, not when it arrives. */
const maxPlannedAhead = 100

/** Everything beside the objects that shapes this family's rules. */
export type ProxySettings = PlanNode & ProxyRuleSettings

/** A Service as it is planned for this node and family; the same object until what it leads to, or the settings, are others. */
export interface PlannedService {
  readonly frontends: readonly Frontend[]
  readonly settings: ProxySettings
  /** Milliseconds since 1970. */
  readonly changedAtMs: number
}

interface Planned extends PlannedService {
  readonly hash: bigint
}

/** Services with what of their claims is another's, and their slices. */
export interface PlannedState extends Pick<NodeState, 'slicesOf'> {
  service(key: ObjectKey): ClaimedService | undefined
}

interface PlanLimits {
  /** A Service that is larger is not planned; no limit by default. */
  readonly maxSize?: number | undefined
  readonly sizeCount: SizeCount
  /** Hashes the rules that this program makes of Services under these settings; part of the hash of all. */
  readonly hashFormat?: (settings: ProxySettings) => bigint
}

/**
 * The wanted frontends of each Service in one family, planned on request, with the hash of all of them (spec 2.12 rule
 * 2).
 */
export class ServicePlans {
  readonly #state: PlannedState
  #settings: ProxySettings
  #settingsHash: bigint | undefined
  readonly #plans = new Map<ObjectKey, Planned>()
  /** The results of `planAhead` until the next `refresh`. */
  readonly #plannedAhead = new Map<ObjectKey, readonly Frontend[]>()
  readonly #maxSize: number
  readonly #sizeCount: SizeCount
  readonly #tooLarge = new Map<ObjectKey, number>()
  readonly #hashFormat: (settings: ProxySettings) => bigint
  #objects: XorHash = emptyXorHash

  constructor(
    state: PlannedState,
    settings: ProxySettings,
    { maxSize = Number.POSITIVE_INFINITY, sizeCount, hashFormat = () => 0n }: PlanLimits,
  ) {
    this.#state = state
    this.#settings = settings
    this.#maxSize = maxSize
    this.#sizeCount = sizeCount
    this.#hashFormat = hashFormat
  }

  get settings(): ProxySettings {
    return this.#settings
  }

  /** Every Service is to be planned anew after this. */
  configure(settings: ProxySettings): void {
    this.#settings = settings
    this.#settingsHash = undefined
    this.#plannedAhead.clear()
  }

  /** The hash of all planned frontends, the settings and the rule format. Services without a frontend in this family add nothing. */
  get hash(): XorHash {
    this.#settingsHash ??= hashSettings(this.#settings) ^ this.#hashFormat(this.#settings)
    return { value: this.#objects.value ^ this.#settingsHash, count: this.#objects.count }
  }

  get size(): number {
    return this.#plans.size
  }

  *frontends(): Iterable<Frontend> {
    for (const { frontends } of this.#plans.values()) yield* frontends
  }

  get(key: ObjectKey): PlannedService | undefined {
    return this.#plans.get(key)
  }

  /** The size that a Service would have, about, where it is larger than it may be; undefined for others. Nothing of it is planned. */
  tooLarge(key: ObjectKey): string | undefined {
    const size = this.#tooLarge.get(key)
    return size === undefined ? undefined : `${size} ${this.#sizeCount.unit}`
  }

  /** Plans these Services anew, in time slices. A change that comes meanwhile is for the next call. */
  async refreshAll(keys: Iterable<ObjectKey>): Promise<void> {
    const slice = new TimeSlice()
    for (const key of keys) {
      this.refresh(key)
      if (slice.spent) await slice.pause()
    }
  }

  /** Plans a Service anew. Undefined where it has no address of this family (any more), or is too large. */
  refresh(key: ObjectKey): PlannedService | undefined {
    const before = this.#plans.get(key)
    const frontends = this.#limited(key)
    if (before !== undefined) this.#objects = removeHash(this.#objects, before.hash)
    if (frontends.length === 0) {
      this.#plans.delete(key)
      return undefined
    }
    const hash = hashItem(key, JSON.stringify(frontends))
    this.#objects = addHash(this.#objects, hash)
    if (before?.hash === hash && before.settings === this.#settings) return before
    const changedAtMs = before?.hash === hash ? before.changedAtMs : Date.now()
    const plan = { frontends, hash, settings: this.#settings, changedAtMs }
    this.#plans.set(key, plan)
    return plan
  }

  /** Plans Services that have just changed, unless they are many; the next `refresh` uses the result. Returns whether one loses an endpoint. */
  planAhead(services: ReadonlySet<ObjectKey>): boolean {
    for (const key of services) this.#plannedAhead.delete(key)
    return services.size <= maxPlannedAhead && [...services].some((key) => this.#losesEndpoint(key))
  }

  #losesEndpoint(key: ObjectKey): boolean {
    const before = this.#plans.get(key)
    if (before === undefined || this.#upperBound(key) > this.#maxSize) return false
    const frontends = this.#frontendsOf(key)
    this.#plannedAhead.set(key, frontends)
    return lostEndpoints(before.frontends, frontends).length > 0
  }

  /** Returns nothing of a Service that is too large; one that is far beyond is not even planned, which would take seconds. */
  #limited(key: ObjectKey): readonly Frontend[] {
    this.#tooLarge.delete(key)
    const planned = this.#plannedAhead.get(key)
    this.#plannedAhead.delete(key)
    if (planned !== undefined) return planned
    const most = this.#upperBound(key)
    if (most > farBeyond * this.#maxSize) {
      this.#tooLarge.set(key, most)
      return []
    }
    const frontends = this.#frontendsOf(key)
    const size = most > this.#maxSize ? countSize(this.#sizeCount, frontends, this.#settings) : most
    if (size <= this.#maxSize) return frontends
    this.#tooLarge.set(key, size)
    return []
  }

  /** Counts as if all endpoints of its slices were chosen. */
  #upperBound(key: ObjectKey): number {
    const service = this.#state.service(key)
    if (service === undefined || this.#maxSize === Number.POSITIVE_INFINITY) return 0
    return sizeUpperBound(this.#sizeCount, service, this.#state.slicesOf(key), this.#settings)
  }

  #frontendsOf(key: ObjectKey): readonly Frontend[] {
    const service = this.#state.service(key)
    return service === undefined ? [] : planFrontends(service, this.#state.slicesOf(key), this.#settings)
  }
}

function hashSettings(settings: ProxySettings): bigint {
  return hashItem('settings', JSON.stringify(settings))
}
