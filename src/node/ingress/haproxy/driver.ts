import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type ProcessIdentity, type Run } from '../../../host/index.ts'
import { Backoff } from '../../../loop/backoff.ts'
import type { Health } from '../../../loop/component.ts'
import { HealthKeeper } from '../../../loop/health-keeper.ts'
import { Periodic } from '../../../loop/periodic.ts'
import { describeError } from '../../../model/errors.ts'
import type { RoutingChange, RoutingTable } from '../../../model/routing-table.ts'
import type { Logger, Tracer } from '../../../observe/index.ts'
import type { IngressDriver, RoutingRefusal, ServedRequest } from '../driver.ts'
import { AccessLog } from './access-log.ts'
import { askHolding, askInfo, RefusedCommand, runCommands } from './ask-haproxy.ts'
import { maxCommandBytes, renderFiles, settingsHash } from './config.ts'
import { type AnswerCount, AnswerTotals, readCounters, showCounters } from './counters.ts'
import { type Difference, diffTable } from './diff.ts'
import { HaproxyError } from './errors.ts'
import { holdTable } from './hold-table.ts'
import type { Holding } from './holding.ts'
import { isolate, namedCertificate, withoutObjects } from './isolate.ts'
import { KeptListeners } from './kept-listeners.ts'
import { HaproxyProcess, logFewerConnections, openFileLimit } from './process.ts'
import { RefusedRoutes } from './refused-routes.ts'
import { RuntimeSocket } from './runtime-socket.ts'
import { type HaproxySettings, withinFileLimit } from './settings.ts'
import { explainTaken, findFree, readTaken, subsets, type TakenAddresses, withoutTaken } from './taken-addresses.ts'

export interface HaproxyParts extends HaproxySettings {
  readonly onServed: (request: ServedRequest) => void
  /** Takes the spans of requests, where `tracing` says that they have some. */
  readonly tracer?: Tracer | undefined
  readonly log: Logger
  /** No operator asked for the number of connections: a lower one is no warning. */
  readonly hasDefaultConnections?: boolean
  readonly run?: Run
}

/** Work that haproxy was given since this driver was made. */
export interface HaproxyWork {
  readonly starts: number
  readonly reloads: number
  readonly commands: number
}

/** Pause between two looks at a master whose socket is closed. */
const watchMs = 10
/** Pause between two looks for a master where none could be started yet. */
const idleWatchMs = 200
const [verifyMs, countMs] = [5000, 1000]
/** Attempts to bring haproxy to a table by commands before a reload does it. */
const maxAttempts = 2

/** Serves Ingresses by a haproxy of its own, which outlives this process and is found again by the next one. */
export class HaproxyDriver implements IngressDriver {
  readonly name = 'ingress-haproxy'
  readonly kind = 'haproxy'
  readonly #parts: HaproxyParts
  readonly #settings: HaproxySettings
  readonly #process: HaproxyProcess
  readonly #accessLog: AccessLog
  readonly #listeners: KeptListeners
  readonly #totals = new AnswerTotals()
  readonly #backoff = new Backoff({ baseMs: 100, maxMs: 30_000 })
  readonly #watches: readonly Periodic[]
  #master: ProcessIdentity | undefined
  /** The holding of the worker; undefined until it was read, and after a failure. */
  #holding: Holding | undefined
  #table: RoutingTable | undefined
  #worker: number | undefined
  /** Workers that reloads replaced and that still have connections. */
  #oldWorkers: readonly number[] = []
  #refusedRoutes = new RefusedRoutes()
  #leftOut: readonly RoutingRefusal[] = []
  /** Addresses that another program has. */
  #taken: TakenAddresses = new Set()
  #turn: Promise<unknown> = Promise.resolve()
  #restartAtMs = 0
  readonly #health = new HealthKeeper('unknown', 'waits for the first routes')
  #work = { starts: 0, reloads: 0, commands: 0 }

