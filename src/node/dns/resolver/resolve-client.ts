import type { MessagePort } from 'node:worker_threads'
import type { ForwardedQuestion, ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'
import type { Answer } from '../plugins/handler.ts'

type Done = (result: ResolveResult | undefined) => void

const timeoutMs = 15_000

/** A serving thread's channel to the one with the resolver. The requests of one turn of the event loop go in one message. */
export class ResolveClient {
  readonly #waiting = new Map<number, Done>()
  #port: MessagePort | undefined
  #outbox: ResolveRequest[] = []
  #nextId = 1

  /** Connects to a resolver. A former one has ended: its open requests get no answer. */
  connect(port: MessagePort): void {
    this.#port?.close()
    for (const done of this.#waiting.values()) done(undefined)
    this.#waiting.clear()
    this.#port = port
    port.on('message', (results: readonly ResolveResult[]) => this.#take(results))
  }

  /** Gives undefined when the resolver does not answer. Copies the bytes of the question. */
  async resolve({ query, ...asked }: ForwardedQuestion): Promise<Answer | undefined> {
    // A view would be sent with all of the memory behind it.
    const result = await this.#send({ ...asked, question: new Uint8Array(query.bytes.subarray(0, query.length)) })
    if (result === undefined) return undefined
    const { plugin, ageMs, message, copy } = result
    return { plugin, ageMs, message: message && Buffer.from(message.buffer), ...(copy && { copy }) }
  }

  close(): void {
    this.#port?.close()
  }

  #send(request: Omit<ResolveRequest, 'id'>): Promise<ResolveResult | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    this.#outbox.push({ ...request, id })
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#finish(id, undefined), timeoutMs)
      this.#waiting.set(id, (result) => {
        clearTimeout(timer)
        resolve(result)
      })
    })
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
