import type { Component, Health } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'
import type { Caches } from './caches.ts'
import { type ElectionOptions, LeaderElection } from './leader-election.ts'
import type { ControllerMetrics } from './metrics.ts'

export interface ManagerOptions {
  /** `controller-manager` or `scheduler`; also the name of its lease in metrics. */
  readonly name: string
  readonly caches: Caches
  /** The controllers. Their caches come from `caches`, and each can be started again after a stop. */
  readonly controllers: readonly Component[]
  /** The leader election; without it this process always runs its controllers. */
  readonly election?: Pick<ElectionOptions, 'lock' | 'identity' | 'isGone' | 'timing'>
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

/**
 * Runs controllers on shared caches while this process leads. A process that does not lead keeps its caches up to date.
 */
export class ControllerManager implements Component {
  readonly name: string
  readonly #options: ManagerOptions
  readonly #election: LeaderElection | undefined
  /** The last start or stop of the controllers; the next one waits for it. */
  #turn: Promise<void> = Promise.resolve()

  constructor(options: ManagerOptions) {
    this.name = options.name
    this.#options = options
    this.#election =
      options.election &&
      new LeaderElection({
        ...options.election,
        onStarted: () => this.#startControllers(),
        onStopped: () => this.#stopControllers(AbortSignal.abort()),
        log: options.log,
      })
  }

  /** Resolves when the caches are filled. The controllers start when this process becomes the leader. */
  async start(scope: { signal: AbortSignal }): Promise<void> {
    const { caches } = this.#options
    await Promise.all(caches.all.map((cache) => cache.start(scope)))
    if (this.#election) await this.#election.start()
    else this.#startControllers()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopControllers(scope.signal)
    await this.#turn
    await this.#election?.stop(scope)
    await Promise.all(this.#options.caches.all.map((cache) => cache.stop(scope)))
  }

  /** Returns the worst health of the caches, and of the controllers while this process leads. */
  health(): Health {
    const { caches, controllers } = this.#options
    const parts = [...caches.all, ...(this.#leads ? controllers : [])]
    const reports = parts.map((part) => ({ part: part.name, health: part.health() }))
    const worst = reports.find(({ health }) => health.level !== 'ok')
    if (worst) return { ...worst.health, message: `${worst.part}: ${worst.health.message}` }
    return this.#election?.health() ?? { level: 'ok', message: '', sinceMs: 0 }
  }

  get #leads(): boolean {
    return this.#election?.isLeader ?? true
  }

  #startControllers(): void {
    const { controllers, log, metrics, name } = this.#options
    metrics.setLeader(name, true)
    const startAll = async () => {
      for (const controller of controllers) await controller.start({ signal: new AbortController().signal })
      log.info('controllers started', { controllers: controllers.map((controller) => controller.name) })
    }
    this.#turn = this.#turn.then(startAll).catch((error) => log.error('controllers did not start', { error }))
  }

  #stopControllers(signal: AbortSignal): void {
    const { metrics, name } = this.#options
    metrics.setLeader(name, false)
    // Aborts work in progress; the second call stops controllers whose start was still in progress.
    const stopping = this.#stopAll(signal)
    this.#turn = this.#turn.then(() => stopping).then(() => this.#stopAll(signal))
  }

  /** Stops all controllers. One that does not end in time is abandoned: the signal of its work has aborted. */
  async #stopAll(signal: AbortSignal): Promise<void> {
    const { controllers, log } = this.#options
    const stops = controllers.map(async (controller) => {
      try {
        await controller.stop({ signal })
      } catch (error) {
        log.debug('a controller did not end in time', { controller: controller.name, error })
      }
    })
    await Promise.all(stops)
  }
}
