/**
 * A signal that aborts when the outer one does, or when `touch` stays away for `timeoutMs`. Without a touch it bounds the
 * whole request, with one for each chunk it bounds the silence.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #timer: NodeJS.Timeout
  readonly #onOuterAbort = () => this.#controller.abort(this.#outer?.reason)
  expired = false

  constructor(outer: AbortSignal | undefined, timeoutMs: number) {
    this.#outer = outer
    this.#timer = setTimeout(() => this.#expire(), timeoutMs)
    if (outer?.aborted === true) this.#onOuterAbort()
    outer?.addEventListener('abort', this.#onOuterAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  touch(): void {
    this.#timer.refresh()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onOuterAbort)
  }

  #expire(): void {
    this.expired = true
    this.#controller.abort(new DOMException('the time for the request is over', 'TimeoutError'))
  }
}
