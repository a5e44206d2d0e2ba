import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health, HealthLevel } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { equalHashes, formatXorHash, type XorHash } from '../../model/xor-hash.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import { isExternal } from '../../netfilter/frontend.ts'
import { ProxyRuleset } from '../../netfilter/proxy-ruleset.ts'
import type { Ruleset, TableName } from '../../netfilter/ruleset.ts'
import type { TraceContext, TracedPacket } from '../../netfilter/trace/types.ts'
import type { Logger } from '../../observe/index.ts'
import type { RulesWriter, WriteReport } from '../rules/index.ts'
import type { AppliedRevisions, ChangeSet, NodeState } from '../state/index.ts'
import { explainFlow, type FlowExplanation } from './explain-flow.ts'
import { explainService, type ServiceExplanation } from './explain-service.ts'
import type { ProxyMetrics, SyncKind } from './metrics.ts'
import { PendingChanges } from './pending-changes.ts'
import { type PlannedState, type ProxySettings, ServicePlans } from './service-plans.ts'
import { ServiceWrites } from './service-writes.ts'
import { type Refusal, SetAside, type SetAsideService } from './set-aside.ts'
import { type TurnResult, WriteTurns } from './write-turns.ts'

export interface ProxyPlaneParts {
  readonly state: PlannedState & NodeState
  readonly writer: Pick<RulesWriter, 'recognises' | 'isUnhooked' | 'sync' | 'write'>
  readonly applied: AppliedRevisions
  readonly settings: ProxySettings
  /** Nothing is written before `configure` has been called. */
  readonly waitsForNode?: boolean
  readonly metrics: ProxyMetrics
  readonly log: Logger
  /** From the start of a write to that of the next, unless an endpoint goes; twice what the last one took, at most a second. */
  readonly minGapMs?: (lastRunMs: number) => number
  /** A Service that would have more rules (as `countRules` counts them) is set aside; no limit when not given. */
  readonly maxServiceRules?: number
  /** Called with each Service that is set aside, beside the log. */
  readonly onRefused?: (refusal: Refusal) => void
  /** Told of the Services whose rules the kernel has taken, or was found to hold: each at least once. */
  readonly onApplied?: (services: readonly ObjectKey[]) => void
}

/** What `platnet status` tells of the proxy in one family. */
export interface ProxyStatus {
  readonly family: IpFamily
  /** How many Services have a frontend in this family. */
  readonly services: number
  readonly objectsHash: string | undefined
  readonly lastSync: (WriteReport & { readonly atMs: number }) | undefined
  readonly setAside: readonly SetAsideService[]
  /** How many Services have rules to be written, or more of them. */
  readonly waiting: number
}

export interface ProxyFreshness {
  readonly family: IpFamily
  /** Milliseconds since 1970; undefined where nothing waits. */
  readonly pendingSinceMs: number | undefined
  readonly lastSyncMs: number | undefined
}

/** A change that takes many Services is planned when it is written, not before. */
const maxPlannedAhead = 100
const maxGapMs = 1000
/** The lock may be held by another program for a while. */
const failuresUntilLeftOut = 3

/** The name under which a family's plane publishes what it has applied. */
export function planeName(family: IpFamily): string {
  return family === 'IPv4' ? 'proxy' : 'proxy-ipv6'
}

/**
 * The service proxy's shell for one family: takes the Services a change touched, plans and lowers only these, hands the
 * chains that differ to the rules writer and publishes the revision once the kernel has it. A failed write is retried, and
 * nothing of it is lost. Changes that take endpoints away go out at once; others wait as long as the last write took.
 */
export class ProxyPlane implements Component {
  readonly name: string
  readonly #parts: ProxyPlaneParts
  readonly #plans: ServicePlans
  readonly #ruleset: ProxyRuleset
  readonly #turns: WriteTurns
  readonly #sync: BoundedFrequencyRunner
  readonly #setAside = new SetAside()
  readonly #pending = new PendingChanges()
  #settings: ProxySettings
  #isConfigured: boolean
  #hasPlanned = false
  #retryTimer: NodeJS.Timeout | undefined
  #appliedHash: XorHash | undefined
  /** Writes that failed since the last that did not; after one the kernel may hold something between the last two wishes. */
  #failures = 0
  #lastSync: ProxyStatus['lastSync']
  #unsubscribe = () => {}
  #health: Health = { level: 'unknown', message: 'waiting for the first list of Services and endpoints', sinceMs: 0 }

