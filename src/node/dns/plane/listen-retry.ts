import { Backoff } from '../../../loop/backoff.ts'
import type { AddressFailure } from '../threads/listen-failures.ts'

/** When DNS tries again to listen on the addresses that the node does not have yet, or that another program listens on. */
export class ListenRetry {
  readonly #backoff = new Backoff({ baseMs: 1_000, maxMs: 30_000 })
  #failures: readonly AddressFailure[] = []
  #atMs = 0
  #delayMs = 0

  get failures(): readonly AddressFailure[] {
    return this.#failures
  }

  /** An attempt is due. */
  get isDue(): boolean {
    return this.#failures.length > 0 && performance.now() >= this.#atMs
  }

  /** The first failure, and when the next attempt is; undefined without a failure. */
  get problem(): string | undefined {
    const [first] = this.#failures
    return first && `${first.message}; tried again after ${(this.#delayMs / 1000).toFixed(1)} s`
  }

  /** Notes the failures of an attempt. With `isNew` it was the first one of a configuration, or of a thread that was started again. */
  note(failures: readonly AddressFailure[], isNew: boolean): void {
    if (isNew || failures.length === 0) this.#backoff.reset()
    this.#failures = failures
    if (failures.length === 0) return
    this.#delayMs = this.#backoff.nextDelayMs()
    this.#atMs = performance.now() + this.#delayMs
  }
}
