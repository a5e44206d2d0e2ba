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
import type { Explanation, ResolverAnswers, ResolverRequest, ServingAnswers, ServingRequest } from './messages.ts'
import type { ThreadSpans } from './span-outbox.ts'
import { ThreadLink } from './thread-link.ts'

type ServingLink = ThreadLink<ServingRequest, ServingAnswers>
type ResolverLink = ThreadLink<ResolverRequest, ResolverAnswers>

export interface ThreadSettings {
  readonly serving: ServingSettings
  readonly resolvers: readonly ResolvedBlock[]
}

export interface ThreadParts {
  /** How many threads have sockets; at least two, so that one may be busy. */
  readonly servingThreads: number
  /** Absent: queries are not traced. */
  readonly tracer?: Tracer | undefined
  readonly log: Logger
}

const files = {
  serving: new URL('./serving-thread.ts', import.meta.url),
  resolver: new URL('./resolver-thread.ts', import.meta.url),
}

/** The heap limit of each thread. What is large is shared or outside the heap. The launcher's flag for young objects holds for threads too. */
const limits = { maxOldGenerationSizeMb: 256 }

/**
 * Starts and configures the threads that answer: serving threads with sockets, and one resolver thread for all of them. They answer whatever the
 * main thread does. A thread that ends is started again and gets its whole configuration.
 */
export class DnsThreads {
  readonly #parts: ThreadParts
  readonly #backoff = new Backoff({ baseMs: 100, maxMs: 10_000 })
  #serving: (ServingLink | undefined)[] = []
  #resolver: ResolverLink | undefined
  #settings: ThreadSettings | undefined
  #tables: SharedTable[] = []
  #isStopping = false

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** Opens the sockets, or changes what is served. Returns the addresses on which the threads cannot listen, each once. */
  async configure(settings: ThreadSettings, tables: readonly SharedTable[]): Promise<readonly ListenFailure[]> {
    this.#settings = settings
    this.#tables = [...tables]
    if (this.#resolver === undefined) this.#startResolver()
    await this.#resolver?.ask<'configure'>({ kind: 'configure', blocks: settings.resolvers })
    for (let index = this.#serving.length; index < this.#parts.servingThreads; index += 1) this.#startServing(index)
    const failures = await Promise.all(this.#serving.map((link) => this.#configureServing(link)))
    return failures[0] ?? []
  }

  changeTable(index: number, table: SharedTable): void {
    this.#tables[index] = table
    this.#send({ kind: 'table', index, table })
  }

  changeSources(networks: readonly Cidr[]): void {
    if (this.#settings === undefined) return
    this.#settings = { ...this.#settings, serving: { ...this.#settings.serving, clusterSources: networks } }
    this.#send({ kind: 'sources', networks })
  }

  /** Returns the answer to the query's bytes on that port, and the plugin that gives it. */
  async explain(question: Uint8Array, port: number): Promise<Explanation | undefined> {
    return this.#serving.find((link) => link !== undefined)?.ask<'explain'>({ kind: 'explain', question, port })
  }

  /** Returns the counts of all threads. */
  async series(): Promise<readonly Series[]> {
    const resolver = this.#resolver?.ask<'series'>({ kind: 'series' })
    const serving = this.#serving.map((link) => link?.ask<'series'>({ kind: 'series' }))
    const results = await Promise.allSettled([resolver, ...serving])
    return results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const links = [...this.#serving, this.#resolver].filter((link) => link !== undefined)
    await Promise.allSettled(this.#serving.map((link) => link?.ask<'close'>({ kind: 'close' })))
    await Promise.allSettled([this.#resolver?.ask<'close'>({ kind: 'close' })])
    await Promise.all(links.map((link) => link.end()))
    this.#serving = []
    this.#resolver = undefined
  }

  #send(request: Exclude<ServingRequest, { readonly kind: 'resolver' }>): void {
    for (const link of this.#serving) link?.ask(request).catch((error) => this.#logFailure(error))
  }

  #logFailure(error: unknown): void {
    if (!this.#isStopping) this.#parts.log.warn('a DNS thread did not apply a change', { error: describeError(error) })
  }

  #startResolver(): void {
    const onEnd = (error: Error) => this.#restartLater(error, () => this.#restartResolver())
    const name = 'dns-resolver'
    const { tracer = silentTracer, log } = this.#parts
    const onSpans = ({ spans, dropped }: ThreadSpans) => {
      for (const span of spans) tracer.add(span)
      tracer.drop(dropped)
    }
    this.#resolver = new ThreadLink(files.resolver, { name, limits, log: log.child('resolver'), onSpans, onEnd })
    if (!tracer.isOn) return
    const traced = this.#resolver.ask<'trace'>({ kind: 'trace', sampling: tracer.sampling })
    traced.catch((error) => this.#logFailure(error))
  }

  async #restartResolver(): Promise<void> {
    this.#startResolver()
    await this.#resolver?.ask<'configure'>({ kind: 'configure', blocks: this.#settings?.resolvers ?? [] })
    await Promise.all(this.#serving.map((link) => link && this.#connect(link)))
  }

  #startServing(index: number): void {
    const onEnd = (error: Error) => {
      this.#serving[index] = undefined
      this.#restartLater(error, async () => {
        this.#startServing(index)
        await this.#configureServing(this.#serving[index])
      })
    }
    const name = `dns-${index}`
    const link: ServingLink = new ThreadLink(files.serving, {
      name,
      limits,
      log: this.#parts.log.child('serve'),
      onEnd,
    })
    this.#serving[index] = link
    this.#connect(link).catch((error) => this.#logFailure(error))
  }

  async #connect(link: ServingLink): Promise<void> {
    const { port1, port2 } = new MessageChannel()
    await Promise.all([
      this.#resolver?.ask<'connect'>({ kind: 'connect', port: port1 }, [port1]),
      link.ask<'resolver'>({ kind: 'resolver', port: port2 }, [port2]),
    ])
  }

  async #configureServing(link: ServingLink | undefined): Promise<readonly ListenFailure[]> {
    if (link === undefined || this.#settings === undefined) return []
    return link.ask<'configure'>({ kind: 'configure', settings: this.#settings.serving, tables: this.#tables })
  }

  #restartLater(error: Error, start: () => Promise<void>): void {
    if (this.#isStopping) return
    const delayMs = Math.round(this.#backoff.nextDelayMs())
    this.#parts.log.error('a DNS thread ended; it is started again', { error: describeError(error), delayMs })
    setTimeout(() => void start().catch((failure) => this.#logFailure(failure)), delayMs).unref()
  }
}
