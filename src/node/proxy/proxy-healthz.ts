import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger, Metrics } from '../../observe/index.ts'
import { createRouter, httpListener, type Listener, type TextAnswer } from '../../serve/index.ts'
import { collectedMetrics } from './metric-specs.ts'
import type { ProxyFreshness } from './view.ts'

export interface ProxyHealthzParts {
  readonly address: Ip
  readonly port: number
  readonly freshness: () => readonly ProxyFreshness[]
  /** False where load balancers are to send nothing to this node any more. */
  readonly isNodeEligible: () => boolean
  readonly metrics: Metrics
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** A change that waits longer than this means that this proxy does not do its work. */
const staleAfterMs = 60_000

/** Whether every family wrote what it was asked to within the last minute. */
export function isFresh(families: readonly ProxyFreshness[], nowMs: number): boolean {
  return families.every(({ pendingSinceMs }) => pendingSinceMs === undefined || nowMs - pendingSinceMs < staleAfterMs)
}

/**
 * `/healthz` (is this node fit to get traffic from load balancers?) and `/livez` (does the proxy do its work, whatever becomes of the
 * node?) with kube-proxy's answers. A port that is taken is tried again and does not keep the agent from running.
 */
export class ProxyHealthz implements Component {
  readonly name = 'proxy-healthz'
  readonly #parts: ProxyHealthzParts
  readonly #listener: Listener
  readonly #retry: Periodic
  #isOpen = false
  #health: Health = { level: 'degraded', message: 'not started', sinceMs: Date.now() }

  constructor(parts: ProxyHealthzParts) {
    this.#parts = parts
    const { address, port, log } = parts
    const count = createCounters(parts.metrics)
    const handler = createRouter(
      {
        '/healthz': () => count.healthz(this.#answer(parts.isNodeEligible())),
        '/livez': () => count.livez(this.#answer(undefined)),
      },
      (error, path) => log.error('a health request failed', { path, error }),
    )
    this.#listener = httpListener({
      name: this.name,
      address,
      port,
      portOption: '--proxy-healthz-port',
      handler,
      log,
    })
    this.#retry = new Periodic(() => this.#open(), { intervalMs: 10_000, firstAfterMs: 0, onError: () => {} })
  }

  async start(): Promise<void> {
    await this.#open()
    this.#retry.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#retry.stop(scope)
    await this.#listener.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  get port(): number | undefined {
    return this.#listener.port
  }

  async #open(): Promise<void> {
    if (this.#isOpen) return
    try {
      await this.#listener.start()
      this.#isOpen = true
      this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
    } catch (error) {
      const message = describeError(error)
      if (message !== this.#health.message)
        this.#parts.log.warn('the health endpoint of the proxy cannot be opened yet; tried again', { error })
      this.#health = { level: 'degraded', message, sinceMs: Date.now() }
    }
  }

  /**
   * `healthy` is the proxy's own health, whatever becomes of the node; the status tells of both. `lastUpdated` of a healthy proxy is now:
   * nothing has happened since that it does not know of.
   */
  #answer(nodeEligible: boolean | undefined): TextAnswer {
    const { freshness, now = Date.now } = this.#parts
    const nowMs = now()
    const families = freshness()
    const healthy = isFresh(families, nowMs)
    const lastSyncMs = Math.max(0, ...families.map(({ lastSyncMs: atMs = 0 }) => atMs))
    const body = {
      lastUpdated: new Date(healthy ? nowMs : lastSyncMs).toISOString(),
      currentTime: new Date(nowMs).toISOString(),
      ...(nodeEligible !== undefined && { nodeEligible }),
      healthy,
      status: Object.fromEntries(families.map((family) => [family.family, describeFamily(family, nowMs)])),
    }
    return {
      status: healthy && nodeEligible !== false ? 200 : 503,
      contentType: 'application/json',
      body: JSON.stringify(body),
    }
  }
}

function describeFamily(
  family: ProxyFreshness,
  nowMs: number,
): { readonly lastUpdated: string; readonly healthy: boolean } {
  return { lastUpdated: new Date(family.lastSyncMs ?? 0).toISOString(), healthy: isFresh([family], nowMs) }
}

function createCounters(metrics: Metrics) {
  const counter = (what: 'healthz' | 'livez') => {
    const total = metrics.counter(collectedMetrics[what])
    return (answer: TextAnswer): TextAnswer => {
      total.add(1, { code: String(answer.status) })
      return answer
    }
  }
  return {
    healthz: counter('healthz'),
    livez: counter('livez'),
  }
}
