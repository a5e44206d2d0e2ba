import { type ApiClient, type Informer, listPages, parseWireObject, type WireObject } from '../../client/index.ts'
import { Periodic } from '../../loop/periodic.ts'
import { type ObjectKey, objectKey, splitObjectKey } from '../../model/api-object.ts'
import type { Logger } from '../../observe/index.ts'
import type { CollectionFeedParts } from './collection-feed.ts'
import { isRefused } from './is-refused.ts'
import type { FoundSecret } from './plan-certificates.ts'
import { readTlsSecret } from './read-tls-secret.ts'

export interface SharedSecretsParts {
  readonly client: ApiClient
  /** Opens an informer of the Secrets of all namespaces. */
  readonly open: (feed: CollectionFeedParts<FoundSecret>, fieldSelector: string) => Informer
  readonly store: (secrets: ReadonlyMap<ObjectKey, FoundSecret>) => void
  readonly log: Logger
  /** Least time between two reads of a Secret that the watch does not bring; 1 min by default. */
  readonly pollMs?: number
}

const defaultPollMs = 60_000
/** Each Secret that is read by its name makes the time between two reads so much longer. */
const pollMsPerSecret = 100
const readsAtOnce = 8

/**
 * Follows many Secrets by one watch of those of type `kubernetes.io/tls`. Those that it does not bring (another type, or the server refuses it) are read
 * by their names from time to time. No Secret that is not wanted is kept.
 */
export class SharedSecrets {
  readonly #parts: SharedSecretsParts
  readonly #polling: Periodic
  /** Keys are Secrets that were read, values their versions; an empty one for a Secret that there is not. */
  readonly #versions = new Map<ObjectKey, string>()
  readonly #watched = new Set<ObjectKey>()
  #wanted: ReadonlySet<ObjectKey> = new Set()
  #informer: Informer | undefined
  /** The server has listed Secrets, or refused to. */
  #isSettled = false
  #polledMs = Number.NEGATIVE_INFINITY

  constructor(parts: SharedSecretsParts) {
    this.#parts = parts
    this.#polling = new Periodic(({ signal }) => this.#poll(signal), {
      intervalMs: parts.pollMs ?? defaultPollMs,
      onError: (error) => parts.log.warn('Secrets could not be read by their names; tried again', { error }),
    })
  }

  /** Number of Secrets that are followed. */
  get size(): number {
    return this.#wanted.size
  }

  /** Follows these Secrets and no other one from now on. */
  follow(wanted: ReadonlySet<ObjectKey>): void {
    this.#wanted = wanted
    for (const key of this.#versions.keys()) if (!wanted.has(key)) this.#versions.delete(key)
    if (wanted.size === 0) return
    if (this.#informer === undefined) {
      this.#informer = this.#parts.open(this.#feed(), 'type=kubernetes.io/tls')
      this.#polling.start()
    }
    if (wanted.values().some((key) => !this.#versions.has(key))) this.#polling.runSoon()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await Promise.all([this.#informer?.stop(), this.#polling.stop(scope)])
  }

  #feed(): CollectionFeedParts<FoundSecret> {
    return {
      read: (object) => this.#read(object),
      store: (secrets) => this.#take(secrets),
      onListed: () => this.#settle(),
      onFailure: (error) => {
        if (isRefused(error)) this.#settle()
      },
    }
  }

  #settle(): void {
    this.#isSettled = true
    this.#polling.runSoon()
  }

  #read(object: WireObject): FoundSecret {
    const { namespace = '', name, resourceVersion } = object.metadata
    const key = objectKey(namespace, name)
    this.#watched.add(key)
    if (!this.#wanted.has(key)) return undefined
    this.#versions.set(key, resourceVersion)
    return readTlsSecret(object)
  }

  #take(secrets: ReadonlyMap<ObjectKey, FoundSecret>): void {
    const wanted = new Map([...secrets].filter(([key]) => this.#wanted.has(key)))
    for (const [key, value] of wanted) if (value === undefined) this.#watched.delete(key)
    if (wanted.size > 0) this.#parts.store(wanted)
  }

  /** Reads what was never read, and, when it is time, also what the watch does not bring. */
  async #poll(signal: AbortSignal): Promise<void> {
    if (!this.#isSettled) return
    const unwatched = [...this.#wanted].filter((key) => !this.#watched.has(key) || !this.#versions.has(key))
    const { pollMs = defaultPollMs } = this.#parts
    const isDue = performance.now() - this.#polledMs >= Math.max(pollMs, unwatched.length * pollMsPerSecret)
    if (isDue) this.#polledMs = performance.now()
    const due = isDue ? unwatched : unwatched.filter((key) => !this.#versions.has(key))
    for (let at = 0; at < due.length && !signal.aborted; at += readsAtOnce)
      await Promise.all(due.slice(at, at + readsAtOnce).map((key) => this.#readByName(key, signal)))
  }

  async #readByName(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const object = await this.#find(key, signal)
    const version = object?.metadata.resourceVersion ?? ''
    if (!this.#wanted.has(key) || this.#versions.get(key) === version) return
    this.#versions.set(key, version)
    this.#parts.store(new Map([[key, object && readTlsSecret(object)]]))
  }

  /** A Secret that the server does not hand out is none. */
  async #find(key: ObjectKey, signal: AbortSignal): Promise<WireObject | undefined> {
    const { namespace, name } = splitObjectKey(key)
    const collection = { resource: { group: '', version: 'v1', resource: 'secrets' }, namespace }
    try {
      const { items } = await listPages(this.#parts.client, collection, {
        fieldSelector: `metadata.name=${name}`,
        signal,
      })
      const parsed = items[0] === undefined ? undefined : parseWireObject(items[0])
      return parsed?.kind === 'sound' ? parsed.object : undefined
    } catch (error) {
      if (isRefused(error)) return undefined
      throw error
    }
  }
}
