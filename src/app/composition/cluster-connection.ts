import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, detectDialect } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'

export interface ConnectionParts {
  readonly client: ApiClient
  /** Creates the informers for the server's dialect. Those of one group start together, after the group before has started. */
  readonly createSources: (dialect: Dialect) => readonly (readonly Component[])[]
  readonly log: Logger
}

/**
 * Connects to the API server: detects its dialect, with retries until it answers, then keeps the informers running. `start` does not
 * wait for the server, so that a node without its API server starts, keeps its rules and reports why it is not ready.
 */
export class ClusterConnection implements Component {
  readonly name = 'cluster'
  readonly #parts: ConnectionParts
  readonly #stopping = new AbortController()
  #connecting: Promise<void> = Promise.resolve()
  #sources: readonly Component[] = []
  #trouble: Health = { level: 'unknown', message: 'not connected yet', sinceMs: 0 }

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.#connecting = this.#connect()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    await this.#connecting
    await Promise.all(this.#sources.map((source) => source.stop(scope)))
    this.#sources = []
    this.#trouble = { level: 'stopped', message: 'stopped', sinceMs: Date.now() }
  }

  /** The running informers; empty before the server has answered. */
  get sources(): readonly Component[] {
    return this.#sources
  }

  /** The worst health of all informers, or the reason why there are none yet. */
  health(): Health {
    const reports = this.#sources.map((source) => ({ name: source.name, health: source.health() }))
    const worst = reports.find(({ health }) => health.level !== 'ok')
    if (worst) return { ...worst.health, message: `${worst.name}: ${worst.health.message}` }
    return reports[0]?.health ?? this.#trouble
  }

  async #connect(): Promise<void> {
    const { signal } = this.#stopping
    const backoff = new Backoff({ baseMs: 200, maxMs: 5_000 })
    while (!signal.aborted && this.#sources.length === 0) {
      try {
        await this.#connectOnce()
      } catch (error) {
        if (signal.aborted) return
        this.#reportTrouble(error)
        await sleep(backoff.nextDelayMs(), undefined, { signal }).catch(() => {})
      }
    }
  }

  async #connectOnce(): Promise<void> {
    const { client, createSources, log } = this.#parts
    const { signal } = this.#stopping
    const dialect = await detectDialect(client, { signal })
    log.info('connected to the API server', { dialect: dialect.name, domain: dialect.domain })
    const groups = createSources(dialect)
    for (const group of groups) await Promise.all(group.map((source) => source.start({ signal })))
    this.#sources = groups.flat()
  }

  #reportTrouble(error: unknown): void {
    const message = describeError(error)
    if (message !== this.#trouble.message)
      this.#parts.log.warn('the API server cannot be used yet, will try again', { error })
    this.#trouble = { level: 'unknown', message, sinceMs: Date.now() }
  }
}
