import { type ApiClient, type Collection, Informer, type InformerTiming } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { type ObjectKey, splitObjectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { formatProblem, type Parsed } from '../state/index.ts'
import { CollectionFeed, type CollectionFeedParts } from './collection-feed.ts'
import { type IngressObjects, readRecord } from './ingress-objects.ts'
import { isRefused } from './is-refused.ts'
import { readIngress } from './read-ingress.ts'
import { readIngressClass } from './read-ingress-class.ts'
import { readTlsSecret } from './read-tls-secret.ts'
import { SharedSecrets } from './shared-secrets.ts'

export interface IngressWatchesParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly objects: IngressObjects
  readonly log: Logger
  readonly timing?: Partial<InformerTiming>
  /** Secrets that have a watch of their own each; 50 by default. */
  readonly ownWatches?: number
  /** See `SharedSecrets`. */
  readonly pollMs?: number
}

const secretsResource = { group: '', version: 'v1', resource: 'secrets' }
/** Each watch is a connection. */
const defaultOwnWatches = 50

/**
 * Follows Ingresses, IngressClasses and the Secrets that are asked for, the first 50 of them each by its name: no other Secret is kept. It never waits
 * for the server.
 */
export class IngressWatches implements Component {
  readonly name = 'ingress-watches'
  readonly #parts: IngressWatchesParts
  readonly #informers = new Map<string, Informer>()
  readonly #secrets = new Map<ObjectKey, Informer>()
  readonly #shared: SharedSecrets
  readonly #stopping = new AbortController()

  constructor(parts: IngressWatchesParts) {
    this.#parts = parts
    const { client, objects, log, pollMs } = parts
    this.#shared = new SharedSecrets({
      client,
      open: (feed, selector) => this.#open({ resource: secretsResource }, feed, selector),
      store: (secrets) => objects.add({ secrets }),
      log,
      ...(pollMs !== undefined && { pollMs }),
    })
  }

  async start(): Promise<void> {
    this.#followIngresses()
    this.#followClasses()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    const own = [...this.#informers.values(), ...this.#secrets.values()]
    await Promise.all([this.#shared.stop(scope), ...own.map((informer) => informer.stop())])
  }

  /** Follows these Secrets and no other one from now on. */
  followSecrets(wanted: ReadonlySet<ObjectKey>): void {
    if (this.#stopping.signal.aborted) return
    for (const [key, informer] of this.#secrets) {
      if (wanted.has(key)) continue
      this.#secrets.delete(key)
      void informer.stop()
    }
    const { ownWatches = defaultOwnWatches } = this.#parts
    for (const key of wanted) {
      if (this.#secrets.size >= ownWatches) break
      if (!this.#secrets.has(key)) this.#secrets.set(key, this.#followSecret(key))
    }
    this.#shared.follow(new Set([...wanted].filter((key) => !this.#secrets.has(key))))
  }

  health(): Health {
    const all = [...this.#informers, ...this.#secrets]
    const reports = all.map(([name, informer]) => ({ name, health: informer.health() }))
    const worst = reports.find(({ health }) => health.level !== 'ok')
    if (worst) return { ...worst.health, message: `${worst.name}: ${worst.health.message}` }
    const message = `followed: ${[...this.#informers.keys()].join(', ')} and ${this.#secretCount} Secrets`
    return { level: 'ok', message, sinceMs: 0 }
  }

  get #secretCount(): number {
    return this.#secrets.size + this.#shared.size
  }

  #followIngresses(): void {
    const { dialect, objects } = this.#parts
    const feed = {
      read: (object: unknown) => this.#report(readIngress(object, dialect)),
      store: (ingresses: ReadonlyMap<ObjectKey, ReturnType<typeof readIngress> | undefined>) => {
        for (const [key, value] of ingresses) if (value === undefined) objects.setRecord(key, undefined)
        objects.add({ ingresses })
      },
      onListed: () => objects.listed('ingresses'),
      onFailure: (error: unknown) => this.#onFailure('ingresses', error),
    }
    this.#follow('ingresses', { ...feed, read: (object) => this.#readIngress(object, feed.read) })
  }

  #readIngress<Value>(object: Parameters<typeof readRecord>[0], read: (object: unknown) => Value): Value {
    const { namespace = '', name } = object.metadata
    this.#parts.objects.setRecord(`${namespace}/${name}`, readRecord(object))
    return read(object)
  }

  #followClasses(): void {
    const { objects } = this.#parts
    this.#follow('ingressclasses', {
      read: (object) => this.#report(readIngressClass(object)).value,
      store: (classes) => objects.add({ classes }),
      onListed: () => objects.listed('classes'),
      onFailure: (error) => this.#onFailure('classes', error),
    })
  }

  /** A Secret that the server does not have or does not hand out is none. */
  #followSecret(key: ObjectKey): Informer {
    const { objects } = this.#parts
    const { namespace, name } = splitObjectKey(key)
    let isFound = false
    const none = () => {
      if (!isFound) objects.add({ secrets: new Map([[key, undefined]]) })
    }
    const collection = { resource: secretsResource, namespace }
    const feed = {
      read: readTlsSecret,
      store: (secrets: ReadonlyMap<ObjectKey, ReturnType<typeof readTlsSecret> | undefined>) => {
        isFound = secrets.size > 0 ? secrets.get(key) !== undefined : isFound
        objects.add({ secrets })
      },
      onListed: none,
      onFailure: (error: unknown) => {
        if (isRefused(error)) none()
      },
    }
    return this.#open(collection, feed, `metadata.name=${name}`)
  }

  #follow<Value>(resource: string, feed: CollectionFeedParts<Value>): void {
    const group = this.#parts.dialect.groups.networking
    this.#informers.set(resource, this.#open({ resource: { group, version: 'v1', resource } }, feed))
  }

  #open<Value>(collection: Collection, feed: CollectionFeedParts<Value>, fieldSelector?: string): Informer {
    const { client, log, timing } = this.#parts
    const informer = new Informer({
      client,
      collection,
      handler: new CollectionFeed(feed),
      log: log.child(collection.resource.resource),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(timing !== undefined && { timing }),
    })
    informer.start({ signal: this.#stopping.signal }).catch(() => {})
    return informer
  }

  #onFailure(part: 'ingresses' | 'classes', error: unknown): void {
    if (isRefused(error)) this.#parts.objects.denied(part, describeError(error))
  }

  #report<Value>(parsed: Parsed<Value>): Parsed<Value> {
    for (const problem of parsed.problems) this.#parts.log.debug(formatProblem(problem), {})
    return parsed
  }
}
