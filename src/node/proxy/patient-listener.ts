import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { httpListener, type Listener, type TcpListenerOptions } from '../../serve/index.ts'

/** An HTTP listener that does not keep the agent from running: a port that is taken, by a kube-proxy that has not ended yet, is tried again. */
export class PatientListener implements Component {
  readonly name: string
  readonly #log: Logger
  readonly #listener: Listener
  readonly #retry: Periodic
  #isOpen = false
  #health: Health = { level: 'degraded', message: 'not started', sinceMs: Date.now() }

  constructor(options: TcpListenerOptions) {
    this.name = options.name
    this.#log = options.log
    this.#listener = httpListener(options)
    this.#retry = new Periodic(() => this.#open(), { intervalMs: 10_000, firstAfterMs: 0, onError: () => {} })
  }

  async start(): Promise<void> {
    await this.#open()
    this.#retry.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#retry.stop(scope)
    await this.#listener.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  get port(): number | undefined {
    return this.#listener.port
  }

  async #open(): Promise<void> {
    if (this.#isOpen) return
    try {
      await this.#listener.start()
      this.#isOpen = true
      this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
    } catch (error) {
      const message = describeError(error)
      if (message !== this.#health.message)
        this.#log.warn('an endpoint of the proxy cannot be opened yet; tried again', { endpoint: this.name, error })
      this.#health = { level: 'degraded', message, sinceMs: Date.now() }
    }
  }
}
