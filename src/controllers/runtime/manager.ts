import type { Component, Health } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'
import type { Caches } from './caches.ts'
import { type ElectionOptions, LeaderElection } from './leader-election.ts'
import type { ControllerMetrics } from './metrics.ts'

export interface ManagerOptions {
  /** `controller-manager`, `scheduler`: also the name of its lease in metrics. */
  readonly name: string
  readonly caches: Caches
  /** Their caches come from `caches`; each can be started again after it was stopped. */
  readonly controllers: readonly Component[]
  /** Absent: this process acts without asking. */
  readonly election?: Pick<ElectionOptions, 'lock' | 'identity' | 'isGone' | 'timing'>
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

/** Runs controllers on shared caches while this process leads; who does not lead keeps its caches warm. */
export class ControllerManager implements Component {
  readonly name: string
  readonly #options: ManagerOptions
  readonly #election: LeaderElection | undefined
  /** Starts and stops of the controllers come one after the other. */
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

  /** Resolves when the caches are filled; the controllers follow as soon as this process leads. */
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

  /** The worst of the caches, then of the controllers while leading. */
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
    // Work in progress ends now; the second call is for controllers whose start was still under way.
    const stopping = this.#stopAll(signal)
    this.#turn = this.#turn.then(() => stopping).then(() => this.#stopAll(signal))
  }

  /** A controller that did not end in time is left behind: the signal of its work has aborted. */
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
