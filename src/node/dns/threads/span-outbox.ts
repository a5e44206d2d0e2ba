import type { EndedSpan, SpanSink } from '../../../observe/index.ts'

/** The spans of a thread that the main thread gets in one message. */
export interface ThreadSpans {
  readonly spans: readonly EndedSpan[]
  readonly dropped: number
}

const maxSpans = 1024
const flushMs = 200

/** Sends spans to the main thread, which exports them: a bounded number at a time, and few messages. */
export class SpanOutbox implements SpanSink {
  readonly #send: (batch: ThreadSpans) => void
  #spans: EndedSpan[] = []
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  constructor(send: (batch: ThreadSpans) => void) {
    this.#send = send
  }

  add(span: EndedSpan): void {
    if (this.#spans.length < maxSpans) this.#spans.push(span)
    else this.#dropped += 1
    this.#timer ??= setTimeout(() => this.flush(), flushMs)
  }

  drop(count: number): void {
    this.#dropped += count
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#spans.length === 0) return
    this.#send({ spans: this.#spans, dropped: this.#dropped })
    this.#spans = []
    this.#dropped = 0
  }
}
