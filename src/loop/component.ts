export type HealthLevel = 'unknown' | 'ok' | 'degraded' | 'stopped'

/** `sinceMs` is the wall-clock time (ms since 1970) at which the level was taken. */
export interface Health {
  readonly level: HealthLevel
  readonly message: string
  readonly sinceMs: number
}

/**
 * A part of the program that starts and stops: constructors only store their arguments, `start` resolves when the part is usable,
 * `stop` is idempotent and safe after a failed start. The signal aborts at the deadline.
 */
export interface Component {
  /** `[a-z0-9-]{1,30}`; also the key in health reports. */
  readonly name: string
  start(scope: { signal: AbortSignal }): Promise<void>
  stop(scope: { signal: AbortSignal }): Promise<void>
  health(): Health
  /** Resolves with the reason why the part no longer works, undefined if it does. A watchdog asks again and again; `health` is enough without it. */
  examine?(): Promise<string | undefined>
}
