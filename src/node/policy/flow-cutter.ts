import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { BarredFlows } from './barred-flows.ts'
import type { FlowJudge } from './flow-judge.ts'
import type { StandingRules } from './standing-rules.ts'
import type { TrackedFlow, TrackedFlows } from './tracked-flows.ts'

export interface FlowCutterParts {
  readonly family: IpFamily
  readonly rules: Pick<StandingRules, 'changes' | 'hold'>
  readonly flows: Pick<TrackedFlows, 'list' | 'remove' | 'removeOf'>
  readonly barred: Pick<BarredFlows, 'bar' | 'release' | 'releaseServers'>
  /** Creates a judge by the objects that the rules are made of, while they stand. */
  readonly createJudge: () => FlowJudge
  readonly metrics: FlowCutterMetrics
  readonly log: Logger
  readonly minGapMs?: (lastRunMs: number) => number
}

export interface FlowCutterMetrics {
  observeCut(durationMs: number, deleted: number): void
}

const maxGapMs = 5_000
/**
 * A write of rules waits for so many deletions at most. By the socket one takes 0.05 ms with its bar; the program takes 7 ms alone, and
 * many times that under load.
 */
const deletionsPerHold = { bySocket: 64, byProgram: 4 } as const

/**
 * Deletes the tracked connections that policies no longer allow, and only those: an established one is not judged by the rules, so it would
 * go on.
 *
 * It judges by the objects that the rules in the kernel are made of, never by newer ones, and from the last judgement of a connection to its
 * deletion no rules are written. So the rules deny what is deleted at the moment of its deletion, and no packet that they let through
 * loses its connection. A search looks at all connections while rules may be written; one that overlaps a change is made again. So a
 * connection that stays was allowed by rules that stood during a whole search after the last write that denies, and each such
 * write asks for a search. One that begins after the list is let through by rules after that write, also between the same ends.
 */
export class FlowCutter implements Component {
  readonly name: string
  readonly #parts: FlowCutterParts
  readonly #runner: BoundedFrequencyRunner
  #left = new Set<Ip>()
  #needsJudging = false
  #isStopping = false
  #idle = Promise.withResolvers<void>()
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: FlowCutterParts) {
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

  /** Ends a search between two deletions; the first search of the next process finds the rest. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopping = true
    await this.#runner.stop(scope)
    this.#idle.resolve()
    this.#health = { level: 'stopped', message: 'stopped', sinceMs: Date.now() }
  }

  health(): Health {
    return this.#health
  }

  /** Some of what was allowed may not be allowed any more by the rules that were just written. */
  judgeAll(): void {
    this.#needsJudging = true
    this.#runner.request()
  }

  /** These addresses left the pods that had them, and the rules say so: none of their connections may be another pod's. */
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

  /** To be called by the change that has written rules, before it ends: what they allow again is not barred any more. Throws ExecError. */
  release(): Promise<void> {
    return this.#parts.barred.release(this.#parts.createJudge)
  }

  async #run(): Promise<void> {
    const { metrics, log, family } = this.#parts
    const startedMs = performance.now()
    await this.#forgetAll()
    const count = await this.#judge()
    if (count > 0) log.info('connections that policies do not allow any more are cut', { family, count })
    metrics.observeCut(performance.now() - startedMs, count)
    if (this.#health.level !== 'ok') this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
  }

  /**
   * The connections of an address end. What a server still sends to it must not become a connection that its new pod may not
   * open; what clients still send to it is judged as a first packet. Where the rules do not stand, the next write asks again.
   */
  async #forgetAll(): Promise<void> {
    const { flows, rules, barred, createJudge } = this.#parts
    const left = new Set(this.#left)
    if (left.size === 0) return
    const opened = await flows.list([...left])
    const isBarred = await rules.hold(async () => {
      const isAllowed = createJudge()
      await barred.bar(opened.filter((flow) => !left.has(flow.replySource) && !isAllowed(flow)))
      await barred.releaseServers(left)
      return true
    })
    if (isBarred === undefined) return
    await flows.removeOf([...left])
    for (const address of left) this.#left.delete(address)
    if (this.#left.size === 0) this.#idle.resolve()
  }

  /** Returns how many connections were cut. Where the rules do not stand, the next write asks again. */
  async #judge(): Promise<number> {
    const { rules } = this.#parts
    if (!this.#needsJudging) return 0
    const changes = await rules.hold(async () => rules.changes)
    if (changes === undefined) return 0
    this.#needsJudging = false
    try {
      const found = await this.#findStale()
      if (rules.changes !== changes) this.judgeAll()
      return await this.#cut(found)
    } catch (error) {
      this.#needsJudging = true
      throw error
    }
  }

  async #findStale(): Promise<readonly TrackedFlow[]> {
    const slice = new TimeSlice()
    const listed = await this.#parts.flows.list()
    const isAllowed = this.#parts.createJudge()
    const stale: TrackedFlow[] = []
    for (const flow of listed) {
      if (!isAllowed(flow)) stale.push(flow)
      if (slice.spent) await slice.pause()
    }
    return stale
  }

  /** A change that begins meanwhile waits for a few deletions only, and what it allows is not deleted after it. */
  async #cut(found: readonly TrackedFlow[]): Promise<number> {
    const { rules, flows, barred, createJudge } = this.#parts
    let count = 0
    const isNamed = found.every(({ deletion }) => deletion !== undefined)
    const size = isNamed ? deletionsPerHold.bySocket : deletionsPerHold.byProgram
    for (let at = 0; at < found.length && !this.#isStopping; at += size) {
      const cut = await rules.hold(async () => {
        const isAllowed = createJudge()
        const stale = found.slice(at, at + size).filter((flow) => !isAllowed(flow))
        await barred.bar(stale)
        await flows.remove(stale)
        return stale.length
      })
      count += cut ?? 0
    }
    return count
  }

  #onFailure(error: unknown): void {
    const message = `connections that are not allowed any more could not be cut yet: ${describeError(error)}`
    if (message !== this.#health.message) this.#parts.log.warn(message, {})
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
  }
}
