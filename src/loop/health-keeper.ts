import { describeError } from '../model/errors.ts'
import type { Health, HealthLevel } from './component.ts'

/** Keeps the health of one part: since when it has its level, and whether a failure is a new one. */
export class HealthKeeper {
  #health: Health

  constructor(level: HealthLevel = 'ok', message = '') {
    this.#health = { level, message, sinceMs: Date.now() }
  }

  get current(): Health {
    return this.#health
  }

  /** Returns whether level or message differ from those before. */
  set(level: HealthLevel, message = ''): boolean {
    const before = this.#health
    if (level === before.level && message === before.message) return false
    this.#health = { level, message, sinceMs: level === before.level ? before.sinceMs : Date.now() }
    return true
  }

  /** Sets `degraded` with the error as message, and calls `warn` where the message before was another one: what lasts is logged once. */
  fail(error: unknown, warn: () => void, remedy = ''): void {
    if (this.set('degraded', `${describeError(error)}${remedy}`)) warn()
  }
}
