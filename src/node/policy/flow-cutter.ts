import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'

type TransportName = 'tcp' | 'udp' | 'sctp'

/** A connection as the kernel tracks it. */
export interface TrackedFlow {
  readonly protocol: TransportName
  readonly source: Ip
  /** The end that answers: the destination after all translation. */
  readonly replySource: Ip
  readonly replySourcePort: number
}

export interface FlowCutterParts<Flow extends TrackedFlow> {
  readonly family: IpFamily
  readonly flows: {
    list(protocol: TransportName): Promise<readonly Flow[]>
    /** Keeps what the servers of these still send from beginning a connection. */
    bar(flows: readonly Flow[]): Promise<void>
    /** Deletes these, and others between the same ends to the same port. */
    remove(flows: readonly Flow[]): Promise<void>
    /** Deletes everything in which one of the addresses sends or answers. */
    removeOf(addresses: readonly Ip[]): Promise<void>
  }
  /** Called for each search; the result tells whether the policies allow a connection, also true for what they do not judge. */
  readonly judge: () => Judge
  readonly metrics: FlowCutterMetrics
  readonly log: Logger
  readonly minGapMs?: (lastRunMs: number) => number
}

type Judge = (flow: TrackedFlow) => boolean

export interface FlowCutterMetrics {
  observeCut(durationMs: number, deleted: number): void
}

const transports = ['tcp', 'udp', 'sctp'] as const
const maxGapMs = 5_000

/**
 * Deletes the tracked connections that policies no longer allow, and only those: an established one is not judged by the rules, so it would
 * go on. It works beside the writing of rules; a run looks at all connections of a family and takes what changed since the last one.
 */
export class FlowCutter<Flow extends TrackedFlow> implements Component {
  readonly name: string
  readonly #parts: FlowCutterParts<Flow>
  readonly #runner: BoundedFrequencyRunner
  #left = new Set<Ip>()
  #needsJudging = false
  #idle = Promise.withResolvers<void>()
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: FlowCutterParts<Flow>) {
    this.name = parts.family === 'IPv4' ? 'policy-flows' : 'policy-flows-ipv6'
    this.#parts = parts
    this.#runner = new BoundedFrequencyRunner(() => this.#run(), {
      backoff: new Backoff({ baseMs: 500, maxMs: 60_000 }),
      minGapMs: parts.minGapMs ?? ((lastRunMs) => Math.min(4 * lastRunMs, maxGapMs)),
      onError: (error) => this.#onFailure(error),
    })
    this.#idle.resolve()
  }

  async start(): Promise<void> {}

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#runner.stop(scope)
    this.#idle.resolve()
    this.#health = { level: 'stopped', message: 'stopped', sinceMs: Date.now() }
  }

  health(): Health {
    return this.#health
  }

  /** Some of what was allowed may not be allowed any more. */
  judgeAll(): void {
    this.#needsJudging = true
    this.#runner.request()
  }

  /** These addresses left the pods that had them: none of their connections may be another pod's. */
  forget(addresses: Iterable<Ip>): void {
    const own = [...addresses].filter((address) => ipFamily(address) === this.#parts.family)
    if (own.length === 0) return
    if (this.#left.size === 0) this.#idle = Promise.withResolvers()
    for (const address of own) this.#left.add(address)
    this.#runner.request({ urgent: true })
  }

  /** Resolves once the connections of all addresses that `forget` named are deleted, or after `timeoutMs`. */
  async whenForgotten(timeoutMs: number): Promise<void> {
    if (this.#left.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    await Promise.race([this.#idle.promise, promise])
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    const { flows, metrics, log, family } = this.#parts
    const startedMs = performance.now()
    const left = [...this.#left]
    await flows.removeOf(left)
    for (const address of left) this.#left.delete(address)
    if (this.#left.size === 0) this.#idle.resolve()
    const stale = await this.#judge()
    if (stale.length > 0)
      log.info('connections that policies do not allow any more are cut', { family, count: stale.length })
    metrics.observeCut(performance.now() - startedMs, stale.length)
    if (this.#health.level !== 'ok') this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
  }

  async #judge(): Promise<readonly Flow[]> {
    if (!this.#needsJudging) return []
    this.#needsJudging = false
    try {
      const found = await this.#findStale()
      // Looking at all of them takes a while, in which a policy may allow some again.
      const isAllowed = judgeOnce(this.#parts.judge())
      const stale = found.filter((flow) => !isAllowed(flow))
      await this.#parts.flows.bar(stale)
      await this.#parts.flows.remove(stale)
      return stale
    } catch (error) {
      this.#needsJudging = true
      throw error
    }
  }

  async #findStale(): Promise<readonly Flow[]> {
    const slice = new TimeSlice()
    const isAllowed = judgeOnce(this.#parts.judge())
    const stale: Flow[] = []
    for (const protocol of transports) {
      for (const flow of await this.#parts.flows.list(protocol)) {
        if (!isAllowed(flow)) stale.push(flow)
        if (slice.spent) await slice.pause()
      }
    }
    return stale
  }

  #onFailure(error: unknown): void {
    const message = `connections that are not allowed any more could not be cut yet: ${describeError(error)}`
    if (message !== this.#health.message) this.#parts.log.warn(message, {})
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
  }
}

/** Judges the connections between two ends to one port once, however many there are. */
function judgeOnce(judge: Judge): Judge {
  const verdicts = new Map<string, boolean>()
  return (flow) => {
    const key = `${flow.protocol} ${flow.source} ${flow.replySource} ${flow.replySourcePort}`
    const verdict = verdicts.get(key) ?? judge(flow)
    verdicts.set(key, verdict)
    return verdict
  }
}
