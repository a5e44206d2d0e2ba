import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, ApiError, detectDialect } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'

/** Creates informers for the server's dialect. Those of one group start together, after the group before has started. */
export type CreateSources = (dialect: Dialect) => readonly (readonly Component[])[]

export interface ConnectionParts {
  readonly client: ApiClient
  /** Absent: what `follow` says. */
  readonly createSources?: CreateSources
  /** Creates the informers that list as soon as the server answers, also before `start`; they hand nothing over before `opened`. */
  readonly createEarly?: (dialect: Dialect, opened: Promise<void>) => readonly Component[]
  readonly log: Logger
}

/**
 * Connects to the API server: detects its dialect, with retries until it answers, then keeps the informers running. `begin` and `start` do not
 * wait for the server, so that a node without its API server starts, keeps its rules and reports why it is not ready.
 */
export class ClusterConnection implements Component {
  readonly name = 'cluster'
  readonly #parts: ConnectionParts
  readonly #stopping = new AbortController()
  readonly #opened = Promise.withResolvers<CreateSources>()
  #connecting: Promise<void> | undefined
  #createSources: CreateSources
  #early: readonly Component[] = []
  #sources: readonly Component[] = []
  #trouble: Health = { level: 'unknown', message: 'not connected yet', sinceMs: 0 }

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.#createSources = parts.createSources ?? (() => [])
    // The connection may stop before anything waits for this: while the server has not answered.
    this.#opened.promise.catch(() => {})
  }

  /** Starts the early lists. Composing the agent, which mostly waits for programs, goes on meanwhile. */
  begin(): void {
    this.#connecting ??= this.#connect()
  }

  /** Sets what else is followed, before `start`. */
  follow(createSources: CreateSources): void {
    this.#createSources = createSources
  }

  async start(): Promise<void> {
    this.begin()
    this.#opened.resolve(this.#createSources)
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    const early = this.#early.map((source) => source.stop(scope))
    this.#opened.reject(new ApiError('aborted', 'the agent stops'))
    await this.#connecting
    await Promise.all([...early, ...this.#sources.map((source) => source.stop(scope))])
    this.#early = []
    this.#sources = []
    this.#trouble = { level: 'stopped', message: 'stopped', sinceMs: Date.now() }
  }

  /** The running informers; empty before the lists have come. */
  get sources(): readonly Component[] {
    return this.#sources
  }

  /** The worst health of all informers, or the reason why there are none yet. */
  health(): Health {
    const reports = this.sources.map((source) => ({ name: source.name, health: source.health() }))
    const worst = reports.find(({ health }) => health.level !== 'ok')
    if (worst) return { ...worst.health, message: `${worst.name}: ${worst.health.message}` }
    return reports[0]?.health ?? this.#trouble
  }

  async #connect(): Promise<void> {
    const { signal } = this.#stopping
    const backoff = new Backoff({ baseMs: 200, maxMs: 5_000 })
    while (!signal.aborted) {
      try {
        return await this.#connectOnce()
      } catch (error) {
        if (signal.aborted) return
        this.#reportTrouble(error)
        await sleep(backoff.nextDelayMs(), undefined, { signal }).catch(() => {})
      }
    }
  }

  async #connectOnce(): Promise<void> {
    const { client, log } = this.#parts
    const { signal } = this.#stopping
    const dialect = await detectDialect(client, { signal })
    log.info('connected to the API server', { dialect: dialect.name, domain: dialect.domain })
    const listed = this.#listEarly(dialect)
    const [first = [], ...others] = (await this.#opened.promise)(dialect)
    await Promise.all([listed, ...first.map((source) => source.start({ signal }))])
    for (const group of others) await Promise.all(group.map((source) => source.start({ signal })))
    this.#sources = [...this.#early, ...first, ...others.flat()]
  }

  /** Resolves when all early lists have been handed over. */
  #listEarly(dialect: Dialect): Promise<unknown> {
    const { signal } = this.#stopping
    const opened = this.#opened.promise.then(() => {})
    // Each list waits for it and sees its failure; nothing does where there is no list yet.
    opened.catch(() => {})
    this.#early = this.#parts.createEarly?.(dialect, opened) ?? []
    const listed = Promise.all(this.#early.map((source) => source.start({ signal })))
    listed.catch(() => {})
    return listed
  }

  #reportTrouble(error: unknown): void {
    const message = describeError(error)
    if (message !== this.#trouble.message)
      this.#parts.log.warn('the API server cannot be used yet, will try again', { error })
    this.#trouble = { level: 'unknown', message, sinceMs: Date.now() }
  }
}
