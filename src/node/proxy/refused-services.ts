import type { ObjectKey } from '../../model/api-object.ts'
import type { Logger } from '../../observe/index.ts'
import type { ProxyMetrics } from './metrics.ts'
import { type Refusal, SetAside } from './set-aside.ts'

export interface RefusedServicesParts {
  readonly metrics: Pick<ProxyMetrics, 'setSetAside'>
  readonly log: Logger
  /** Called once with each Service that is set aside, beside the log. */
  readonly onRefused?: ((refusal: Refusal) => void) | undefined
  /** Called when a Service that is set aside is due to be tried again. */
  readonly onDue: () => void
}

/** Sets Services aside, reports them, and has them tried again in time. */
export class RefusedServices {
  readonly setAside = new SetAside()
  readonly #parts: RefusedServicesParts
  #timer: NodeJS.Timeout | undefined

  constructor(parts: RefusedServicesParts) {
    this.#parts = parts
  }

  refuse(refusal: Refusal): void {
    const { log, metrics, onRefused } = this.#parts
    const { attempts, retryAtMs } = this.setAside.put(refusal)
    metrics.setSetAside(this.setAside.size)
    const why = refusal.isTooLarge ? 'a Service has too many rules' : 'the kernel refuses the rules of a Service'
    const retryInMs = retryAtMs && Math.round(retryAtMs - Date.now())
    log.error(`${why}: it is set aside and keeps those it had`, { ...refusal, attempts, retryInMs })
    if (attempts === 1) onRefused?.(refusal)
  }

  /** The rules of this Service are in the kernel now. */
  return(service: ObjectKey): void {
    const { log, metrics } = this.#parts
    this.setAside.remove(service)
    metrics.setSetAside(this.setAside.size)
    log.info('a Service that was set aside is written now', { service })
  }

  /** Waits until the next Service is due. */
  schedule(): void {
    clearTimeout(this.#timer)
    const delayMs = this.setAside.nextInMs()
    if (delayMs === undefined) return
    this.#timer = setTimeout(() => this.#parts.onDue(), delayMs)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