  constructor(parts: ProxyPlaneParts) {
    const { settings, state, writer, minGapMs = (lastRunMs: number) => Math.min(2 * lastRunMs, maxGapMs) } = parts
    this.name = planeName(settings.family)
    this.#parts = parts
    this.#plans = new ServicePlans(state, settings, parts.maxServiceRules)
    this.#settings = settings
    this.#isConfigured = parts.waitsForNode !== true
    this.#ruleset = new ProxyRuleset(settings)
    this.#turns = new WriteTurns({
      writes: new ServiceWrites({ family: settings.family, ruleset: this.#ruleset, writer }),
      rulesOf: (service) => this.#plans.get(service)?.rules,
      setAside: this.#setAside,
    })
    this.#sync = new BoundedFrequencyRunner(() => this.#syncOnce(), {
      backoff: new Backoff({ baseMs: 100, maxMs: 30_000 }),
      minGapMs,
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#parts.state.subscribe((change) => this.#onChange(change))
  }

  /** The rules stay in the kernel: stopping the daemon must not cut traffic. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    clearTimeout(this.#retryTimer)
    await this.#sync.stop(scope)
    this.#setHealth('stopped', 'rules stay in the kernel')
  }

  get family(): IpFamily {
    return this.#parts.settings.family
  }

  /** The node is another than before: everything is planned anew, and what differs is written. Equal settings cost nothing. */
  configure(settings: ProxySettings): void {
    const isSame = JSON.stringify(settings) === JSON.stringify(this.#settings)
    if (isSame && this.#isConfigured) return
    this.#isConfigured = true
    this.#settings = settings
    this.#plans.configure(settings)
    this.#ruleset.configure(settings)
    // What was never planned is to be planned anyway.
    this.#onChange({ services: new Set(this.#hasPlanned ? this.#parts.state.serviceKeys() : []) })
  }

  /** For load balancers: since when a change waits to be written, and when the last one was. */
  freshness(): ProxyFreshness {
    const { settings } = this.#parts
    return { family: settings.family, pendingSinceMs: this.#pending.sinceMs, lastSyncMs: this.#lastSync?.atMs }
  }

  /** As long as it is not known what all rules should be, though the kernel may hold them. */
  get isPlanning(): boolean {
    return this.#lastSync === undefined
  }

  /** What the rules as they should be now make of the first packet of a connection. */
  explainFlow(
    packet: TracedPacket,
    context: Pick<TraceContext, 'isLocalAddress' | 'hooks'>,
    others: readonly BaseChain[] = [],
  ): FlowExplanation {
    const { state } = this.#parts
    const services = {
      frontends: [...this.#plans.frontends()],
      all: [...state.serviceKeys()].flatMap((key) => state.service(key) ?? []),
      settings: this.#settings,
      caveat: this.#failures > 0 ? this.#health.message : undefined,
      explain: (service: ObjectKey) => this.explainService(service),
    }
    return explainFlow(packet, services, { ...context, ruleset: this.#ruleset.ruleset() }, others)
  }

  /** The keys of all Services that this node knows, also of those without a frontend. */
  serviceKeys(): Iterable<ObjectKey> {
    return this.#parts.state.serviceKeys()
  }

  /** Undefined where there is no such Service. */
  explainService(key: ObjectKey): ServiceExplanation | undefined {
    const { state } = this.#parts
    const service = state.service(key)
    const setAside = this.#setAside.list().find((each) => each.service === key)
    return (
      service && explainService(service, state.slicesOf(key), this.#plans.get(key), { ...this.#settings, setAside })
    )
  }

  /** Rules that are wanted; counted when asked. */
  ruleCounts(): Readonly<Record<TableName, number>> {
    const { nat, filter } = this.#ruleset.ruleset()
    const rulesOf = (chains: Ruleset['nat']) => chains.values().reduce((sum, chain) => sum + chain.length, 0)
    return { nat: rulesOf(nat), filter: rulesOf(filter) }
  }

  /** Counts the frontends with a Local policy that have endpoints, but none on this node. */
  noLocalEndpointCounts(): { readonly internal: number; readonly external: number } {
    const counts = { internal: 0, external: 0 }
    for (const frontend of this.#plans.frontends()) {
      if (!frontend.hasEndpoints || frontend.localEndpoints.length > 0) continue
      if (frontend.internalPolicy === 'Local') counts.internal += 1
      if (frontend.externalPolicy === 'Local' && isExternal(frontend)) counts.external += 1
    }
    return counts
  }

  get pendingCounts(): PendingChanges['counts'] {
    return this.#pending.counts
  }

  health(): Health {
    return this.#health
  }

  status(): ProxyStatus {
    return {
      family: this.#parts.settings.family,
      services: this.#plans.size,
      objectsHash: this.#appliedHash && formatXorHash(this.#appliedHash),
      lastSync: this.#lastSync,
      setAside: this.#setAside.list(),
      waiting: this.#turns.size,
    }
  }

  #onChange(change: Omit<ChangeSet, 'revision'>): void {
    const { services } = change
    this.#parts.metrics.countQueued(change)
    this.#pending.add(change)
    const isPlannable = this.#appliedHash !== undefined && services.size <= maxPlannedAhead
    const urgent = isPlannable && [...services].some((key) => this.#plans.wouldLoseEndpoint(key))
    this.#sync.request({ urgent })
  }

  async #syncOnce(): Promise<void> {
    const { state } = this.#parts
    if (!state.synced || !this.#isConfigured) return
    const revision = state.revision
    const settings = this.#settings
    this.#hasPlanned = true
    const changed = this.#pending.takeChanged()
    await this.#plan(changed)
    // Some were planned for the node as it was, some as it is; all of them have been asked for again.
    if (settings !== this.#settings) return this.#pending.again(changed)
    const keys = this.#leaveOutTooLarge(changed)
    const objects = this.#plans.hash
    const isRecognised = this.#appliedHash === undefined && (await this.#recognise(keys, { objects, revision }))
    const finished = await this.#applyChanges(keys, objects)
    this.#publish(isRecognised ? [] : finished, revision)
    this.#parts.metrics.observeProgramming(this.#pending.settle(finished))
    this.#failures = 0
    this.#retrySetAsideLater()
    this.#updateHealth(revision)
    if (this.#turns.size > 0) this.#sync.request({ urgent: true })
  }

  /** A Service that has changed again is another one by now than its rules: it comes with the next write. */
  #publish(keys: readonly ObjectKey[], revision: number): void {
    const { applied, onApplied } = this.#parts
    applied.publish(this.name, revision, this.#turns.services())
    const settled = keys.filter((key) => !this.#pending.hasChanged(key))
    if (settled.length > 0) onApplied?.(settled)
  }

  /** Those that may be written. What the kernel has of the others stays, and no caller waits for them. */
  #leaveOutTooLarge(keys: readonly ObjectKey[]): readonly ObjectKey[] {
    return keys.filter((service) => {
      const rules = this.#plans.tooManyRules(service)
      if (rules === undefined) return true
      const reason = `it would have some ${rules} rules, and a Service may have ${this.#parts.maxServiceRules} (--max-service-rules)`
      this.#turns.drop(service)
      this.#refuse({ service, reason, isTooLarge: true })
      this.#pending.settle([service])
      return false
    })
  }

  /** A change that comes while others are still being planned marks its Services dirty again. */
  async #plan(keys: readonly ObjectKey[]): Promise<void> {
    const slice = new TimeSlice()
    for (const key of keys) {
      this.#plans.refresh(key)
      if (slice.spent) await slice.pause()
    }
  }

  /** Where the kernel holds what is made of these very objects and settings, all is applied before any rule is known. */
  async #recognise(
    keys: readonly ObjectKey[],
    { objects, revision }: { readonly objects: XorHash; readonly revision: number },
  ): Promise<boolean> {
    const { writer, log } = this.#parts
    if (!(await writer.recognises(objects))) return false
    this.#appliedHash = objects
    this.#publish(keys, revision)
    log.info('the kernel holds our rules already, by PLAT-STATE', { objects: formatXorHash(objects) })
    this.#setHealth('ok', `rules of revision ${revision} are in the kernel by PLAT-STATE, to be compared`)
    return true
  }

  /** Writes as much as fits in a turn. Returns the Services of which nothing is left to write. */
  async #applyChanges(keys: readonly ObjectKey[], objects: XorHash): Promise<readonly ObjectKey[]> {
    const mayDiffer = this.isPlanning || this.#failures > 0 || this.#turns.size > 0 || !this.#isApplied(objects)
    const aside = this.#setAside.size === 0 ? [] : keys.filter((key) => this.#setAside.has(key))
    await this.#turns.add(mayDiffer ? keys : aside)
    await this.#turns.add(this.#setAside.due())
    if (!mayDiffer && this.#turns.size === 0) return keys
    const written = await this.#writeTurn(objects)
    if (this.#turns.size === 0) this.#appliedHash = objects
    return mayDiffer ? written : [...keys, ...written]
  }

  /** Spec 2.12 rule 2: equal hashes mean that there is nothing to do. */
  #isApplied(objects: XorHash): boolean {
    return this.#appliedHash !== undefined && equalHashes(this.#appliedHash, objects)
  }

  async #writeTurn(objects: XorHash): Promise<readonly ObjectKey[]> {
    const { metrics, log } = this.#parts
    const startedMs = performance.now()
    const kind = this.#syncKind
    const { report, finished, refused, returned } = await this.#takeTurn(objects)
    for (const refusal of refused) this.#refuse(refusal)
    for (const service of returned) this.#return(service)
    metrics.observeSync(kind, performance.now() - startedMs, report)
    this.#lastSync = { ...report, atMs: Date.now() }
    log.debug('rules synced', { ...report, kind, objects: formatXorHash(objects), waiting: this.#turns.size })
    return [...finished, ...refused.map(({ service }) => service)]
  }

  async #takeTurn(objects: XorHash): Promise<TurnResult> {
    return this.isPlanning
      ? this.#turns.takeAll(objects, await this.#parts.writer.isUnhooked())
      : this.#turns.takeTurn(objects)
  }

  get #syncKind(): SyncKind {
    return this.isPlanning ? 'full' : 'partial'
  }

  #return(service: ObjectKey): void {
    this.#setAside.remove(service)
    this.#parts.metrics.setSetAside(this.#setAside.size)
    this.#parts.log.info('a Service that was set aside is written now', { service })
  }

  #refuse(refusal: Refusal): void {
    const { log, metrics, onRefused } = this.#parts
    const { service, attempts, retryAtMs } = this.#setAside.put(refusal)
    metrics.setSetAside(this.#setAside.size)
    const why = refusal.isTooLarge ? 'a Service has too many rules' : 'the kernel refuses the rules of a Service'
    const retryInMs = retryAtMs && Math.round(retryAtMs - Date.now())
    log.error(`${why}: it is set aside and keeps those it had`, { ...refusal, attempts, retryInMs })
    if (attempts === 1) onRefused?.({ ...refusal, service })
  }

  #retrySetAsideLater(): void {
    clearTimeout(this.#retryTimer)
    const delayMs = this.#setAside.nextInMs()
    if (delayMs === undefined) return
    this.#retryTimer = setTimeout(() => this.#sync.request(), delayMs)
    this.#retryTimer.unref()
  }

  #onFailure(error: unknown, retryInMs: number): void {
    this.#failures += 1
    if (this.#failures >= failuresUntilLeftOut) this.#parts.applied.fail(this.name)
    this.#parts.metrics.countFailure(this.#syncKind)
    this.#parts.log.error('could not write the rules, will try again', { error, retryInMs: Math.round(retryInMs) })
    this.#setHealth(this.#appliedHash ? 'degraded' : 'unknown', `the last write failed: ${describeError(error)}`)
  }

  #updateHealth(revision: number): void {
    const setAside = this.#setAside.list().map(({ service }) => service)
    const named = setAside.slice(0, 5).join(', ')
    const more = setAside.length > 5 ? ` and ${setAside.length - 5} more` : ''
    if (setAside.length > 0) this.#setHealth('degraded', `set aside with the rules they had: ${named}${more}`)
    else this.#setHealth('ok', `rules of revision ${revision} are in the kernel`)
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}