  constructor(parts: HaproxyParts) {
    this.#parts = parts
    this.#settings = withinFileLimit(parts, openFileLimit())
    this.#process = new HaproxyProcess(parts.folder, parts.run)
    this.#listeners = new KeptListeners(this.#process.paths.keptSocket)
    this.#accessLog = new AccessLog(this.#process.paths.accessLog, {
      ...parts,
      serviceOf: (proxy) => this.#table?.backends.get(this.#holding?.proxies.get(proxy)?.backend ?? '')?.service,
    })
    const every = (intervalMs: number, job: (scope: { signal: AbortSignal }) => Promise<void>) =>
      new Periodic(job, { intervalMs, onError: (error) => this.#health.set('degraded', describeError(error)) })
    this.#watches = [
      every(watchMs, (scope) => this.#watchMaster(scope)),
      every(verifyMs, () => this.#verify()),
      every(countMs, () => this.#countOldWorkers()),
    ]
  }

  async start(): Promise<void> {
    logFewerConnections(this.#parts, this.#settings.limits.maxConnections)
    this.#master = await this.#process.find()
    if (this.#master !== undefined) this.#oldWorkers = (await this.#process.processes()).oldWorkers
    if (this.#master !== undefined) this.#watch()
  }

  /** Without a haproxy and before the first routes there is nothing to look at. */
  #watch(): void {
    for (const watch of this.#watches) watch.start()
  }

  /** haproxy goes on without this process. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop(scope)))
    this.#accessLog.close()
    this.#listeners.close()
  }

  health(): Health {
    return this.#health.current
  }

  get isServing(): boolean {
    return this.#master !== undefined
  }

  get work(): HaproxyWork {
    return this.#work
  }

  /** Ends haproxy with its connections and removes its files. */
  async remove(): Promise<void> {
    this.#accessLog.close()
    this.#listeners.close()
    await this.#inTurn(() => this.#process.remove())
  }

  /** Throws HaproxyError where nothing could be changed. */
  apply(table: RoutingTable, change: RoutingChange): Promise<readonly RoutingRefusal[]> {
    return this.#inTurn(async () => {
      const known = this.#table === undefined ? undefined : change
      this.#table = table
      this.#watch()
      try {
        await this.#bring(known)
        this.#setServing()
      } catch (error) {
        this.#holding = undefined
        this.#health.set('degraded', describeError(error))
        throw error
      }
      return [...this.#leftOut, ...this.#refusedRoutes.all()]
    })
  }

  /** Counts answers by Ingress since the worker started that was there first; asks haproxy. */
  async answerCounts(): Promise<readonly AnswerCount[]> {
    await this.#inTurn(() => this.#count()).catch(() => {})
    return this.#totals.totals()
  }

  /** Brings haproxy to the table; `change` is what differs from the table before, undefined if that is not known. */
  async #bring(change: RoutingChange | undefined): Promise<void> {
    if (this.#master === undefined || !isAlive(this.#master)) return await this.#startAnew()
    const wasKnown = this.#holding !== undefined
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const difference = await this.#change(wasKnown && attempt === 1 ? change : undefined)
      if (difference?.kind === 'reload') return this.#reload(difference.reason)
      if (difference !== undefined) return
    }
    await this.#reload('commands of the runtime socket failed')
  }

  /** Makes one attempt by commands; undefined if a command failed. */
  async #change(change: RoutingChange | undefined): Promise<Difference | undefined> {
    const table = withoutObjects(this.#wanted(), this.#leftOut)
    using socket = await RuntimeSocket.open(this.#process.paths.runtimeSocket)
    if (this.#holding === undefined) {
      const stale = await this.#readHolding(socket)
      if (stale !== undefined) return { kind: 'reload', reason: stale }
    }
    const held = this.#holding
    if (held === undefined) return undefined
    const difference = diffTable(held, table, { maxCommandBytes: maxCommandBytes(this.#settings) }, change)
    if (difference.kind === 'reload') return difference
    try {
      await runCommands(socket, difference.commands)
    } catch (error) {
      this.#afterFailure(error, table)
      return undefined
    }
    this.#work.commands += difference.commands.length
    this.#holding = difference.holding
    this.#refusedRoutes.set(difference.refused)
    return difference
  }

  /** Reads what the worker holds; returns why it cannot be used, if so. */
  async #readHolding(socket: RuntimeSocket): Promise<string | undefined> {
    const info = await askInfo(socket)
    const holding = await askHolding(socket)
    const hasDefault = holding.defaultCertificate !== undefined
    const taken = subsets(this.#settings).find(
      (some) => settingsHash(withoutTaken(this.#settings, some), hasDefault) === info.settings,
    )
    if (taken === undefined) return 'the settings have changed'
    this.#taken = taken
    this.#worker = info.pid
    this.#holding = holding
    this.#accessLog.open()
    await this.#listeners.take(this.#process.paths.runtimeSocket)
    return undefined
  }

  #afterFailure(error: unknown, table: RoutingTable): void {
    this.#parts.log.warn('haproxy did not take a change; its state is read again', { error })
    this.#holding = undefined
    if (!(error instanceof RefusedCommand)) return
    const named = error.certificate === undefined ? undefined : namedCertificate(table, error.certificate)
    if (named !== undefined) this.#leftOut = [...this.#leftOut, { ...named, reason: error.message }]
  }

  async #startAnew(): Promise<void> {
    try {
      await this.#onFreeAddresses(async () => this.#startWith(await this.#writeFiles()))
    } catch (error) {
      // Connections must not wait for a haproxy that does not start.
      this.#listeners.close()
      throw error
    }
  }

  /** Does it again without the addresses that haproxy could not bind, if there are any. */
  async #onFreeAddresses(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#noteTaken(error)) throw error
      await this.#onFreeAddresses(work)
    }
  }

  #noteTaken(error: unknown): boolean {
    const taken = readTaken(error).filter((name) => !this.#taken.has(name))
    if (taken.length === 0) return false
    this.#taken = new Set([...this.#taken, ...taken])
    this.#parts.log.error('Ingresses are not served on an address', { reason: this.#lost })
    return true
  }

  async #takeFreed(): Promise<void> {
    if (this.#taken.size === 0) return
    const free = await findFree(this.#settings, this.#taken)
    if (free.length === 0) return
    this.#taken = new Set([...this.#taken].filter((name) => !free.includes(name)))
    await this.#reload('an address is free')
  }

  get #served(): HaproxySettings {
    return withoutTaken(this.#settings, this.#taken)
  }

  get #lost(): string | undefined {
    return explainTaken(this.#settings, this.#taken)
  }

  #setServing(): void {
    const lost = this.#lost
    if (lost === undefined) this.#health.set('ok', 'haproxy serves the routes')
    else this.#health.set('degraded', lost)
  }

  /** Starts haproxy with what it held when it ended, which it took before, so that no check comes first. */
  async #startAgain(): Promise<void> {
    try {
      await this.#startWith(this.#writeHeld())
    } catch (error) {
      this.#parts.log.warn('haproxy did not start with what it held; its files are written and checked anew', { error })
      await this.#startAnew()
    }
  }

  async #startWith(generation: number): Promise<void> {
    this.#master = await this.#listeners.offerWhile((kept) => this.#process.start(generation, kept))
    this.#work.starts += 1
    await this.#adopt()
    this.#parts.log.info('haproxy is started', { pid: this.#master.pid })
  }

  async #reload(reason: string): Promise<void> {
    await this.#count()
    try {
      await this.#process.reload(await this.#writeFiles())
    } catch (error) {
      if (!this.#noteTaken(error)) throw error
      // The worker that did not start has taken the runtime socket with it.
      this.#accessLog.close()
      await this.#process.remove()
      return await this.#startAnew()
    }
    this.#work.reloads += 1
    this.#oldWorkers = (await this.#process.processes()).oldWorkers
    await this.#adopt()
    this.#parts.log.info('haproxy is reloaded', { reason })
  }

  async #adopt(): Promise<void> {
    this.#worker = (await this.#process.info()).pid
    this.#accessLog.open()
    await this.#listeners.take(this.#process.paths.runtimeSocket)
  }

  #writeHeld(): number {
    const generation = this.#process.nextGeneration()
    const table = withoutObjects(this.#wanted(), this.#leftOut)
    const { holding, refused } = holdTable(table, this.#holding)
    this.#process.writeFiles(renderFiles(this.#served, { holding, generation }, table.certificates), generation)
    this.#holding = holding
    this.#refusedRoutes = RefusedRoutes.of(refused)
    return generation
  }

  /** Writes files that haproxy takes, if need be without the objects that it refuses. */
  async #writeFiles(): Promise<number> {
    const generation = this.#process.nextGeneration()
    const earlier = this.#holding
    let made: ReturnType<typeof holdTable> | undefined
    const check = async (table: RoutingTable) => {
      made = holdTable(table, earlier)
      const files = renderFiles(this.#served, { holding: made.holding, generation }, table.certificates)
      await this.#process.writeChecked(files, generation)
    }
    this.#leftOut = await isolate(this.#wanted(), check)
    if (made === undefined) throw new HaproxyError('refused-config', 'no files were written')
    this.#holding = made.holding
    this.#refusedRoutes = RefusedRoutes.of(made.refused)
    return generation
  }

  #wanted(): RoutingTable {
    if (this.#table === undefined) throw new HaproxyError('not-started', 'haproxy was given no routes yet')
    return this.#table
  }

  async #watchMaster(scope: { signal: AbortSignal }): Promise<void> {
    if (this.#master !== undefined && isAlive(this.#master)) return await this.#process.untilMasterCloses(scope)
    if (this.#master === undefined) await sleep(idleWatchMs, undefined, scope).catch(() => {})
    if (!scope.signal.aborted) await this.#restart()
  }

  async #restart(): Promise<void> {
    if (this.#table === undefined || performance.now() < this.#restartAtMs) return
    await this.#inTurn(async () => {
      if (this.#master !== undefined && isAlive(this.#master)) return
      this.#restartAtMs = performance.now() + this.#backoff.nextDelayMs()
      this.#health.set('degraded', 'haproxy has ended and is started again')
      this.#parts.log.error('haproxy has ended; it is started again', {})
      await this.#startAgain()
      this.#setServing()
    })
  }

  /** Another one may have reloaded haproxy, which then has the files of the last reload. */
  async #verify(): Promise<void> {
    if (this.#table === undefined || this.#master === undefined || !isAlive(this.#master)) return
    await this.#inTurn(async () => {
      const { pid } = await this.#process.info()
      if (pid !== this.#worker) {
        this.#holding = undefined
        await this.#bring(undefined)
      }
      this.#backoff.reset()
      await this.#takeFreed()
      if (this.#holding !== undefined) this.#setServing()
    })
  }

  async #count(): Promise<void> {
    const counts = await this.#process.ask((socket) => socket.ask(showCounters))
    if (this.#worker !== undefined) this.#totals.set(this.#worker, readCounters(counts))
  }

  /** Reads the counters of workers that a reload replaced, until they end. */
  async #countOldWorkers(): Promise<void> {
    if (this.#oldWorkers.length === 0) return
    await this.#inTurn(async () => {
      const { worker, oldWorkers } = await this.#process.processes()
      for (const [pid, text] of await this.#process.askWorkers(oldWorkers, showCounters))
        this.#totals.set(pid, readCounters(text))
      this.#oldWorkers = oldWorkers
      this.#totals.keepOnly(new Set([...oldWorkers, ...(worker === undefined ? [] : [worker])]))
    })
  }

  /** One change at a time. */
  #inTurn<T>(job: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(job, job)
    this.#turn = result.catch(() => {})
    return result
  }
}
