import { Backoff } from '../../loop/backoff.ts'
import type { Component, Health, HealthLevel } from '../../loop/component.ts'
import { SingleFlight } from '../../loop/single-flight.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { formatXorHash, hashItem, type XorHash } from '../../model/xor-hash.ts'
import { lowerService, type ServiceRules } from '../../netfilter/lower-service.ts'
import { ProxyRuleset } from '../../netfilter/proxy-ruleset.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { Logger } from '../../observe/index.ts'
import type { RulesWriter, WriteReport } from '../rules/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../state/index.ts'
import type { ProxyMetrics } from './metrics.ts'
import { type PlanNode, planService } from './plan.ts'

/** Everything beside the objects that shapes this family's rules. */
export type ProxySettings = PlanNode & ProxyRuleSettings

export interface ProxyPlaneParts {
  readonly state: LiveNodeState
  readonly writer: Pick<RulesWriter, 'sync' | 'write'>
  readonly applied: AppliedRevisions
  readonly settings: ProxySettings
  readonly metrics: ProxyMetrics
  readonly log: Logger
}

/** What `platnet status` tells of the proxy. */
export interface ProxyStatus {
  readonly services: number
  readonly objectsHash: string | undefined
  readonly lastSync: (WriteReport & { readonly atMs: number }) | undefined
}

/**
 * The service proxy's shell: takes the Services a change touched, plans and lowers only these, hands the chains that differ
 * to the rules writer and publishes the revision once the kernel has it. A failed write is retried; nothing of it is lost.
 */
export class ProxyPlane implements Component {
  readonly name = 'proxy'
  readonly #parts: ProxyPlaneParts
  readonly #ruleset: ProxyRuleset
  readonly #sync: SingleFlight
  readonly #settingsHash: bigint
  readonly #dirty = new Set<ObjectKey>()
  #appliedHash: XorHash | undefined
  #lastSync: ProxyStatus['lastSync']
  #unsubscribe = () => {}
  #health: Health = { level: 'unknown', message: 'waiting for the first list of Services and endpoints', sinceMs: 0 }

  constructor(parts: ProxyPlaneParts) {
    this.#parts = parts
    this.#ruleset = new ProxyRuleset(parts.settings)
    this.#settingsHash = hashItem('settings', JSON.stringify(parts.settings))
    this.#sync = new SingleFlight(() => this.#syncOnce(), {
      backoff: new Backoff({ baseMs: 100, maxMs: 30_000 }),
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#parts.state.subscribe(({ services }) => {
      for (const key of services) this.#dirty.add(key)
      this.#sync.request()
    })
  }

  /** The rules stay in the kernel: stopping the daemon must not cut traffic. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    await this.#sync.stop(scope)
    this.#setHealth('stopped', 'rules stay in the kernel')
  }

  health(): Health {
    return this.#health
  }

  status(): ProxyStatus {
    return {
      services: [...this.#parts.state.serviceKeys()].length,
      objectsHash: this.#appliedHash && formatXorHash(this.#appliedHash),
      lastSync: this.#lastSync,
    }
  }

  async #syncOnce(): Promise<void> {
    const { state, applied } = this.#parts
    if (!state.synced) return
    const revision = state.revision
    const objects = { value: state.hash.value ^ this.#settingsHash, count: state.hash.count }
    if (!this.#isApplied(objects)) await this.#writeRules(objects)
    this.#appliedHash = objects
    applied.publish(this.name, revision)
    this.#setHealth('ok', `rules of revision ${revision} are in the kernel`)
  }

  /** Spec 2.12 rule 2: equal hashes mean that there is nothing to do. */
  #isApplied(objects: XorHash): boolean {
    const last = this.#appliedHash
    return last !== undefined && last.value === objects.value && last.count === objects.count
  }

  async #writeRules(objects: XorHash): Promise<void> {
    const { writer, metrics, log } = this.#parts
    const startedMs = performance.now()
    const changes = this.#ruleset.update(this.#planDirty())
    const isFirst = this.#appliedHash === undefined
    const report = isFirst ? await writer.sync(this.#ruleset.ruleset(), objects) : await writer.write(changes, objects)
    metrics.observeSync(isFirst ? 'full' : 'partial', performance.now() - startedMs, report)
    this.#lastSync = { ...report, atMs: Date.now() }
    log.debug('rules synced', { ...report, first: isFirst, objects: formatXorHash(objects) })
  }

  #planDirty(): ReadonlyMap<ObjectKey, ServiceRules | undefined> {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    return new Map(keys.map((key) => [key, this.#planOne(key)]))
  }

  #planOne(key: ObjectKey): ServiceRules | undefined {
    const { state, settings } = this.#parts
    const service = state.service(key)
    if (!service) return undefined
    return lowerService(planService(service, state.slicesOf(key), settings), settings)
  }

  #onFailure(error: unknown, retryInMs: number): void {
    this.#parts.metrics.countFailure()
    this.#parts.log.error('could not write the rules, will try again', { error, retryInMs: Math.round(retryInMs) })
    this.#setHealth(this.#appliedHash ? 'degraded' : 'unknown', `the last write failed: ${describeError(error)}`)
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}
