import type { Logger } from '../../observe/index.ts'
import type { ServedRequest } from './driver.ts'

/**
 * Writes a line for the given share of requests, chosen evenly: with 0.01 each hundredth one. Queries, headers and bodies stand in no line.
 */
export class AccessLog {
  readonly #share: number
  readonly #log: Logger
  #due = 0

  constructor(share: number, log: Logger) {
    this.#share = share
    this.#log = log
  }

  write(request: ServedRequest): void {
    this.#due += this.#share
    if (this.#due < 1 - rounding) return
    this.#due -= 1
    const { durationMs, ...fields } = request
    this.#log.info('request', { ...fields, durationMs: Math.round(durationMs * 1000) / 1000 })
  }
}

/** A share of 0.1 added ten times is a little less than 1. */
const rounding = 1e-9
