import { Informer, type InformerOptions } from '../../../client/index.ts'
import type { Component, Health } from '../../../loop/component.ts'

export interface OnDemandInformerOptions extends InformerOptions {
  readonly name: string
  /** Calls the listener at once, and with every change: true while the collection is needed. */
  readonly watchWanted: (listener: (wanted: boolean) => void) => void
}

/** Watches a collection while a zone needs it, and sends the API no request otherwise. */
export class OnDemandInformer implements Component {
  readonly name: string
  readonly #options: OnDemandInformerOptions
  #informer: Informer | undefined

  constructor(options: OnDemandInformerOptions) {
    this.name = options.name
    this.#options = options
  }

  async start(): Promise<void> {
    this.#options.watchWanted((wanted) => this.#follow(wanted))
  }

  async stop(): Promise<void> {
    this.#options.watchWanted(() => {})
    await this.#informer?.stop()
  }

  health(): Health {
    return this.#informer?.health() ?? { level: 'ok', message: 'no zone needs them', sinceMs: 0 }
  }

  /** Starts or stops the watch. Nothing waits for the list. */
  #follow(wanted: boolean): void {
    if (wanted === (this.#informer !== undefined)) return
    const before = this.#informer
    this.#informer = undefined
    void before?.stop()
    if (!wanted) return
    this.#informer = new Informer(this.#options)
    this.#informer
      .start({ signal: AbortSignal.timeout(0x7fff_ffff) })
      .catch((error) =>
        this.#options.log.warn('a collection that a zone of DNS needs could not be listed', { name: this.name, error }),
      )
  }
}
