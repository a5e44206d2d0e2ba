import { setTimeout as sleep } from 'node:timers/promises'
import { Periodic } from '../loop/periodic.ts'
import { Sampler } from './sampler.ts'
import { type ServiceRow, serviceRow } from './service-rows.ts'
import type { ConsoleSource, LiveSource } from './source.ts'
import { eventText, type Viewer } from './viewer.ts'

export interface HubTiming {
  /** Between two deltas of Services, and between two looks at the documents. */
  readonly flushMs: number
  readonly documentsMs: number
  readonly sampleMs: number
  /** How long the source stays open without a viewer. */
  readonly lingerMs: number
}

const defaultTiming: HubTiming = { flushMs: 500, documentsMs: 2_000, sampleMs: 5_000, lingerMs: 120_000 }

/** Rows in one event of the first list, so that the browser draws in between. */
const chunkRows = 500

/** The parts that are open while someone looks. */
interface Opened {
  readonly live: LiveSource
  readonly documents: Map<string, string>
  readonly stop: () => Promise<void>
}

/** Sends to all viewers what changes; holds the source open from the first viewer until some time after the last. */
export class LiveHub {
  readonly #source: ConsoleSource
  readonly #timing: HubTiming
  readonly #viewers = new Set<Viewer>()
  readonly #changed = new Set<string>()
  readonly #sampler: Sampler
  #opened: Promise<Opened> | undefined
  #closing: AbortController | undefined
  #flushing: NodeJS.Timeout | undefined

  constructor(source: ConsoleSource, timing: Partial<HubTiming> = {}) {
    this.#source = source
    this.#timing = { ...defaultTiming, ...timing }
    const onPoint = (point: unknown) => this.#sendAll(eventText('point', point))
    this.#sampler = new Sampler({ ...source, onPoint, intervalMs: this.#timing.sampleMs })
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /** Sends everything to a viewer, then each change. A source that cannot be opened ends the stream; the page tries again. */
  async join(viewer: Viewer): Promise<void> {
    this.#closing?.abort()
    this.#viewers.add(viewer)
    viewer.gone.addEventListener('abort', () => this.#leave(viewer), { once: true })
    try {
      const { live, documents } = await this.#open()
      viewer.send('points', this.#sampler.points)
      for (const [name, json] of documents) viewer.sendText(documentText(name, json))
      await this.#sendServices(viewer, live)
    } catch (error) {
      this.#source.log.warn('the console cannot be opened', { error })
      this.#opened = undefined
      viewer.end()
    }
  }

  /** Ends all streams and closes the source. */
  async close(): Promise<void> {
    this.#closing?.abort()
    for (const viewer of this.#viewers) viewer.end()
    this.#viewers.clear()
    await this.#shut()
  }

  /** Rows are made when they are sent, so that none is older than a delta that was sent before it. */
  async #sendServices(viewer: Viewer, { services }: LiveSource): Promise<void> {
    const keys = [...services.serviceKeys()]
    viewer.send('services', { reset: keys.length, synced: services.synced })
    for (let at = 0; at < keys.length && !viewer.gone.aborted; at += chunkRows) {
      const rows = keys.slice(at, at + chunkRows).map((key) => rowOf(services, key))
      viewer.send('services', { rows: rows.filter((row) => row !== undefined) })
      await viewer.drained()
      await sleep(0)
    }
    viewer.send('services', { complete: true, synced: services.synced })
  }

  #leave(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    const closing = new AbortController()
    this.#closing = closing
    const wait = sleep(this.#timing.lingerMs, undefined, { signal: closing.signal, ref: false })
    void wait.then(() => this.#shut()).catch(() => {})
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#start()
    return this.#opened
  }

  async #start(): Promise<Opened> {
    const live = await this.#source.open()
    const documents = new Map<string, string>()
    this.#refreshDocuments(live, documents)
    const unsubscribe = live.services.subscribe(({ services }) => this.#note(services, live))
    const periodic = new Periodic(async () => this.#refreshDocuments(live, documents), {
      intervalMs: this.#timing.documentsMs,
      onError: (error) => this.#source.log.warn('the console could not describe this process', { error }),
    })
    periodic.start()
    const stopSampling = this.#sampler.start()
    const stop = async () => {
      unsubscribe()
      await Promise.all([periodic.stop({ signal: AbortSignal.timeout(1_000) }), stopSampling()])
      await live.close()
    }
    return { live, documents, stop }
  }

  async #shut(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    this.#changed.clear()
    await opened?.then(({ stop }) => stop()).catch(() => {})
  }

  #note(services: ReadonlySet<string>, live: LiveSource): void {
    for (const key of services) this.#changed.add(key)
    if (services.size === 0) return
    this.#flushing ??= setTimeout(() => this.#flush(live), this.#timing.flushMs)
  }

  /** A Service that changed several times since the last delta is sent once. */
  #flush({ services }: LiveSource): void {
    this.#flushing = undefined
    const rows: ServiceRow[] = []
    const gone: string[] = []
    for (const key of this.#changed) {
      const row = rowOf(services, key)
      if (row === undefined) gone.push(key)
      else rows.push(row)
    }
    this.#changed.clear()
    this.#sendAll(eventText('services', { rows, gone, synced: services.synced }))
  }

  #refreshDocuments(live: LiveSource, sent: Map<string, string>): void {
    for (const [name, describe] of Object.entries(live.documents)) {
      const json = JSON.stringify(describe())
      if (sent.get(name) === json) continue
      sent.set(name, json)
      this.#sendAll(documentText(name, json))
    }
  }

  #sendAll(text: string): void {
    for (const viewer of this.#viewers) viewer.sendText(text)
  }
}

function rowOf(services: LiveSource['services'], key: string): ServiceRow | undefined {
  const service = services.service(key)
  return service && serviceRow(service, services.slicesOf(key))
}

function documentText(name: string, json: string): string {
  return `event: document\ndata: {"name":${JSON.stringify(name)},"value":${json}}\n\n`
}
