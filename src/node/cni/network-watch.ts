import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { NetworkMetrics } from './metrics.ts'
import { describeRunning } from './running-calls.ts'
import type { CniRuntime } from './runtime.ts'

/** Whether pods of this node can get a network now; the message names the network, or what is missing. */
export interface NetworkReadiness {
  readonly isReady: boolean
  readonly message: string
}

export interface NetworkWatchParts {
  readonly configDir: string
  readonly runtime: Pick<CniRuntime, 'networks' | 'status' | 'slowCalls'>
  /** Asked at the start: whether pods get their network by CNI here at all. */
  readonly isWanted: () => boolean
  /** Called with the first finding and with each one that differs. */
  readonly onChange: (readiness: NetworkReadiness) => void
  readonly metrics: NetworkMetrics
  readonly log: Logger
}

/** As often as containerd asks. Plugins and the folders above are not watched, and a watch can miss something. */
const rescanIntervalMs = 5000
/** A list is copied, then renamed, then its neighbour is removed: one look at the end of it. */
const settleMs = 50

/**
 * Tells when a list appears in `net.d` or goes, and when its plugins can serve or no longer can. Operations do not need it, as they read
 * the folder themselves; the Node's condition, the status and the metric do.
 */
export class NetworkWatch implements Component {
  readonly name = 'networks'
  readonly #parts: NetworkWatchParts
  readonly #rescan: Periodic
  readonly #watched = new Map<string, { readonly inode: number; readonly watcher: FSWatcher }>()
  #settling: NodeJS.Timeout | undefined
  #told = ''
  #skipped: ReadonlySet<string> = new Set()
  #health: Health = { level: 'ok', message: 'no pod gets its network by CNI here', sinceMs: Date.now() }

  constructor(parts: NetworkWatchParts) {
    this.#parts = parts
    this.#rescan = new Periodic(() => this.#look(), {
      intervalMs: rescanIntervalMs,
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

  /** A plugin that hangs is told of while it does. */
  health(): Health {
    const [slow] = this.#parts.runtime.slowCalls()
    if (slow === undefined) return this.#health
    const pod = slow.containerId === undefined ? '' : `, for the pod ${slow.containerId}`
    return { level: 'degraded', message: `${describeRunning(slow)}${pod}`, sinceMs: slow.sinceMs }
  }

  async #look(): Promise<void> {
    const { configDir, runtime } = this.#parts
    // The parent too: a watch is of an inode, and the folder may be replaced.
    for (const folder of [configDir, dirname(configDir)]) this.#arm(folder)
    const { skipped } = await runtime.networks()
    this.#nameSkipped(skipped.map(({ reason }) => reason))
    this.#tell(await this.#ask())
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

  #tell(readiness: NetworkReadiness): void {
    const { isReady, message } = readiness
    if (message === this.#told) return
    const { log, metrics, onChange } = this.#parts
    this.#told = message
    this.#health = { level: isReady ? 'ok' : 'degraded', message, sinceMs: Date.now() }
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
      // No watch to be had (inotify's limits): the next look is in a few seconds.
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
