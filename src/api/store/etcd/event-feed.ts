import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../../../loop/backoff.ts'
import type { Logger } from '../../../observe/logger.ts'
import { type EtcdClient, type OpenedWatch, toCallError } from './etcd-client.ts'
import { type EtcdCallError, isRefusal } from './etcd-error.ts'
import type { KeySpace } from './key-space.ts'
import { toNumber, type WatchResponse, type WireEvent } from './messages.ts'

export interface FeedObserver {
  /** Called with all events of one revision, in order of revision, each revision once. */
  onCommit(revision: number, events: readonly WireEvent[]): void
  /** Called when every event up to that revision has been delivered. */
  onProgress(revision: number): void
  /** The history that the feed needs is gone. The feed goes on after the revision that the promise resolves with. */
  onCompacted(): Promise<number>
}

/** A member is left when it does not begin a watch in this time. */
const openTimeoutMs = 3_000

/**
 * Follows all keys of the cluster by one watch of etcd, for as long as the store is open: it goes on after the last
 * delivered revision at the next member when a stream ends.
 */
export class EventFeed {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #observer: FeedObserver
  readonly #log: Logger
  readonly #stopping = new AbortController()
  readonly #backoff = new Backoff({ baseMs: 20, maxMs: 1_000 })
  #revision: number
  #stream: OpenedWatch | undefined
  #lostSinceMs: number | undefined = performance.now()
  #trouble: EtcdCallError | undefined
  #loop: Promise<void> = Promise.resolve()
  #beganMs = 0
  #isCaughtUp = false

  constructor(client: EtcdClient, keys: KeySpace, afterRevision: number, observer: FeedObserver, log: Logger) {
    this.#client = client
    this.#keys = keys
    this.#revision = afterRevision
    this.#observer = observer
    this.#log = log
    client.onLeave((endpoint) => {
      if (this.#stream?.endpoint === endpoint) this.#stream.stream.cancel()
    })
  }

  /** How long no member has followed, and why; undefined while one does. */
  get outage(): { readonly durationMs: number; readonly trouble: EtcdCallError | undefined } | undefined {
    if (this.#lostSinceMs === undefined) return undefined
    return { durationMs: performance.now() - this.#lostSinceMs, trouble: this.#trouble }
  }

  /** When the present watch began. */
  get beganMs(): number {
    return this.#beganMs
  }

  /** Whether the present watch has come to the newest revision of its member. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp
  }

  start(): void {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#stream?.stream.cancel()
    await this.#loop
  }

  /** Leaves the present member: it is known to be behind. */
  suspect(): void {
    const present = this.#stream
    if (present === undefined) return
    if (this.#client.endpoint === present.endpoint) this.#client.leave(present.endpoint)
    else present.stream.cancel()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const end = await this.#openAndFollow()
      if (signal.aborted) return
      this.#lostSinceMs ??= performance.now()
      if (end === 'compacted') {
        this.#revision = await this.#reload()
        continue
      }
      await sleep(this.#backoff.nextDelayMs(), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** Reloads until it succeeds or the feed is stopped. */
  async #reload(): Promise<number> {
    for (;;) {
      try {
        return await this.#observer.onCompacted()
      } catch (error) {
        if (this.#stopping.signal.aborted) return this.#revision
        this.#log.warn('the state could not be read again from etcd; the next attempt follows', { error })
        await sleep(1_000, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {})
      }
    }
  }

  async #openAndFollow(): Promise<'compacted' | 'ended'> {
    try {
      return await this.#follow(await this.#client.openWatch())
    } catch (thrown) {
      this.#trouble = toCallError(this.#client.endpoint, thrown)
      this.#report(this.#client.endpoint, this.#trouble.message)
      return 'ended'
    }
  }

  /** Follows one member until its stream ends. Rejects where etcd refuses this server. */
  async #follow(opened: OpenedWatch): Promise<'compacted' | 'ended'> {
    this.#stream = opened
    if (this.#stopping.signal.aborted) opened.stream.cancel()
    const end = await this.#untilEnd(opened)
    if (end !== 'refused') return end
    await this.#client.doubt(opened.token)
    return 'ended'
  }

  #untilEnd({ endpoint, stream }: OpenedWatch): Promise<'compacted' | 'refused' | 'ended'> {
    let pending: WireEvent[] = []
    return new Promise((resolve) => {
      const late = setTimeout(() => fail(new Error('it did not begin a watch in time')), openTimeoutMs)
      const end = (how: 'compacted' | 'refused' | 'ended') => {
        clearTimeout(late)
        stream.removeAllListeners()
        stream.on('error', () => {})
        stream.cancel()
        resolve(how)
      }
      const fail = (thrown: unknown) => {
        this.#stream = undefined
        this.#trouble = toCallError(endpoint, thrown)
        this.#client.leave(endpoint)
        this.#report(endpoint, this.#trouble.message)
        end(isRefusal(this.#trouble) ? 'refused' : 'ended')
      }
      stream.on('error', fail)
      stream.on('end', () => fail(new Error('the member ended the watch')))
      stream.on('data', (response: WatchResponse) => {
        if (response.canceled) {
          if (toNumber(response.compactRevision) > 0) end('compacted')
          else fail(new Error(response.cancelReason))
          return
        }
        if (response.created) {
          clearTimeout(late)
          this.#begin(endpoint)
          return
        }
        pending.push(...response.events)
        if (response.fragment) return
        const events = pending
        pending = []
        this.#deliver(response, events)
      })
      stream.write({
        createRequest: {
          ...this.#keys.all,
          startRevision: this.#keys.toWireRevision(this.#revision + 1),
          progressNotify: true,
          fragment: true,
        },
      })
    })
  }

  /** Warns of an outage once, however many members are tried meanwhile. */
  #report(endpoint: string, reason: string): void {
    if (this.#stopping.signal.aborted) return
    const isFirst = this.#lostSinceMs === undefined
    const message = 'the watch of etcd ended; it goes on at the next member'
    if (isFirst) this.#log.warn(message, { endpoint, reason })
    else this.#log.debug(message, { endpoint, reason })
  }

  #begin(endpoint: string): void {
    this.#backoff.reset()
    this.#beganMs = performance.now()
    this.#isCaughtUp = false
    this.#lostSinceMs = undefined
    this.#trouble = undefined
    this.#log.debug('etcd is watched', { endpoint, afterRevision: this.#revision })
  }

  #deliver({ header }: WatchResponse, events: readonly WireEvent[]): void {
    const newest = this.#keys.revisionOf(header.revision)
    const last = events.at(-1)
    this.#isCaughtUp ||= last === undefined || this.#keys.revisionOf(last.kv.modRevision) >= newest
    if (last === undefined) {
      this.#revision = Math.max(this.#revision, newest)
      this.#observer.onProgress(this.#revision)
      return
    }
    for (const [revision, ofRevision] of groupByRevision(events, this.#keys)) {
      // A member that restarts behind the others may send what another one has sent.
      if (revision <= this.#revision) continue
      this.#revision = revision
      this.#observer.onCommit(revision, ofRevision)
    }
  }
}

function* groupByRevision(
  events: readonly WireEvent[],
  keys: KeySpace,
): Generator<readonly [number, readonly WireEvent[]]> {
  let group: WireEvent[] = []
  let revision = 0
  for (const event of events) {
    const next = keys.revisionOf(event.kv.modRevision)
    if (next !== revision && group.length > 0) {
      yield [revision, group]
      group = []
    }
    revision = next
    group.push(event)
  }
  if (group.length > 0) yield [revision, group]
}
