import type { MessagePort } from 'node:worker_threads'
import type { ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'

type Done = (result: ResolveResult | undefined) => void

const timeoutMs = 15_000

/** A serving thread's channel to the resolver thread. The requests of one turn of the event loop go in one message. */
export class ResolveClient {
  readonly #waiting = new Map<number, Done>()
  #port: MessagePort | undefined
  #outbox: ResolveRequest[] = []
  #nextId = 1

  /** Connects to a resolver thread. A former one has ended: its open requests get no answer. */
  connect(port: MessagePort): void {
    this.#port?.close()
    for (const done of this.#waiting.values()) done(undefined)
    this.#waiting.clear()
    this.#port = port
    port.on('message', (results: readonly ResolveResult[]) => this.#take(results))
  }

  /** Gives undefined when the resolver thread does not answer. Copies the bytes of the question. */
  resolve(request: Omit<ResolveRequest, 'id'>): Promise<ResolveResult | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    // A view would be sent with all of the memory behind it.
    this.#outbox.push({ ...request, id, question: new Uint8Array(request.question) })
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#finish(id, undefined), timeoutMs)
      this.#waiting.set(id, (result) => {
        clearTimeout(timer)
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
