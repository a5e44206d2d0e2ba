import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { HealthKeeper } from '../../loop/health-keeper.ts'
import { inSlices, TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { RoutingChange, RoutingTable } from '../../model/routing-table.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppliedRevisions, ChangeSet, LiveNodeState } from '../state/index.ts'
import type { IngressDriver, RoutingRefusal } from './driver.ts'
import type { IngressObjects } from './ingress-objects.ts'
import type { IngressMetrics } from './metrics.ts'
import type { IngressPlan, IngressStep } from './plan.ts'
import type { ReportedProblems } from './problems.ts'
import { type IngressStatus, ingressStatus } from './status.ts'

/** The name under which the plane publishes the revision that it has applied. */
export const ingressPlane = 'ingress'

export interface IngressPlaneParts {
  readonly plan: IngressPlan
  readonly driver: IngressDriver
  readonly objects: IngressObjects
  readonly problems: ReportedProblems
  readonly nodeState: LiveNodeState
  readonly applied: AppliedRevisions
  readonly metrics: IngressMetrics
  /** Called with the Secrets that are needed, after each change of them. */
  readonly followSecrets: (secrets: ReadonlySet<ObjectKey>) => void
  /** Called after each table that is in force. */
  readonly onApplied: () => void
  readonly log: Logger
}

/** The first table waits so long for the Secrets it names: a proxy that outlived the agent keeps its certificates meanwhile. */
const firstSecretsMs = 5_000
const retry = { baseMs: 200, maxMs: 15_000 }

/**
 * Keeps the driver's routing table up to date: changes of one turn are one table, a table that could not be applied is tried again with backoff
 * together with what changed since.
 */
export class IngressPlane implements Component {
  readonly name = ingressPlane
  readonly #parts: IngressPlaneParts
  readonly #runner: BoundedFrequencyRunner
  #services = new Set<ObjectKey>()
  #unapplied = emptyChange()
  #step: IngressStep | undefined
  #refusals: readonly RoutingRefusal[] = []
  readonly #readSecrets = new Set<ObjectKey>()
  #startedMs = 0
  #hasApplied = false
  #failure: string | undefined
  #timer: NodeJS.Timeout | undefined
  #unsubscribe: readonly (() => void)[] = []
  readonly #health = new HealthKeeper('unknown', 'waiting for the first lists of Ingresses and classes')

  constructor(parts: IngressPlaneParts) {
    this.#parts = parts
    this.#runner = new BoundedFrequencyRunner(() => this.#sync(), {
      backoff: new Backoff(retry),
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
  }

  async start(): Promise<void> {
    const { nodeState, objects } = this.#parts
    this.#startedMs = performance.now()
    this.#unsubscribe = [
      nodeState.subscribe((change) => this.#onNodeChange(change)),
      objects.onChange(() => this.#runner.request()),
    ]
    this.#runner.request()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    clearTimeout(this.#timer)
    await this.#runner.stop(scope)
    this.#health.set('stopped', 'stopped')
  }

  health(): Health {
    return this.#health.current
  }

  status(): IngressStatus {
    const { driver, plan, problems } = this.#parts
    return ingressStatus({ driver, plan, step: this.#step, problems: problems.all, failure: this.#failure })
  }

  /** The newest plan; undefined before the first. */
  get step(): IngressStep | undefined {
    return this.#step
  }

  #onNodeChange({ services }: ChangeSet): void {
    for (const service of services) this.#services.add(service)
    this.#runner.request()
  }

  async #sync(): Promise<void> {
    const { nodeState, objects } = this.#parts
    const { revision } = nodeState
    if (objects.denials.length > 0) this.#onDenials(objects.denials, revision)
    if (objects.missing.length > 0 || !nodeState.synced) return
    const startMs = performance.now()
    const step = await this.#plan()
    if (!this.isWanted) return this.#onNotWanted(revision)
    if (this.#isWaitingForSecrets(step)) return this.#syncAt(this.#startedMs + firstSecretsMs - performance.now())
    await this.#apply(step, startMs)
    this.#parts.applied.publish(ingressPlane, revision)
    this.#syncAt(step.nextChangeMs === undefined ? undefined : step.nextChangeMs - Date.now())
  }

  async #plan(): Promise<IngressStep> {
    const { plan, objects, followSecrets } = this.#parts
    const services = this.#services
    this.#services = new Set()
    const pending = objects.take()
    for (const key of pending.secrets.keys()) this.#readSecrets.add(key)
    const step = await inSlices(plan.stages({ ...pending, services }, Date.now()), new TimeSlice())
    for (const key of this.#readSecrets) if (!step.secrets.has(key)) this.#readSecrets.delete(key)
    this.#unapplied = mergeChanges(this.#unapplied, step.change)
    followSecrets(step.secrets)
    this.#step = step
    return step
  }

  /** Ports are opened once a class names our controller, and stay open; a proxy that outlived the agent gets its table in any case. */
  get isWanted(): boolean {
    return this.#parts.plan.hasClass || this.#parts.driver.isServing
  }

  #onNotWanted(revision: number): void {
    this.#parts.applied.publish(ingressPlane, revision)
    this.#health.set('ok', 'no IngressClass names this controller: nothing listens')
  }

  #isWaitingForSecrets({ secrets }: IngressStep): boolean {
    if (this.#hasApplied || performance.now() - this.#startedMs >= firstSecretsMs) return false
    return secrets.difference(this.#readSecrets).size > 0
  }

  async #apply({ table, problems }: IngressStep, startMs: number): Promise<void> {
    const { driver, metrics, onApplied } = this.#parts
    if (!this.#hasApplied || !isEmpty(this.#unapplied)) {
      this.#refusals = await driver.apply(table, this.#unapplied)
      this.#unapplied = emptyChange()
      this.#hasApplied = true
      metrics.observeSync(performance.now() - startMs)
    }
    this.#failure = undefined
    this.#parts.problems.replace(problems, this.#refusals)
    this.#updateHealth(table)
    onApplied()
  }

  /** Without Ingresses this node serves none, and no change of an endpoint is waited for. */
  #onDenials(denials: readonly string[], revision: number): void {
    this.#parts.applied.publish(ingressPlane, revision)
    this.#health.set('degraded', `Ingresses are not served: ${denials.join('; ')}`)
  }

  /** Without a table in force no change of an endpoint is waited for: this node serves no Ingress. */
  #onFailure(error: unknown, retryInMs: number): void {
    const { log, metrics, applied, nodeState } = this.#parts
    this.#failure = describeError(error)
    metrics.countFailure()
    log.error('the routes of Ingresses could not be applied', { error, retryInMs })
    if (!this.#hasApplied) applied.publish(ingressPlane, nodeState.revision)
    this.#health.set('degraded', `routes could not be applied: ${this.#failure}`)
  }

  /** A certificate begins or ends to be valid by the clock alone. */
  #syncAt(inMs: number | undefined): void {
    clearTimeout(this.#timer)
    if (inMs === undefined) return
    this.#timer = setTimeout(() => this.#runner.request(), Math.min(Math.max(inMs, 100), longestTimerMs)).unref()
  }

  #updateHealth({ hosts, backends }: RoutingTable): void {
    const { problems, driver } = this.#parts
    const { level, message } = driver.health()
    const served = `${hosts.size} hosts and ${backends.size} backends`
    if (level === 'degraded') this.#health.set('degraded', message)
    else if (problems.count > 0) this.#health.set('degraded', `${served}; not served as written: ${this.#named()}`)
    else this.#health.set('ok', served)
  }

  #named(): string {
    const keys = [...this.#parts.problems.all.keys()]
    const more = keys.length > maxNamed ? ` and ${keys.length - maxNamed} more` : ''
    return `${keys.slice(0, maxNamed).join(', ')}${more}`
  }
}

const maxNamed = 5
/** Timers hold at most 2^31 - 1 ms. */
const longestTimerMs = 24 * 3_600_000

function emptyChange(): RoutingChange {
  return { hosts: new Set(), backends: new Set(), certificates: false }
}

function isEmpty({ hosts, backends, certificates }: RoutingChange): boolean {
  return hosts.size + backends.size === 0 && !certificates
}

function mergeChanges(one: RoutingChange, other: RoutingChange): RoutingChange {
  return {
    hosts: one.hosts.union(other.hosts),
    backends: one.backends.union(other.backends),
    certificates: one.certificates || other.certificates,
  }
}
