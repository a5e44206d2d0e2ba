import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../../../model/errors.ts'
import { type Span, silentSpan } from '../../../../observe/tracing/tracer.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import type { ForwardSettings } from './settings.ts'
import { type MakeQuery, Upstream, type UpstreamEvents } from './upstream.ts'
import { readUpstreamAnswer } from './upstream-answer.ts'
import { UpstreamError } from './upstream-error.ts'
import { UpstreamOrder } from './upstream-order.ts'

const totalTimeoutMs = 5_000
/** The delay before the third attempt at an upstream and each one after it, so that one that refuses at once is not asked in a busy loop. */
const furtherAttemptAfterMs = 50

/** A query for an upstream, which can be made again for each attempt. */
export interface Forwarded {
  readonly make: MakeQuery
  readonly overTcp: boolean
  readonly span?: Span
}

/** The upstreams of one `forward`. They are asked one after the other until one answers, for 5 s at most. */
export class Forwarder {
  readonly upstreams: readonly Upstream[]
  readonly #settings: ForwardSettings
  readonly #order: UpstreamOrder
  readonly #onBroken: () => void

  constructor(settings: ForwardSettings, events: UpstreamEvents & { readonly onBroken: () => void }) {
    this.#settings = settings
    this.#order = new UpstreamOrder(settings.policy)
    this.#onBroken = events.onBroken
    this.upstreams = settings.targets.map((target) => new Upstream(target, settings, events))
  }

  get allDown(): boolean {
    return this.#usable().every(({ isDown }) => isDown)
  }

  /** Returns the upstream's message; its ID and case are our own. Throws UpstreamError. */
  async ask(forwarded: Forwarded): Promise<UpstreamAnswer> {
    const deadlineMs = performance.now() + totalTimeoutMs
    let failure: unknown
    let unwanted: UpstreamAnswer | undefined
    const candidates = this.#candidates()
    const attempts = this.#attempts(candidates)
    for (let made = 0; made < attempts && performance.now() < deadlineMs; made += 1) {
      const upstream = candidates[made % candidates.length]
      if (upstream === undefined) break
      if (made >= 2 * candidates.length) await sleep(furtherAttemptAfterMs)
      try {
        const answer = readUpstreamAnswer(await this.#askOne(upstream, forwarded))
        if (!this.#settings.failover.includes(answer.layout.rcode)) return answer
        unwanted = answer
      } catch (error) {
        failure = error
      }
    }
    if (unwanted !== undefined) return unwanted
    if (failure instanceof UpstreamError) throw failure
    throw new UpstreamError('timeout', 'no upstream answered in time', { cause: failure })
  }

  close(): void {
    for (const upstream of this.upstreams) upstream.close()
  }

  #askOne(upstream: Upstream, forwarded: Forwarded): Promise<Buffer> {
    const { make, span = silentSpan } = forwarded
    const reply = upstream.ask(make, this.#overTcp(forwarded))
    return span.isRecorded ? traced(span, upstream, reply) : reply
  }

  #overTcp({ overTcp }: Forwarded): boolean {
    return this.#settings.forceTcp || (overTcp && !this.#settings.preferUdp)
  }

  #usable(): readonly Upstream[] {
    const isUsable = ({ disabledBecause }: Upstream) => disabledBecause === undefined
    return this.upstreams.every(isUsable) ? this.upstreams : this.upstreams.filter(isUsable)
  }

  /**
   * Returns how many attempts a query gets. Upstreams that are up get a second round, because a single lost datagram is no reason to give up;
   * those that are down do not.
   */
  #attempts(candidates: readonly Upstream[]): number {
    const { maxConnectAttempts = 2 * candidates.length } = this.#settings
    if (candidates[0]?.isDown === true) return candidates.length
    return maxConnectAttempts === 0 ? Number.POSITIVE_INFINITY : maxConnectAttempts
  }

  #candidates(): readonly Upstream[] {
    const usable = this.#usable()
    const up = this.#order.next(usable)
    if (up.length > 0) return up
    const [first] = this.upstreams
    if (usable.length === 0) {
      const because = first?.disabledBecause ?? 'there is none'
      throw new UpstreamError('loop', `no upstream can be asked: ${because}`)
    }
    this.#onBroken()
    if (this.#settings.failfastAllUnhealthy) throw new UpstreamError('all-down', 'every upstream is down')
    return usable.slice(randomInt(usable.length)).slice(0, 1)
  }
}

async function traced(span: Span, upstream: Upstream, reply: Promise<Buffer>): Promise<Buffer> {
  const attempt = span.child('ask upstream', { kind: 'client', attributes: { 'server.address': upstream.name } })
  try {
    const message = await reply
    attempt.end()
    return message
  } catch (error) {
    attempt.end({ error: describeError(error) })
    throw error
  }
}
