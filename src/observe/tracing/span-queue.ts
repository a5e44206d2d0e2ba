import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import { orAborted } from '../../loop/deadline.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../logger.ts'
import type { QueueSettings } from './settings.ts'
import type { EndedSpan, SpanSink } from './tracer.ts'

/** Sends spans to a collector. */
export interface SpanExporter {
  /** Resolves when the collector has taken the spans; rejects where it has not. */
  export(spans: readonly EndedSpan[]): Promise<void>
  close(): Promise<void>
}

/** The spans of this process so far, by what became of them. */
export interface SpanCounts {
  readonly exported: number
  /** Dropped because this queue or that of a thread was full. */
  readonly overflowed: number
  /** Dropped because the collector took them in no attempt. */
  readonly refused: number
}

interface Batch {
  readonly spans: readonly EndedSpan[]
  attempts: number
}

/** The exports of one batch that are tried; the collector may restart meanwhile. */
const maxAttempts = 5
const retryMs = { baseMs: 1000, maxMs: 10_000 }
const maxErrorLength = 300

/** Holds ended spans, at most `maxSpans`, and exports them in batches, one at a time. What does not fit is dropped and counted. */
export class SpanQueue implements SpanSink {
  readonly #exporter: SpanExporter
  readonly #settings: QueueSettings
  readonly #log: Logger
  readonly #runner: BoundedFrequencyRunner
  readonly #counts = { exported: 0, overflowed: 0, refused: 0 }
  #waiting: EndedSpan[] = []
  /** The batch on its way; it counts against the limit. */
  #batch: Batch | undefined
  #isTroubled = false

  constructor(exporter: SpanExporter, settings: QueueSettings, log: Logger) {
    this.#exporter = exporter
    this.#settings = settings
    this.#log = log
    this.#runner = new BoundedFrequencyRunner(() => this.#exportWaiting(), {
      backoff: new Backoff(retryMs),
      minGapMs: settings.delayMs,
      onError: (error) => this.#warn(error),
    })
  }

  get counts(): SpanCounts {
    return this.#counts
  }

  /** The number of spans that wait or are on their way. */
  get size(): number {
    return this.#waiting.length + (this.#batch?.spans.length ?? 0)
  }

  add(span: EndedSpan): void {
    if (this.size >= this.#settings.maxSpans) {
      this.#counts.overflowed += 1
      return
    }
    this.#waiting.push(span)
    this.#runner.request({ urgent: this.#waiting.length >= this.#settings.maxBatch })
  }

  drop(count: number): void {
    this.#counts.overflowed += count
  }

  /** Exports what waits, each batch tried once more, and closes the exporter. At the deadline the rest is dropped. */
  async close(signal: AbortSignal): Promise<void> {
    await orAborted(this.#flush(signal), signal).catch((error) => this.#warn(error))
    this.#counts.refused += this.size
    this.#waiting = []
    this.#batch = undefined
    await orAborted(this.#exporter.close(), signal).catch(() => {})
  }

  async #flush(signal: AbortSignal): Promise<void> {
    await this.#runner.stop({ signal })
    while (this.size > 0) await this.#exportBatch()
  }

  /** Exports what waits now, and goes on while full batches have gathered meanwhile. */
  async #exportWaiting(): Promise<void> {
    while (this.size > 0) {
      await this.#exportBatch()
      if (this.#waiting.length < this.#settings.maxBatch) break
    }
  }

  async #exportBatch(): Promise<void> {
    const { maxBatch, timeoutMs } = this.#settings
    const batch = this.#batch ?? { spans: this.#waiting.splice(0, maxBatch), attempts: 0 }
    this.#batch = batch
    batch.attempts += 1
    try {
      await orAborted(this.#exporter.export(batch.spans), AbortSignal.timeout(timeoutMs))
    } catch (error) {
      if (batch.attempts >= maxAttempts) this.#giveUp(batch)
      throw error
    }
    if (this.#batch !== batch) return
    this.#counts.exported += batch.spans.length
    this.#batch = undefined
    this.#recover()
  }

  #giveUp({ spans }: Batch): void {
    this.#counts.refused += spans.length
    this.#batch = undefined
  }

  /** Warns once until the collector takes spans again. */
  #warn(error: unknown): void {
    if (this.#isTroubled) return
    this.#isTroubled = true
    this.#log.warn('spans cannot be exported; they wait where there is room, and the others are dropped', {
      error: describeError(error).slice(0, maxErrorLength),
      remedy: 'see OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL and the collector',
    })
  }

  #recover(): void {
    if (!this.#isTroubled) return
    this.#isTroubled = false
    this.#log.info('spans are exported again', { ...this.#counts })
  }
}
