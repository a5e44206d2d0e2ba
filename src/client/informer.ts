import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../loop/backoff.ts'
import type { Component, Health, HealthLevel } from '../loop/component.ts'
import { orAborted } from '../loop/deadline.ts'
import { TimeSlice } from '../loop/time-slice.ts'
import { describeError } from '../model/errors.ts'
import { compareResourceVersions } from '../model/resource-version.ts'
import {
  type Logger,
  parseTraceparent,
  type Span,
  silentSpan,
  silentTracer,
  type TraceContext,
  type Tracer,
} from '../observe/index.ts'
import type { ApiClient, FollowedCollection } from './api-client.ts'
import { ApiError, errorFromStatus } from './errors.ts'
import { isRefused, losesHistory, retryAfterMs } from './faults.ts'
import type { ObjectIdentity } from './identity-scanner.ts'
import { LeftOutObjects } from './left-out-objects.ts'
import { type Content, listPages, readNewestVersion } from './list-pages.ts'
import { type Collection, describeRef } from './resource-path.ts'
import {
  bookmarkVersion,
  type LeftOutEvent,
  randomTimeoutSeconds,
  type WatchEvent,
  watchCollection,
} from './watch-stream.ts'
import { parseWireObject, type WireObject } from './wire-object.ts'

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Receives the objects of an informer. Calls are sequential; the next waits for a promise that `onReplace` returns. */
export interface InformerHandler {
  /**
   * Receives the whole collection at that resourceVersion: every other object is gone, except those of `leftOut`, which exist and cannot
   * be read, so that the handler keeps what it knows of them.
   */
  onReplace(
    items: readonly WireObject[],
    resourceVersion: string,
    leftOut: readonly ObjectIdentity[],
  ): void | Promise<void>
  /** Receives a change, with its place in a trace that is exported. A DELETED object may consist of its identity alone. */
  onEvent(type: ChangeType, object: WireObject, resourceVersion: string, trace?: TraceContext): void
  /** Reports a change of an object that exists and cannot be read. */
  onLeftOut?(identity: ObjectIdentity): void
  /** Reports that no object of the collection changed up to that resourceVersion. */
  onProgress(resourceVersion: string): void
  /** Reports that the server has an older state than what was handed over: versions of objects that are known may come with other content. */
  onRestored?(): void
  /** The collection could not be listed or followed; the informer tries again by itself. */
  onFailure?(error: unknown): void
}

export interface InformerTiming {
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  /** The longest wait while no server listens at the address: a refused connection costs nothing, and a restarted server is found soon. */
  readonly refusedMaxMs: number
  /**
   * Silence that ends a watch. Servers send a bookmark about once a minute, so 90 s without a byte is a dead connection or a
   * server with nothing to say. Either way a new watch from the last resourceVersion loses nothing. It costs two requests, as the
   * newest resourceVersion is asked for first: the server may be a machine that was set back to a snapshot, which closes no connection.
   */
  readonly idleTimeoutMs: number
  /** A watch shorter than this, without an event, counts as a failure. */
  readonly quickWatchMs: number
}

const defaultTiming: InformerTiming = {
  backoffBaseMs: 200,
  backoffMaxMs: 10_000,
  refusedMaxMs: 1_000,
  idleTimeoutMs: 90_000,
  quickWatchMs: 1_000,
}

export interface InformerOptions {
  readonly client: ApiClient
  readonly collection: Collection
  /** Only those objects of the collection: `spec.nodeName=node-1`. */
  readonly fieldSelector?: string
  /** Absent: whole objects. */
  readonly content?: Content
  /** Replaces each object of a list as soon as it is parsed by what the handler needs of it, identity included; changes come whole. */
  readonly reduce?: (json: unknown) => unknown
  readonly handler: InformerHandler
  readonly log: Logger
  /** Absent: changes are not traced. */
  readonly tracer?: Tracer | undefined
  readonly timing?: Partial<InformerTiming>
}

