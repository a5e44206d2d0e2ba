import type { Component, Health } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { httpListener, type Listener, type TcpListenerOptions } from '../../serve/index.ts'

const retryAfterMs = 10_000

/** An HTTP listener that does not keep the agent from running: a port that is taken, by a kube-proxy that has not ended yet, is tried again. */
export class PatientListener implements Component {
  readonly name: string
  readonly #log: Logger
  readonly #listener: Listener
  /** The attempt that goes on or went on last. */
  #attempt: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | undefined
  #isStopping = false
  #health: Health = { level: 'degraded', message: 'not started', sinceMs: Date.now() }

  constructor(options: TcpListenerOptions) {
    this.name = options.name
    this.#log = options.log
    this.#listener = httpListener(options)
  }

  async start(): Promise<void> {
    this.#attempt = this.#open()
    await this.#attempt
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#retry)
    await this.#attempt
    await this.#listener.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  get port(): number | undefined {
    return this.#listener.port
  }

  async #open(): Promise<void> {
    try {
      await this.#listener.start()
      this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
    } catch (error) {
      this.#onFailure(error)
    }
  }

  #onFailure(error: unknown): void {
    const message = describeError(error)
    if (message !== this.#health.message)
      this.#log.warn('an endpoint of the proxy cannot be opened yet; tried again', { endpoint: this.name, error })
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
    if (this.#isStopping) return
    this.#retry = setTimeout(() => {
      this.#attempt = this.#open()
    }, retryAfterMs)
  }
}
