import { setTimeout as sleep } from 'node:timers/promises'
import type { Component, Health } from '../../loop/component.ts'
import { formatMicroTime } from '../../model/api-object.ts'
import type { Logger } from '../../observe/index.ts'
import type { HeldLease, LeaseLock, LeaseSpec } from './lease-lock.ts'

export interface ElectionTiming {
  /** How long other candidates wait after the last renewal that they observed. */
  readonly leaseMs: number
  /** A leader that could not renew for this long stops leading. */
  readonly renewDeadlineMs: number
  /** The wait of a leader after a renewal. Each costs a write and wakes every watcher of leases. */
  readonly renewMs: number
  /** The wait after an attempt that failed, and of other candidates. */
  readonly retryMs: number
  /** The wait before taking over from a leader that is gone: the server may still process its last requests. */
  readonly settleMs: number
}

const defaultLeaseMs = 15_000

/** Returns the timing for a lease duration, in the proportions of Kubernetes: 15 s, 10 s and 2 s; a leader renews every 5 s. */
export function timingOfLease(leaseMs: number): ElectionTiming {
  // Time limits are whole milliseconds: Node refuses others.
  const share = (part: number) => Math.round(leaseMs * part)
  const settleMs = Math.min(1_000, share(1 / 15))
  return { leaseMs, renewDeadlineMs: share(2 / 3), renewMs: share(1 / 3), retryMs: share(2 / 15), settleMs }
}

export interface ElectionOptions {
  readonly lock: LeaseLock
  /** The identity in the lease; it differs for each process. */
  readonly identity: string
  /**
   * Checks whether the process with that identity has certainly ended; its lease is then taken before it expires.
   * Absent if that cannot be known.
   */
  readonly isGone?: (identity: string) => boolean
  readonly onStarted: () => void
  /** Called at once when this process stops leading, even while a request is in progress. */
  readonly onStopped: () => void
  readonly log: Logger
  readonly timing?: Partial<ElectionTiming>
}

/**
 * Elects one leader among the processes that share a lease. Clocks need not agree: like client-go, a candidate measures
 * by its own clock how long the lease has not changed. A leader stops before another process may start, as long as
 * clocks run at about the same speed.
 */
export class LeaderElection implements Component {
  readonly name = 'leader-election'
  readonly #options: ElectionOptions
  readonly #timing: ElectionTiming
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()
  #observed: HeldLease | undefined
  #observedMs = 0
  /** The time since when the holder is known to be gone. */
  #goneSinceMs: number | undefined
  #giveUp: NodeJS.Timeout | undefined
  #isLeader = false

  constructor(options: ElectionOptions) {
    this.#options = options
    // All other times follow from the lease: a leader of a short lease must not renew it after 5 s.
    this.#timing = { ...timingOfLease(options.timing?.leaseMs ?? defaultLeaseMs), ...options.timing }
  }

  async start(): Promise<void> {
    this.#loop = this.#run()
  }

  /** Releases the lease, so that another candidate need not wait until it expires. */
  async stop({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    if (!this.#isLeader) return
    this.#stepDown()
    await this.#release(signal).catch((error) =>
      this.#options.log.info('the lease could not be released; others wait until it expires', { error }),
    )
  }

  get isLeader(): boolean {
    return this.#isLeader
  }

  health(): Health {
    const holder = this.#observed?.spec.holderIdentity
    const message = this.#isLeader ? 'leading' : `waiting; the leader is ${holder || 'not known'}`
    return { level: 'ok', message, sinceMs: 0 }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const isHeld = await this.#attempt()
      const { renewMs, retryMs, settleMs } = this.#timing
      const otherMs = this.#goneSinceMs === undefined ? retryMs : Math.min(retryMs, settleMs)
      const pauseMs = isHeld ? renewMs : otherMs
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Returns whether this process holds the lease and has just written it. */
  async #attempt(): Promise<boolean> {
    const startedMs = performance.now()
    const deadline = AbortSignal.timeout(this.#timing.renewDeadlineMs)
    try {
      const isHeld = await this.#acquireOrRenew(AbortSignal.any([this.#stopping.signal, deadline]))
      if (isHeld) this.#lead(startedMs)
      else if (this.#isLeader) this.#lose('another process holds the lease')
      return isHeld
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#options.log.debug('the lease was not written', { error })
      return false
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    return (await this.#renewObserved(signal)) || (await this.#acquire(signal))
  }

  /** Renews the observed version of the lease without reading it, as client-go does: one request instead of two. */
  async #renewObserved(signal: AbortSignal): Promise<boolean> {
    const held = this.#observed
    if (!this.#isLeader || held?.spec.holderIdentity !== this.#options.identity) return false
    try {
      this.#observe(await this.#options.lock.replace(held, this.#claim(held.spec), signal))
      return true
    } catch (error) {
      this.#options.log.debug('the lease was not renewed; it is read again', { error })
      return false
    }
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { identity, lock } = this.#options
    const held = await lock.read(signal)
    if (held === undefined) {
      this.#observe(await lock.create(this.#claim(undefined), signal))
      return true
    }
    this.#observe(held)
    const isOurs = held.spec.holderIdentity === identity
    if (!isOurs && !this.#isFree(held.spec.holderIdentity)) return false
    this.#observe(await lock.replace(held, this.#claim(held.spec), signal))
    return true
  }

  #isFree(holder: string): boolean {
    if (holder === '') return true
    const nowMs = performance.now()
    const isGone = this.#options.isGone?.(holder) ?? false
    this.#goneSinceMs = isGone ? (this.#goneSinceMs ?? nowMs) : undefined
    const hasSettled = this.#goneSinceMs !== undefined && nowMs - this.#goneSinceMs >= this.#timing.settleMs
    return hasSettled || nowMs - this.#observedMs >= this.#timing.leaseMs
  }

  #observe(held: HeldLease): void {
    if (held.resourceVersion === this.#observed?.resourceVersion) return
    this.#goneSinceMs = undefined
    this.#observed = held
    this.#observedMs = performance.now()
  }

  #claim(current: LeaseSpec | undefined): LeaseSpec {
    const { identity } = this.#options
    const now = formatMicroTime(new Date())
    const isOurs = current?.holderIdentity === identity
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1000),
      acquireTime: isOurs ? current.acquireTime : now,
      renewTime: now,
      leaseTransitions: current === undefined ? 0 : current.leaseTransitions + (isOurs ? 0 : 1),
    }
  }

  /**
   * Starts to lead. The lease duration counts from before the request, because others may have observed the renewal
   * that early.
   */
  #lead(renewedMs: number): void {
    clearTimeout(this.#giveUp)
    const leftMs = this.#timing.renewDeadlineMs - (performance.now() - renewedMs)
    this.#giveUp = setTimeout(() => this.#lose('the lease could not be renewed in time'), leftMs)
    if (this.#isLeader) return
    this.#isLeader = true
    this.#options.log.info('leading', { identity: this.#options.identity })
    this.#options.onStarted()
  }

  #lose(because: string): void {
    if (this.#isLeader) this.#options.log.warn('no longer leading', { because })
    this.#stepDown()
  }

  #stepDown(): void {
    clearTimeout(this.#giveUp)
    if (!this.#isLeader) return
    this.#isLeader = false
    this.#options.onStopped()
  }

  async #release(signal: AbortSignal): Promise<void> {
    const { lock, identity } = this.#options
    const held = await lock.read(signal)
    if (held?.spec.holderIdentity !== identity) return
    await lock.replace(held, { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1 }, signal)
  }
}
