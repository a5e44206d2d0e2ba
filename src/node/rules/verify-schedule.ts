import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Flavour } from './iptables.ts'
import type { VerifyReport } from './reports.ts'

export interface VerifyScheduleParts {
  readonly flavour: Flavour
  /** Time between two comparisons, whatever else is so. */
  readonly verifyIntervalMs?: number
  /** Asked before each wait. */
  readonly isWatched?: () => boolean
  readonly verify: () => Promise<Pick<VerifyReport, 'readMs'>>
  readonly log: Logger
}

/** Between a restart that trusted PLAT-STATE and the comparison that makes sure. */
const afterAdoptionMs = 1000
const watchedIntervalMs = 30 * 60_000

/** Has the tables compared with the kernel again and again; the time between two is at least 50 times what reading took. */
export class VerifySchedule {
  readonly #parts: VerifyScheduleParts
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(parts: VerifyScheduleParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isRunning = true
    this.#wait(this.#parts.verifyIntervalMs ?? 30_000)
  }

  stop(): void {
    this.#isRunning = false
    clearTimeout(this.#timer)
  }

  /** Schedules an early comparison: the content of the kernel was assumed and not read. */
  soon(): void {
    this.#wait(afterAdoptionMs)
  }

  /** All was read just now. */
  later(): void {
    this.#wait(this.#intervalMs)
  }

  get #intervalMs(): number {
    const { verifyIntervalMs, isWatched, flavour } = this.#parts
    if (verifyIntervalMs !== undefined) return verifyIntervalMs
    if (isWatched?.() === true) return watchedIntervalMs
    return flavour === 'legacy' ? 8_000 : 30_000
  }

  #wait(delayMs: number): void {
    clearTimeout(this.#timer)
    if (!this.#isRunning) return
    this.#timer = setTimeout(() => void this.#verify(), delayMs)
    this.#timer.unref()
  }

  async #verify(): Promise<void> {
    let delayMs = this.#intervalMs
    try {
      const { readMs } = await this.#parts.verify()
      delayMs = Math.max(delayMs, 50 * readMs)
    } catch (error) {
      this.#parts.log.warn('comparing the rules with the kernel failed', { error: describeError(error) })
    }
    this.#wait(delayMs)
  }
}
