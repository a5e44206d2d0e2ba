import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { formatXorHash, type XorHash } from '../../model/xor-hash.ts'
import { type Span, silentTracer, startShared } from '../../observe/index.ts'
import { traceWrite } from '../rules/index.ts'
import type { ChangeSet } from '../state/index.ts'
import { PendingChanges } from './pending-changes.ts'
import type { ProxyPlaneParts } from './plane-parts.ts'
import { RefusedServices } from './refused-services.ts'
import { type ProxySettings, ServicePlans } from './service-plans.ts'
import { SyncRecord } from './sync-record.ts'
import { ProxyView } from './view.ts'
import type { ServiceQueue } from './write-queue.ts'

const maxGapMs = 1000
/** Another program may hold the lock for a while. */
const failuresUntilLeftOut = 3

/**
 * The service proxy of one family: takes the Services that a change touched, plans and lowers only these, hands the chains that
 * differ to the rules writer, and publishes the revision once the kernel has it. A failed write is retried, and nothing of it is
 * lost. Changes that take endpoints away go out at once; others wait as long as the last write took. `view` reads all of it.
 */
export class ProxyPlane implements Component {
  readonly view: ProxyView
  readonly #parts: ProxyPlaneParts
  readonly #plans: ServicePlans
  readonly #queue: ServiceQueue
  readonly #pending = new PendingChanges()
  readonly #refused: RefusedServices
  readonly #record = new SyncRecord()
  readonly #runner: BoundedFrequencyRunner
  #isConfigured: boolean
  #unsubscribe = () => {}

