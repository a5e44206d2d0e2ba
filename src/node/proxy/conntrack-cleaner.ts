import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'
import type { Service } from '../../model/service.ts'
import type { Logger } from '../../observe/index.ts'
import type { NodeState } from '../state/index.ts'
import {
  type ConntrackFrontend,
  type FlowEnds,
  planAfterUnknown,
  planConntrackFrontends,
  planReconciliation,
  planStale,
  StaleIndex,
  type StaleRule,
} from './conntrack-plan.ts'
import { GracePeriods } from './grace-periods.ts'
import type { ConntrackMetrics } from './metrics.ts'

/** The operations of the cleaner on the kernel; flows are passed back unchanged. */
interface FlowTable<F extends FlowEnds> {
  list(protocol: F['protocol']): Promise<readonly F[]>
  remove(flows: readonly F[]): Promise<void>
}

export interface ConntrackCleanerParts<F extends FlowEnds> {
  readonly family: IpFamily
  readonly state: Pick<NodeState, 'service' | 'slicesOf'>
  readonly flows: FlowTable<F>
  readonly isLocalAddress: (address: Ip) => boolean
  /** How long a TCP connection to an endpoint that is gone may go on; for ever where it is absent. */
  readonly tcpGraceMs?: number | undefined
  readonly metrics: ConntrackMetrics
  readonly log: Logger
}

interface AppliedService {
  readonly key: ObjectKey
  readonly service: Service | undefined
  readonly slices: readonly EndpointSlice[]
  /** The kernel had other rules of it since the last report, which nothing here knows. */
  readonly wasOvertaken: boolean
}

/**
 * Deletes conntrack entries that lead to removed endpoints, so that the client's next packet reaches another endpoint. It receives
 * Services after their rules are written, works beside the writing, and never flushes the table.
 */
export class ConntrackCleaner<F extends FlowEnds> implements Component {
  readonly name: string
  readonly #parts: ConntrackCleanerParts<F>
  readonly #frontends = new Map<ObjectKey, readonly ConntrackFrontend[]>()
  readonly #cleaning: BoundedFrequencyRunner
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #graces = new GracePeriods()
  /** Services of which the kernel has, or had since their last report, other rules than any that were reported. */
  readonly #overtaken = new Set<ObjectKey>()
  /** Services of each write, as they were then, that are not compared yet. */
  readonly #applied: (readonly AppliedService[])[] = []
  #pending: StaleRule[] = []
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: ConntrackCleanerParts<F>) {
    this.name = parts.family === 'IPv4' ? 'conntrack' : 'conntrack-ipv6'
    this.#parts = parts
    this.#cleaning = new BoundedFrequencyRunner(() => this.#clean(), {
      backoff: new Backoff({ baseMs: 500, maxMs: 60_000 }),
      onError: (error) => this.#onFailure(error),
    })
  }

  async start(): Promise<void> {}

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#cleaning.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  /** Reports that the kernel has the current rules of these Services. A later sliced comparison with the last report finds what to delete. */
  onApplied(services: readonly ObjectKey[]): void {
    const { state } = this.#parts
    const applied = services.map((key) => ({
      key,
      service: state.service(key),
      slices: state.slicesOf(key),
      wasOvertaken: this.#overtaken.delete(key),
    }))
    this.#applied.push(applied)
    this.#cleaning.request()
  }

  /** Reports that the kernel has rules of these Services that are not the current ones: flows may lead to endpoints that no report has. */
  onOvertaken(services: readonly ObjectKey[]): void {
    for (const key of services) this.#overtaken.add(key)
  }

  async #compareApplied(): Promise<void> {
    const slice = new TimeSlice()
    for (let applied = this.#applied.shift(); applied !== undefined; applied = this.#applied.shift()) {
      const stale: StaleRule[] = []
      for (const service of applied) {
        stale.push(...this.#refresh(service))
        if (slice.spent) await slice.pause()
      }
      this.#pending.push(...stale.filter(({ frontend }) => frontend.protocol === 'udp'))
      this.#queueLater(stale.filter(({ frontend }) => frontend.protocol === 'tcp'))
    }
  }

  #refresh({ key, service, slices, wasOvertaken }: AppliedService): readonly StaleRule[] {
    const { family, tcpGraceMs } = this.#parts
    const withTcp = tcpGraceMs !== undefined
    const before = this.#frontends.get(key)
    const after = service === undefined ? [] : planConntrackFrontends(service, slices, { family, withTcp })
    if (after.length > 0) this.#frontends.set(key, after)
    else this.#frontends.delete(key)
    if (withTcp) this.#graces.note(after)
    if (before === undefined) return planReconciliation(after)
    return wasOvertaken ? planAfterUnknown(before, after) : planStale(before, after)
  }

  #queue(rules: readonly StaleRule[]): void {
    if (rules.length === 0) return
    this.#pending.push(...rules)
    this.#cleaning.request()
  }

  #queueLater(rules: readonly StaleRule[]): void {
    if (rules.length === 0) return
    const periods = rules.map((rule) => this.#graces.begin(rule))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#queue(periods.map((end) => end()))
    }, this.#parts.tcpGraceMs)
    timer.unref()
    this.#timers.add(timer)
  }

  async #clean(): Promise<void> {
    const { flows, metrics, log, family } = this.#parts
    const startedMs = performance.now()
    await this.#compareApplied()
    const rules = this.#pending
    if (rules.length === 0) return this.#reportOk()
    this.#pending = []
    try {
      const stale = await this.#findStale(rules)
      await flows.remove(stale)
      if (stale.length > 0)
        log.info('connections to removed endpoints were deleted from conntrack', { family, count: stale.length })
      metrics.observe(performance.now() - startedMs, stale.length)
    } catch (error) {
      this.#pending.push(...rules)
      throw error
    }
    this.#reportOk()
  }

  #reportOk(): void {
    if (this.#health.level !== 'ok') this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
  }

  async #findStale(rules: readonly StaleRule[]): Promise<readonly F[]> {
    const index = new StaleIndex(rules, this.#parts.isLocalAddress)
    const slice = new TimeSlice()
    const stale: F[] = []
    for (const protocol of new Set(rules.map(({ frontend }) => frontend.protocol))) {
      for (const flow of await this.#parts.flows.list(protocol)) {
        if (index.has(flow)) stale.push(flow)
        if (slice.spent) await slice.pause()
      }
    }
    return stale
  }

  #onFailure(error: unknown): void {
    const message = describeError(error)
    if (message !== this.#health.message)
      this.#parts.log.warn('connections to removed endpoints could not be deleted from conntrack yet', { error })
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
  }
}
