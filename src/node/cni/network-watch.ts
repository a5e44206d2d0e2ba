import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Component, Health } from '../../loop/component.ts'
import { HealthKeeper } from '../../loop/health-keeper.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { NetworkMetrics } from './metrics.ts'
import { describeRunning } from './running-calls.ts'
import type { CniRuntime } from './runtime.ts'

/** Tells whether pods of this node can get a network now; the message names the network or what is missing. */
export interface NetworkReadiness {
  readonly isReady: boolean
  readonly message: string
}

export interface NetworkWatchParts {
  readonly configDir: string
  readonly runtime: Pick<CniRuntime, 'networks' | 'status' | 'slowCalls'>
  /** Called at the start: tells whether pods of this node get their network by CNI. */
  readonly isWanted: () => boolean
  /** Receives the first finding and each different one. */
  readonly onChange: (readiness: NetworkReadiness) => void
  readonly metrics: NetworkMetrics
  readonly log: Logger
}

/**
 * Intervals of checks beside the watch, while pods get no network and while they do. Plugins are not watched, and a watch can miss a change;
 * operations read the folder themselves.
 */
const rescanMs = { missing: 5_000, ready: 30_000 } as const
/** Delay after a change: an installer copies a list, renames it and removes another, which should cause one check. */
const settleMs = 50

/**
 * Reports when a list appears in `net.d` or disappears, and when its plugins become usable or unusable. The Node's condition, the
 * status and the metric need it; operations read the folder themselves.
 */
export class NetworkWatch implements Component {
  readonly name = 'networks'
  readonly #parts: NetworkWatchParts
  readonly #rescan: Periodic
  readonly #watched = new Map<string, { readonly inode: number; readonly watcher: FSWatcher }>()
  #settling: NodeJS.Timeout | undefined
  #skipped: ReadonlySet<string> = new Set()
  readonly #health = new HealthKeeper('ok', 'no pod gets its network by CNI here')

  constructor(parts: NetworkWatchParts) {
    this.#parts = parts
    this.#rescan = new Periodic(() => this.#look(), {
      intervalMs: () => (this.#health.current.level === 'ok' ? rescanMs.ready : rescanMs.missing),
      firstAfterMs: 0,
      onError: (error) => parts.log.warn('the networks could not be looked at', { error }),
    })
  }

  async start(): Promise<void> {
    if (this.#parts.isWanted()) this.#rescan.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    clearTimeout(this.#settling)
    for (const folder of [...this.#watched.keys()]) this.#forget(folder)
    await this.#rescan.stop(scope)
  }

  /** Checks again; reports a plugin that hangs while the check waits for it. */
  health(): Health {
    const [slow] = this.#parts.runtime.slowCalls()
    if (slow === undefined) return this.#health.current
    const pod = slow.containerId === undefined ? '' : `, for the pod ${slow.containerId}`
    return { level: 'degraded', message: `${describeRunning(slow)}${pod}`, sinceMs: slow.sinceMs }
  }

  async #look(): Promise<void> {
    const { configDir, runtime } = this.#parts
    // The parent is watched too, because a watch is bound to an inode and the folder may be replaced.
    for (const folder of [configDir, dirname(configDir)]) this.#arm(folder)
    const { skipped } = await runtime.networks()
    this.#nameSkipped(skipped.map(({ reason }) => reason))
    this.#report(await this.#ask())
  }

  async #ask(): Promise<NetworkReadiness> {
    try {
      const { name, file } = await this.#parts.runtime.status()
      return { isReady: true, message: `the network ${name}, from ${file}` }
    } catch (error) {
      return { isReady: false, message: describeError(error) }
    }
  }

  #nameSkipped(reasons: readonly string[]): void {
    const { log, metrics } = this.#parts
    for (const reason of reasons) if (!this.#skipped.has(reason)) log.warn('a network file is skipped', { reason })
    this.#skipped = new Set(reasons)
    metrics.setSkipped(reasons.length)
  }

  #report(readiness: NetworkReadiness): void {
    const { isReady, message } = readiness
    if (!this.#health.set(isReady ? 'ok' : 'degraded', message)) return
    const { log, metrics, onChange } = this.#parts
    metrics.setReady(isReady)
    if (isReady) log.info('pods get their network', { network: message })
    else log.warn('pods get no network', { reason: message })
    onChange(readiness)
  }

  #arm(folder: string): void {
    const inode = statSync(folder, { throwIfNoEntry: false })?.ino
    if (inode === this.#watched.get(folder)?.inode) return
    this.#forget(folder)
    if (inode === undefined) return
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#onEvent())
      watcher.on('error', () => this.#forget(folder))
      this.#watched.set(folder, { inode, watcher })
    } catch {
      // Without a watch (inotify limits) the next periodic check finds the change.
    }
  }

  #forget(folder: string): void {
    this.#watched.get(folder)?.watcher.close()
    this.#watched.delete(folder)
  }

  #onEvent(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined
      this.#rescan.runSoon()
    }, settleMs)
  }
}