  constructor(parts: ProxyPlaneParts) {
    const { settings, state, mode, minGapMs = (lastRunMs: number) => Math.min(2 * lastRunMs, maxGapMs) } = parts
    const hashFormat = mode.hashFormat.bind(mode)
    const { sizeCount } = mode
    const plans = new ServicePlans(state, settings, { maxSize: parts.maxServiceRules, sizeCount, hashFormat })
    this.#refused = new RefusedServices({ ...parts, onDue: () => this.#runner.request() })
    const { setAside } = this.#refused
    const queue = mode.createQueue({ settings, planOf: (service) => plans.get(service), setAside })
    this.#parts = parts
    this.#plans = plans
    this.#queue = queue
    this.#isConfigured = parts.waitsForNode !== true
    this.#runner = new BoundedFrequencyRunner(() => this.#syncTraced(), {
      backoff: new Backoff({ baseMs: 100, maxMs: 30_000 }),
      minGapMs,
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
    const shared = { pending: this.#pending, record: this.#record, waiting: () => queue.size }
    this.view = new ProxyView({ ...shared, state, plans, setAside, mode })
  }

  /** The plane publishes what it has applied under this name. */
  get name(): string {
    return this.family === 'IPv4' ? 'proxy' : 'proxy-ipv6'
  }

  get family(): IpFamily {
    return this.#parts.settings.family
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#parts.state.subscribe((change) => this.#onChange(change))
  }

  /** The rules stay in the kernel: stopping the daemon must not cut traffic. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    this.#refused.stop()
    await this.#runner.stop(scope)
    this.#record.stopped()
  }

  health(): Health {
    return this.#record.health
  }

  async examine(): Promise<string | undefined> {
    return this.#runner.findStuckRun()
  }

  /** Plans everything anew for a node that has changed, and isolation what differs. Equal settings cost nothing. */
  configure(settings: ProxySettings): void {
    const isSame = JSON.stringify(settings) === JSON.stringify(this.#plans.settings)
    if (isSame && this.#isConfigured) return
    this.#isConfigured = true
    this.#plans.configure(settings)
    this.#queue.configure(settings)
    // Before the first sync every Service waits to be planned already.
    this.#onChange({ services: new Set(this.#pending.wasTaken ? this.#parts.state.serviceKeys() : []) })
  }

  #onChange(change: Omit<ChangeSet, 'revision'>): void {
    this.#parts.metrics.countQueued(change)
    this.#pending.add(change)
    const isLosing = this.#plans.planAhead(change.services)
    this.#runner.request({ urgent: isLosing && this.#record.appliedHash !== undefined })
  }

  /** One sync in the trace of each change that it is for; after a failure also the next one. */
  async #syncTraced(): Promise<void> {
    const { state, tracer = silentTracer } = this.#parts
    if (!state.synced || !this.#isConfigured) return
    const traces = this.#pending.traces.take()
    const span = startShared(tracer, 'sync rules', traces, { attributes: { 'platnet.family': this.family } })
    try {
      await this.#syncOnce(span)
      span.end()
    } catch (error) {
      this.#pending.traces.add(traces)
      span.end({ error: describeError(error) })
      throw error
    }
  }

  async #syncOnce(span: Span): Promise<void> {
    const { state, metrics } = this.#parts
    const revision = state.revision
    const { settings } = this.#plans
    const changed = this.#pending.takeChanged()
    const planning = span.child('plan rules', { attributes: { 'platnet.services': changed.length } })
    await this.#plans.refreshAll(changed)
    planning.end()
    // Some were planned with the old settings, some with the new ones; `configure` has asked for all of them again.
    if (settings !== this.#plans.settings) return this.#pending.again(changed)
    const keys = this.#leaveOutTooLarge(changed)
    const objects = this.#plans.hash
    const isRecognised = await this.#recognise(keys, { objects, revision })
    const finished = await this.#applyChanges(keys, objects, span)
    this.#publish(isRecognised ? [] : finished, revision)
    metrics.observeProgramming(this.#pending.settle(finished))
    this.#refused.schedule()
    this.#record.succeeded(revision, this.#refused.setAside.list())
    if (this.#queue.size === 0) this.#parts.onComplete?.(this.#unserved())
    if (this.#queue.size > 0) this.#runner.request({ urgent: true })
  }

  #unserved(): readonly ObjectKey[] {
    const refused = this.#refused.setAside.list().map(({ service }) => service)
    return refused.filter((service) => !this.#queue.holds(service))
  }

  /** Returns the Services that may be written. What the kernel has of the others stays, and no caller waits for them. */
  #leaveOutTooLarge(keys: readonly ObjectKey[]): readonly ObjectKey[] {
    return keys.filter((service) => {
      const size = this.#plans.tooLarge(service)
      if (size === undefined) return true
      const reason = `it would have some ${size}, and a Service may have ${this.#parts.maxServiceRules} (--max-service-rules)`
      this.#queue.drop(service)
      this.#refused.refuse({ service, reason, isTooLarge: true })
      this.#pending.settle([service])
      return false
    })
  }

  /** In the first sync: where PLAT-STATE names these very objects and settings, all is applied before any rule is known. */
  async #recognise(
    keys: readonly ObjectKey[],
    { objects, revision }: { readonly objects: XorHash; readonly revision: number },
  ): Promise<boolean> {
    const { mode, log } = this.#parts
    if (this.#record.appliedHash !== undefined || !(await mode.recognises(objects))) return false
    this.#record.recognised(objects, revision)
    this.#publish(keys, revision)
    log.info('the kernel holds our rules already, by PLAT-STATE', { objects: formatXorHash(objects) })
    return true
  }

  /** Writes as much as fits in one write. Returns the Services of which nothing is left to write. */
  async #applyChanges(keys: readonly ObjectKey[], objects: XorHash, span: Span): Promise<readonly ObjectKey[]> {
    const { setAside } = this.#refused
    const isUnsure = this.view.isPlanning || this.#record.failures > 0 || this.#queue.size > 0
    const mayDiffer = isUnsure || !this.#record.isApplied(objects)
    await this.#queue.add(mayDiffer ? keys : keys.filter((key) => setAside.has(key)))
    await this.#queue.add(setAside.due())
    if (!mayDiffer && this.#queue.size === 0) return keys
    const written = await this.#writeNext(objects, span)
    if (this.#queue.size === 0) this.#record.applied(objects)
    return mayDiffer ? written : [...keys, ...written]
  }

  async #writeNext(objects: XorHash, span: Span): Promise<readonly ObjectKey[]> {
    const { metrics, log, mode, tracer = silentTracer, onOvertaken } = this.#parts
    const startedMs = performance.now()
    const kind = this.#syncKind
    const result = this.view.isPlanning
      ? await this.#queue.writeAll(objects, await mode.isUnhooked())
      : await this.#queue.writeNext(objects)
    const { report, finished, refused, returned, begun } = result
    if (begun !== undefined) onOvertaken?.([begun])
    for (const refusal of refused) this.#refused.refuse(refusal)
    for (const service of returned) this.#refused.return(service)
    metrics.observeSync(kind, performance.now() - startedMs, report)
    this.#record.wrote(report)
    traceWrite(tracer, span, report)
    log.debug('rules synced', { ...report, kind, objects: formatXorHash(objects), waiting: this.#queue.size })
    return [...finished, ...refused.map(({ service }) => service)]
  }

  /**
   * Leaves out Services that have changed again, whose newer rules come with the next write, and those that are set aside: the kernel
   * keeps what was reported of them before.
   */
  #publish(keys: readonly ObjectKey[], revision: number): void {
    const { applied, onApplied, onOvertaken } = this.#parts
    applied.publish(this.name, revision, this.#queue.services())
    const written = keys.filter((key) => !this.#refused.setAside.has(key))
    const { overtaken, settled } = Object.groupBy(written, (key) =>
      this.#pending.hasChanged(key) ? 'overtaken' : 'settled',
    )
    if (overtaken !== undefined) onOvertaken?.(overtaken)
    if (settled !== undefined) onApplied?.(settled)
  }

  get #syncKind(): 'full' | 'partial' {
    return this.view.isPlanning ? 'full' : 'partial'
  }

  #onFailure(error: unknown, retryInMs: number): void {
    const { applied, metrics, log } = this.#parts
    this.#record.failed(error)
    if (this.#record.failures >= failuresUntilLeftOut) applied.fail(this.name)
    metrics.countFailure(this.#syncKind, this.view.mode)
    log.error('could not write the rules, will try again', { error, retryInMs: Math.round(retryInMs) })
  }
}
