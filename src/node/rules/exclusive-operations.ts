import type { Health, HealthLevel } from '../../loop/component.ts'
import { Slots } from '../../loop/slots.ts'
import { describeError } from '../../model/errors.ts'

export interface ExclusiveOperationsParts {
  /** Called after each success; undefined leaves the health as it was. */
  readonly healthNow: () => Pick<Health, 'level' | 'message'> | undefined
  readonly onFailure?: (error: unknown) => void
}

/** The operations of one writer: runs one at a time, in the order of their calls, and keeps the health that they lead to. */
export class ExclusiveOperations {
  readonly #parts: ExclusiveOperationsParts
  readonly #slots = new Slots(1)
  #health: Health = { level: 'unknown', message: 'nothing written yet', sinceMs: 0 }

  constructor(parts: ExclusiveOperationsParts) {
    this.#parts = parts
  }

  get health(): Health {
    return this.#health
  }

  /** The caller handles a failure. */
  run<T>(operation: () => T | Promise<T>): Promise<T> {
    return this.#slots.run(async () => {
      try {
        const result = await operation()
        const health = this.#parts.healthNow()
        if (health !== undefined) this.#setHealth(health.level, health.message)
        return result
      } catch (error) {
        this.#setHealth('degraded', describeError(error))
        this.#parts.onFailure?.(error)
        throw error
      }
    })
  }

  /** Resolves when all operations before this call have ended. */
  idle(): Promise<void> {
    return this.#slots.run(async () => {})
  }

  #setHealth(level: HealthLevel, message: string): void {
    const { level: before, sinceMs } = this.#health
    this.#health = { level, message, sinceMs: level === before ? sinceMs : Date.now() }
  }
}
