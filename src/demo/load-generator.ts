import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, HttpConnection, type Target } from './http-connection.ts'
import { type LoadReport, LoadTally } from './load-report.ts'

export interface LoadOptions {
  readonly host: string
  readonly port: number
  /** Requests per second, sent whether or not earlier ones are answered. */
  readonly rate: number
  /** Share of the requests that go over kept connections, 0 to 1; each other one makes a connection of its own. */
  readonly keepAliveShare: number
  /** Source addresses, used in turn by the connections that serve one request; none: the system's choice. */
  readonly sources: readonly string[]
  /** Whichever is reached first. */
  readonly maxSeconds: number
  readonly maxRequests: number
  /** After which a request counts as failed. */
  readonly timeoutMs: number
}

const tickMs = 4
/** Kept connections are used in turn, so each sees several requests a second and learns soon of an announced close. */
const minKeptConnections = 24

export class LoadGenerator {
  readonly #options: LoadOptions
  readonly #tally = new LoadTally()
  readonly #kept: HttpConnection[] = []
  #sent = 0

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Sends until the limit or the signal, then waits for the answers that are still to come. */
  async run(signal: AbortSignal): Promise<LoadReport> {
    const { maxRequests, maxSeconds, rate } = this.#options
    const startedMs = performance.now()
    const secondsGone = (): number => (performance.now() - startedMs) / 1000
    const wanted = Math.min(maxRequests, maxSeconds * rate)
    while (!signal.aborted && this.#sent < wanted) {
      const due = Math.min(wanted, Math.floor(secondsGone() * rate))
      while (this.#sent < due) this.#sendOne()
      await sleep(tickMs)
    }
    const seconds = secondsGone()
    while (this.#tally.count < this.#sent) await sleep(tickMs)
    for (const connection of this.#kept) connection.close()
    return this.#tally.report(seconds)
  }

  #sendOne(): void {
    const { keepAliveShare, sources, timeoutMs } = this.#options
    const keepAlive = Math.floor((this.#sent + 1) * keepAliveShare) > Math.floor(this.#sent * keepAliveShare)
    const source = keepAlive ? undefined : sources[this.#sent % Math.max(1, sources.length)]
    const target = { host: this.#options.host, port: this.#options.port, source }
    const connection = keepAlive ? this.#takeKept(target) : new HttpConnection(target, false, timeoutMs)
    const sentMs = performance.now()
    this.#sent += 1
    void connection.send().then((answer: Answer) => {
      this.#tally.add({
        kind: keepAlive ? 'keepAlive' : 'short',
        source,
        latencyMs: performance.now() - sentMs,
        ...answer,
      })
      if (keepAlive && connection.isOpen) this.#kept.push(connection)
    })
  }

  /** The connection that has been idle longest, or a new one while there are few. */
  #takeKept(target: Target): HttpConnection {
    while (this.#kept.length >= minKeptConnections) {
      const oldest = this.#kept.shift()
      if (oldest?.isIdle === true) return oldest
    }
    return new HttpConnection(target, true, this.#options.timeoutMs)
  }
}
