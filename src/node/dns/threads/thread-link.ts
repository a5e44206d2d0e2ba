import { once } from 'node:events'
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads'
import type { Logger } from '../../../observe/index.ts'
import { DnsError } from '../errors.ts'
import type { ThreadLogRecord } from './messages.ts'
import type { ThreadSpans } from './span-outbox.ts'

type Answered =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: string }
  | { readonly record: ThreadLogRecord }
  | { readonly batch: ThreadSpans }

interface Waiting {
  readonly resolve: (answer: never) => void
  readonly reject: (error: DnsError) => void
}

/** The main thread's end of the channel to one thread. Each kind of request has its kind of answer. */
export class ThreadLink<Request extends { readonly kind: string }, Answers extends Record<Request['kind'], unknown>> {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #log: Logger
  readonly #onSpans: (batch: ThreadSpans) => void
  #nextId = 1
  #isEnding = false

  /** Calls `onEnd` when the thread ends without a request to do so. */
  constructor(
    file: URL,
    options: {
      name: string
      limits?: ResourceLimits
      log: Logger
      onSpans?: (batch: ThreadSpans) => void
      onEnd: (error: DnsError) => void
    },
  ) {
    this.#onSpans = options.onSpans ?? (() => {})
    this.#log = options.log
    this.#worker = new Worker(file, { name: options.name, ...(options.limits && { resourceLimits: options.limits }) })
    this.#worker.on('message', (message: Answered) => this.#take(message))
    this.#worker.on('error', (error) => this.#log.error('a DNS thread failed', { thread: options.name, error }))
    this.#worker.once('exit', (code) => this.#onExit(code, options))
  }

  ask<Kind extends Request['kind']>(
    request: Extract<Request, { readonly kind: Kind }>,
    transfer: readonly Transferable[] = [],
  ): Promise<Answers[Kind]> {
    const id = this.#nextId
    this.#nextId += 1
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, request }, [...transfer])
    })
  }

  /** Ends the thread at once. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#worker.threadId === -1) return
    const exited = once(this.#worker, 'exit')
    await this.#worker.terminate()
    await exited
  }

  #take(message: Answered): void {
    if ('record' in message) {
      const { part, level, message: text, fields } = message.record
      this.#log.child(part)[level](text, fields)
      return
    }
    if ('batch' in message) {
      this.#onSpans(message.batch)
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if ('failure' in message) waiting?.reject(new DnsError('worker-ended', message.failure))
    else waiting?.resolve(message.answer as never)
  }

  #onExit(code: number, { name, onEnd }: { name: string; onEnd: (error: DnsError) => void }): void {
    const error = new DnsError('worker-ended', `the thread ${name} ended with code ${code}`)
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    if (!this.#isEnding) onEnd(error)
  }
}
