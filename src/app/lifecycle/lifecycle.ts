import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Component, Health } from '../../loop/component.ts'
import { describeError, PlatnetError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'

type LifecycleErrorCode = 'start-failed' | 'deadline-exceeded'

export class LifecycleError extends PlatnetError<LifecycleErrorCode> {}

export interface LifecycleOptions {
  readonly log: Logger
  readonly startDeadlineMs: number
  readonly stopDeadlineMs: number
}

/** Starts components in order and stops the started ones in reverse order; a failed start stops what it had started. */
export class Lifecycle {
  readonly #components: readonly Component[]
  readonly #options: LifecycleOptions
  #started: Component[] = []

  constructor(components: readonly Component[], options: LifecycleOptions) {
    this.#components = components
    this.#options = options
  }

  /** Starts all. Throws LifecycleError `start-failed` with the component's error as cause, after it stopped the started ones. */
  async start(): Promise<void> {
    for (const component of this.#components) {
      try {
        await this.#startOne(component)
      } catch (cause) {
        await this.stop()
        throw new LifecycleError('start-failed', `${component.name} did not start`, { object: component.name, cause })
      }
    }
  }

  /** Stops all, each with the deadline; logs a component that fails or overruns and goes on with the others. */
  async stop(): Promise<void> {
    for (const component of this.#started.splice(0).reverse()) {
      try {
        await withinDeadline(component, 'stop', this.#options.stopDeadlineMs)
      } catch (error) {
        this.#options.log.warn('a component did not stop cleanly', {
          component: component.name,
          error: describeError(error),
        })
      }
    }
  }

  health(): ReadonlyMap<string, Health> {
    return new Map(this.#components.map((component) => [component.name, component.health()]))
  }

  async #startOne(component: Component): Promise<void> {
    const startedMs = performance.now()
    this.#started.push(component)
    await withinDeadline(component, 'start', this.#options.startDeadlineMs)
    this.#options.log.debug('component started', {
      component: component.name,
      durationMs: Math.round(performance.now() - startedMs),
    })
    await nextTurn()
  }
}

async function withinDeadline(component: Component, step: 'start' | 'stop', deadlineMs: number): Promise<void> {
  const signal = AbortSignal.timeout(deadlineMs)
  const { promise: overdue, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () =>
    reject(new LifecycleError('deadline-exceeded', `${component.name} took longer than ${deadlineMs} ms to ${step}`)),
  )
  await Promise.race([component[step]({ signal }), overdue])
}
