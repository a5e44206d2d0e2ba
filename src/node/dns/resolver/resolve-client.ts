import type { MessagePort } from 'node:worker_threads'
import type { ResolveRequest, ResolveResult } from '../threads/messages.ts'

type Done = (result: ResolveResult | undefined) => void

const patienceMs = 15_000

/** A serving thread's line to the one that resolves. What is asked in one turn of the event loop goes in one message. */
export class ResolveClient {
  readonly #waiting = new Map<number, Done>()
  #port: MessagePort | undefined
  #outbox: ResolveRequest[] = []
  #nextId = 1

  /** The other thread may have begun anew: what was asked of the former is lost. */
  connect(port: MessagePort): void {
    this.#port?.close()
    for (const done of this.#waiting.values()) done(undefined)
    this.#waiting.clear()
    this.#port = port
    port.on('message', (results: readonly ResolveResult[]) => this.#take(results))
  }

  /** Undefined when nobody resolves. The question's bytes are copied. */
  run(errand: Omit<ResolveRequest, 'id'>): Promise<ResolveResult | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    // A view would be sent with all of the memory it looks at.
    this.#outbox.push({ ...errand, id, question: new Uint8Array(errand.question) })
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#finish(id, undefined), patienceMs)
      this.#waiting.set(id, (result) => {
        clearTimeout(late)
        resolve(result)
      })
    })
  }

  close(): void {
    this.#port?.close()
  }

  #flush(): void {
    this.#port?.postMessage(this.#outbox)
    this.#outbox = []
  }

  #take(results: readonly ResolveResult[]): void {
    for (const result of results) this.#finish(result.id, result)
  }

  #finish(id: number, result: ResolveResult | undefined): void {
    const done = this.#waiting.get(id)
    this.#waiting.delete(id)
    done?.(result)
  }
}
