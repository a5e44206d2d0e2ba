import { MessageChannel } from 'node:worker_threads'
import { Backoff } from '../../../loop/backoff.ts'
import { describeError } from '../../../model/errors.ts'
import type { Cidr } from '../../../model/ip.ts'
import { type Logger, silentTracer, type Tracer } from '../../../observe/index.ts'
import type { Series } from '../metrics/series.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { ListenFailure } from '../serve/listeners.ts'
import type { ServingSettings } from '../serve/settings.ts'
import type { SharedTable } from '../zone/layout.ts'
import { type AddressFailure, joinFailures } from './listen-failures.ts'
import type { Explanation, ServingAnswers, ServingRequest } from './messages.ts'
import type { ThreadSpans } from './span-outbox.ts'
import { ThreadLink } from './thread-link.ts'

type ServingLink = ThreadLink<ServingRequest, ServingAnswers>

export interface ThreadSettings {
  readonly serving: ServingSettings
  readonly resolvers: readonly ResolvedBlock[]
}

export interface ThreadParts {
  /** How many threads have sockets; at least two, so that one may be busy. */
  readonly servingThreads: number
  /** Receives the addresses on which a thread that was started again cannot listen; `configure` is what tries again. */
  readonly onListenFailures?: ((failures: readonly AddressFailure[]) => void) | undefined
  /** Absent: queries are not traced. */
  readonly tracer?: Tracer | undefined
  readonly log: Logger
}

const threadFile = new URL('./serving-thread.ts', import.meta.url)

/** The heap limit of each thread. What is large is shared or outside the heap. The launcher's flag for young objects holds for threads too. */
const limits = { maxOldGenerationSizeMb: 256 }

/** The serving thread that also has the resolver, for all of them: one cache, one limit and one view of the upstreams' health. */
const resolving = 0

/**
 * Starts and configures the serving threads, which have sockets; the first one also resolves. They answer whatever the main thread does. A thread
 * that ends is started again and gets its whole configuration.
 */
export class DnsThreads {
  readonly #parts: ThreadParts
  readonly #backoff = new Backoff({ baseMs: 100, maxMs: 10_000 })
  readonly #links: (ServingLink | undefined)[] = []
  /** Where each thread cannot listen; undefined where it is not running, or not configured yet. */
  readonly #failures: (readonly ListenFailure[] | undefined)[] = []
  #settings: ThreadSettings | undefined
  /** The sources of `changeSources`: those of a configuration are as old as it is. */
  #sources: readonly Cidr[] | undefined
  #tables: SharedTable[] = []
  #isStopping = false

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** Opens the sockets that are not open, or changes what is served. Returns the addresses on which a thread cannot listen, each once. */
  async configure(settings: ThreadSettings, tables: readonly SharedTable[]): Promise<readonly AddressFailure[]> {
    this.#settings = settings
    this.#tables = [...tables]
    const isStart = this.#links.length === 0
    for (let index = this.#links.length; index < this.#parts.servingThreads; index += 1) this.#start(index)
    await this.#configureResolver()
    if (isStart) await this.#connectAll()
    // The one with the resolver first: it answers what the others hand over.
    await this.#configureServing(resolving)
    await Promise.all(this.#links.map((_, index) => index !== resolving && this.#configureServing(index)))
    return this.#joinedFailures()
  }

  changeTable(index: number, table: SharedTable): void {
    this.#tables[index] = table
    this.#send({ kind: 'table', index, table })
  }

  /** Changes the sources that are answered on addresses with the access `cluster`, now and in all configurations. */
  changeSources(networks: readonly Cidr[]): void {
    this.#sources = networks
    this.#send({ kind: 'sources', networks })
  }

  /** Returns the answer to the query's bytes on that port, and the plugin that gives it. */
  async explain(question: Uint8Array, port: number): Promise<Explanation | undefined> {
    return this.#links.find((link) => link !== undefined)?.ask<'explain'>({ kind: 'explain', question, port })
  }

  /** Returns the counts of all threads. */
  async series(): Promise<readonly Series[]> {
    const results = await Promise.allSettled(this.#links.map((link) => link?.ask<'series'>({ kind: 'series' })))
    return results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const links = this.#links.filter((link) => link !== undefined)
    await Promise.allSettled(links.map((link) => link.ask<'close'>({ kind: 'close' })))
    await Promise.all(links.map((link) => link.end()))
    this.#links.length = 0
  }

  #send(request: ServingRequest): void {
    for (const link of this.#links) link?.ask(request).catch((error) => this.#logFailure(error))
  }

  #logFailure(error: unknown): void {
    if (!this.#isStopping) this.#parts.log.warn('a DNS thread did not apply a change', { error: describeError(error) })
  }

  #start(index: number): void {
    const { tracer = silentTracer, log } = this.#parts
    const onSpans = ({ spans, dropped }: ThreadSpans) => {
      for (const span of spans) tracer.add(span)
      tracer.drop(dropped)
    }
    const onEnd = (error: Error) => {
      this.#links[index] = undefined
      this.#failures[index] = undefined
      this.#restartLater(error, () => this.#restart(index))
    }
    const link: ServingLink = new ThreadLink(threadFile, {
      name: `dns-${index}`,
      limits,
      log,
      onSpans,
      onEnd,
    })
    this.#links[index] = link
    if (index !== resolving || !tracer.isOn) return
    const traced = link.ask<'trace'>({ kind: 'trace', sampling: tracer.sampling })
    traced.catch((error) => this.#logFailure(error))
  }

  async #restart(index: number): Promise<void> {
    if (this.#isStopping) return
    this.#start(index)
    if (index === resolving) {
      await this.#configureResolver()
      await this.#connectAll()
    } else await this.#connect(index)
    await this.#configureServing(index)
    const failures = this.#joinedFailures()
    if (failures.length > 0) this.#parts.onListenFailures?.(failures)
  }

  async #configureResolver(): Promise<void> {
    const blocks = this.#settings?.resolvers ?? []
    await this.#links[resolving]?.ask<'resolve'>({ kind: 'resolve', blocks })
  }

  async #connectAll(): Promise<void> {
    await Promise.all(this.#links.map((_, index) => this.#connect(index)))
  }

  /** Connects a serving thread to the one with the resolver. */
  async #connect(index: number): Promise<void> {
    const [link, resolver] = [this.#links[index], this.#links[resolving]]
    if (index === resolving || link === undefined || resolver === undefined) return
    const { port1, port2 } = new MessageChannel()
    await Promise.all([
      resolver.ask<'resolve for'>({ kind: 'resolve for', port: port1 }, [port1]),
      link.ask<'resolve by'>({ kind: 'resolve by', port: port2 }, [port2]),
    ])
  }

  async #configureServing(index: number): Promise<void> {
    const link = this.#links[index]
    if (link === undefined || this.#settings === undefined) return
    const { serving } = this.#settings
    const settings = { ...serving, clusterSources: this.#sources ?? serving.clusterSources }
    const failures = await link.ask<'configure'>({ kind: 'configure', settings, tables: this.#tables })
    if (this.#links[index] === link) this.#failures[index] = failures
  }

  #joinedFailures(): readonly AddressFailure[] {
    return joinFailures(this.#failures.filter((failures) => failures !== undefined))
  }

  #restartLater(error: Error, start: () => Promise<void>): void {
    if (this.#isStopping) return
    const delayMs = Math.round(this.#backoff.nextDelayMs())
    this.#parts.log.error('a DNS thread ended; it is started again', { error: describeError(error), delayMs })
    setTimeout(() => void start().catch((failure) => this.#logFailure(failure)), delayMs).unref()
  }
}