/** Keeps a handler up to date with one collection: lists, watches, resumes after a broken connection, lists again when the history is gone. */
export class Informer implements Component, FollowedCollection {
  readonly name: string
  readonly #options: InformerOptions
  readonly #timing: InformerTiming
  readonly #backoff: Backoff
  readonly #refusals: Backoff
  readonly #stopping = new AbortController()
  readonly #leftOut: LeftOutObjects
  readonly #synced = Promise.withResolvers<void>()
  #running: Promise<void> | undefined
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: Date.now() }
  /** When the server was last heard, on the clock of `performance`. */
  #heardMs = performance.now()
  #isFollowed = false
  /** Undefined when the next step must be a list. */
  #resourceVersion: string | undefined
  /** The last one that was known, until the next list has come. */
  #lostVersion: string | undefined
  /** Whether the server was lost since it was last heard: it may come back with the state of a backup. */
  #wasLost = false

  constructor(options: InformerOptions) {
    this.name = `informer-${options.collection.resource.resource}`.slice(0, 30)
    this.#options = options
    this.#leftOut = new LeftOutObjects(describeRef(options.collection), options.log)
    this.#timing = { ...defaultTiming, ...options.timing }
    const { backoffBaseMs: baseMs, backoffMaxMs, refusedMaxMs } = this.#timing
    this.#backoff = new Backoff({ baseMs, maxMs: backoffMaxMs })
    this.#refusals = new Backoff({ baseMs, maxMs: refusedMaxMs })
  }

  /** Resolves when the first list has been handed over; keeps trying until the signal aborts. */
  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#options.client.report(this)
    this.#running ??= this.#run()
    try {
      await orAborted(this.#synced.promise, signal)
    } catch (cause) {
      await this.#end()
      throw new ApiError('timeout', `${this.what} could not be listed in time: ${this.#health.message}`, { cause })
    }
  }

  async stop(): Promise<void> {
    await this.#end()
    this.#setHealth('stopped', 'stopped')
  }

  health(): Health {
    return this.#health
  }

  get what(): string {
    return describeRef(this.#options.collection)
  }

  get leftOutCount(): number {
    return this.#leftOut.size
  }

  get staleMs(): number {
    return this.#isFollowed ? 0 : performance.now() - this.#heardMs
  }

  async #end(): Promise<void> {
    this.#stopping.abort()
    this.#options.client.forget(this)
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#step(signal)
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, signal)
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const resourceVersion = this.#resourceVersion
    if (resourceVersion === undefined) await this.#list(signal)
    else if (this.#wasLost) await this.#compare(resourceVersion, signal)
    else await this.#watch(resourceVersion, signal)
  }

  /**
   * Lists again where the newest state of the server is older than what is known here: it was restored from a backup. kube-apiserver keeps a
   * watch from a resourceVersion of the future open and says nothing until it gets there, and what the backup undid would stay.
   */
  async #compare(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, collection, fieldSelector } = this.#options
    const newest = await readNewestVersion(client, collection, { fieldSelector, signal })
    this.#wasLost = false
    if (compareResourceVersions(newest, resourceVersion) >= 0) return
    this.#forgetHistory()
    const fields = { resource: this.what, known: resourceVersion, newest }
    this.#options.log.warn('the API server has an older state than before: listing again', fields)
  }

  #forgetHistory(): void {
    this.#lostVersion = this.#resourceVersion ?? this.#lostVersion
    this.#resourceVersion = undefined
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, collection, fieldSelector, content, reduce, handler } = this.#options
    const list = await listPages(client, collection, { fieldSelector, content, reduce, signal })
    const items = await this.#checkItems(list.items)
    signal.throwIfAborted()
    const lost = this.#lostVersion
    this.#lostVersion = undefined
    const { resourceVersion, leftOut } = list
    // The handler may have taken objects of this list for those it knows: it reads all of the next one.
    if (lost !== undefined && compareResourceVersions(resourceVersion, lost) < 0 && handler.onRestored)
      return handler.onRestored()
    this.#leftOut.replace(leftOut)
    const identities = leftOut.map(({ identity }) => identity)
    await handler.onReplace(items, resourceVersion, identities)
    this.#resourceVersion = resourceVersion
    this.#wasLost = false
    this.#options.log.debug('listed', { resource: this.what, items: items.length, resourceVersion })
    this.#setInStep()
    this.#synced.resolve()
  }

  async #checkItems(items: readonly unknown[]): Promise<WireObject[]> {
    const sound: WireObject[] = []
    const slice = new TimeSlice()
    for (const item of items) {
      const object = this.#checkObject(item)
      if (object !== undefined) sound.push(object)
      if (slice.spent) await slice.pause()
    }
    return sound
  }

  #checkObject(json: unknown): WireObject | undefined {
    const parsed = parseWireObject(json)
    if (parsed.kind === 'sound') return parsed.object
    this.#options.log.warn('an object without a usable identity was skipped', {
      resource: this.what,
      fault: parsed.fault,
    })
    return undefined
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, collection, fieldSelector, content, tracer } = this.#options
    const startedMs = performance.now()
    let events = 0
    let quiet: NodeJS.Timeout | undefined
    const options = {
      resourceVersion,
      timeoutSeconds: randomTimeoutSeconds(),
      idleTimeoutMs: this.#timing.idleTimeoutMs,
      fieldSelector,
      content,
      sendTraceparents: tracer?.isOn,
      onOpen: () => {
        // A history that is gone is reported at once, as the first event.
        quiet = setTimeout(() => this.#setInStep(), this.#timing.quickWatchMs)
      },
      signal,
    }
    try {
      await watchCollection(client, collection, options, (event) => {
        events += 1
        this.#take(event)
      })
    } catch (error) {
      const idle = error instanceof ApiError && error.code === 'timeout' && error.status === undefined
      if (!idle || !this.#lasted(startedMs)) throw error
      // Healthy, unless the server does not answer the next request.
      this.#isFollowed = false
      this.#wasLost = true
      this.#options.log.debug('the watch was silent for too long and is opened again', { resource: this.what })
    } finally {
      clearTimeout(quiet)
      if (this.#lasted(startedMs)) this.#resetBackoffs()
    }
    if (events === 0 && !this.#lasted(startedMs))
      throw new ApiError('unavailable', `the watch of ${this.what} ended at once`)
  }

  #resetBackoffs(): void {
    this.#backoff.reset()
    this.#refusals.reset()
  }

  #lasted(startedMs: number): boolean {
    return performance.now() - startedMs >= this.#timing.quickWatchMs
  }

  #take(event: WatchEvent | LeftOutEvent): void {
    if (event.type === 'ERROR') throw errorFromStatus(`the watch of ${this.what}`, event.object, { status: 500 })
    if (event.type === 'BOOKMARK') this.#takeBookmark(event)
    else if (event.type === 'LEFT_OUT') this.#takeLeftOut(event)
    else this.#takeChange({ ...event, type: event.type })
    this.#resetBackoffs()
    this.#setInStep()
  }

  /** Leaves out one object: the handler keeps what it knows of it unless the object is deleted, and the watch continues. */
  #takeLeftOut({ change, identity, fault }: LeftOutEvent): void {
    const { handler } = this.#options
    const { resourceVersion } = identity
    if (change === 'DELETED') {
      this.#leftOut.forget(identity)
      this.#handOver('DELETED', { metadata: identity }, silentSpan)
    } else {
      this.#leftOut.add({ identity, fault })
      handler.onLeftOut?.(identity)
      handler.onProgress(resourceVersion)
    }
    this.#resourceVersion = resourceVersion
  }

  #takeBookmark(event: WatchEvent): void {
    const resourceVersion = bookmarkVersion(event)
    if (resourceVersion === undefined) return
    this.#resourceVersion = resourceVersion
    this.#options.handler.onProgress(resourceVersion)
  }

  #takeChange({ type, object: json, traceparent }: WatchEvent & { readonly type: ChangeType }): void {
    const object = this.#checkObject(json)
    if (object === undefined) return
    this.#leftOut.forget(object.metadata)
    this.#handOver(type, object, this.#startSpan(type, object, traceparent))
    this.#resourceVersion = object.metadata.resourceVersion
  }

  /** Passes one change to the handler; a handler that fails for one object still gets the next. */
  #handOver(type: ChangeType, object: WireObject, span: Span): void {
    const { metadata } = object
    try {
      this.#options.handler.onEvent(type, object, metadata.resourceVersion, span.isRecorded ? span.context : undefined)
      span.end()
    } catch (error) {
      this.#leftOut.add({ identity: metadata, fault: `it could not be taken: ${describeError(error)}` })
      span.end({ error: describeError(error) })
    }
  }

  /** A change has a span only in the trace of the request that made it. */
  #startSpan(type: ChangeType, { metadata }: WireObject, traceparent: string | undefined): Span {
    const { tracer = silentTracer, collection } = this.#options
    const parent = tracer.isOn ? parseTraceparent(traceparent) : undefined
    if (parent === undefined) return silentSpan
    const { resource } = collection.resource
    return tracer.start(`watch ${resource}`, {
      kind: 'consumer',
      parent,
      attributes: {
        'platnet.event': type,
        'platnet.resource': resource,
        'platnet.namespace': metadata.namespace,
        'platnet.name': metadata.name,
        'platnet.revision': metadata.resourceVersion,
      },
    })
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#options.handler.onFailure?.(error)
    this.#isFollowed = false
    this.#wasLost = true
    const historyIsGone = losesHistory(error)
    if (historyIsGone) this.#forgetHistory()
    const backoff = isRefused(error) ? this.#refusals : this.#backoff
    const delayMs = Math.max(backoff.nextDelayMs(), retryAfterMs(error))
    const fields = {
      resource: this.what,
      error: describeError(error),
      delayMs: Math.round(delayMs),
      relist: historyIsGone,
    }
    if (error instanceof ApiError && error.code === 'expired')
      this.#options.log.info('the history is gone: listing again', fields)
    else {
      this.#options.log.warn('the API server could not be followed; trying again', fields)
      this.#setHealth('degraded', describeError(error))
    }
    await sleep(delayMs, undefined, { signal }).catch(() => {})
  }

  #setInStep(): void {
    this.#heardMs = performance.now()
    this.#isFollowed = true
    this.#setHealth('ok', this.#leftOut.size === 0 ? 'in step' : `in step, ${this.#leftOut.describe()}`)
  }

  /** `sinceMs` stays while the level does. */
  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}
