import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'

export interface SetUpkeepParts {
  /** Whether there are sets with members of ours. */
  readonly isUsed: () => boolean
  /** Looks at names, forms and numbers of members only. */
  readonly isAsExpected: () => Promise<boolean>
  /** Compares every member and puts back what others changed. */
  readonly verify: () => Promise<unknown>
  /** Returns whether sets that should go remain. */
  readonly removeLeftovers: () => Promise<boolean>
  readonly warnOfLeftovers: () => void
  /** Time between two looks; every twelfth one compares every member. Default 5 s. */
  readonly intervalMs?: number
  readonly log: Logger
}

const looksPerComparison = 12
/** The kernel lets go of a set when no packet can be at the rules that named it. */
const removalDelayMs = 50
const maxRemovalDelayMs = 1_600

/**
 * Looks after sets with members of ours: the kernel does not report changes of sets, so they are looked at again and again. Sets that no
 * rule names any more go a little later than the rules.
 */
export class SetUpkeep {
  readonly #parts: SetUpkeepParts
  readonly #looking: Periodic
  #looks = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(parts: SetUpkeepParts) {
    this.#parts = parts
    this.#looking = new Periodic(() => this.#look(), {
      intervalMs: parts.intervalMs ?? 5_000,
      onError: (error) => parts.log.warn('ipsets could not be compared or repaired', { error: describeError(error) }),
    })
  }

  start(): void {
    this.#looking.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#looking.stop(scope)
  }

  /** Sets that should go may have been left by a write. */
  removeSoon(delayMs = removalDelayMs): void {
    if (this.#isStopped) return
    this.#timer ??= setTimeout(() => void this.#remove(delayMs), delayMs)
    this.#timer.unref()
  }

  async #remove(delayMs: number): Promise<void> {
    const { removeLeftovers, warnOfLeftovers, log } = this.#parts
    let doRemain = false
    try {
      doRemain = await removeLeftovers()
    } catch (error) {
      log.warn('ipsets that are not wanted could not be removed', { error: describeError(error) })
    }
    this.#timer = undefined
    if (doRemain && delayMs < maxRemovalDelayMs) this.removeSoon(2 * delayMs)
    else if (doRemain) warnOfLeftovers()
  }

  async #look(): Promise<void> {
    const { isUsed, isAsExpected, verify, removeLeftovers } = this.#parts
    if (!isUsed()) return
    this.#looks += 1
    if (this.#looks % looksPerComparison === 0 || !(await isAsExpected())) await verify()
    if (this.#timer === undefined) await removeLeftovers()
  }
}
