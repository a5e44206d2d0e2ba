import type { MessagePort } from 'node:worker_threads'
import { Deadlines, type TimedJob } from '../../../loop/deadlines.ts'
import type { ForwardedQuestion, ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'
import type { Answer } from '../plugins/handler.ts'
import { packRequests, type ResultBatch, unpackResults } from './batches.ts'

interface WaitingQuestion extends TimedJob {
  readonly done: (answer: Answer | undefined) => void
}

const timeoutMs = 15_000

/** A serving thread's channel to the one with the resolver. The requests of one turn of the event loop go in one message. */
export class ResolveClient {
  readonly #waiting = new Map<number, WaitingQuestion>()
  readonly #deadlines = new Deadlines()
  #port: MessagePort | undefined
  #outbox: ResolveRequest[] = []
  #nextId = 1

  /** Connects to a resolver. A former one has ended: its open requests get no answer. */
  connect(port: MessagePort): void {
    this.#port?.close()
    for (const id of [...this.#waiting.keys()]) this.#finish(id, undefined)
    this.#port = port
    port.on('message', (batch: ResultBatch) => {
      for (const result of unpackResults(batch)) this.#finish(result.id, answerOf(result))
    })
  }

  /** Gives undefined when the resolver does not answer. */
  resolve({ query, ...asked }: ForwardedQuestion): Promise<Answer | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    this.#outbox.push({ ...asked, id, question: query.bytes.subarray(0, query.length) })
    return new Promise((done) => {
      const waiting = { deadlineMs: 0, done, onLate: () => this.#finish(id, undefined) }
      this.#waiting.set(id, waiting)
      this.#deadlines.add(waiting, timeoutMs)
    })
  }

  close(): void {
    this.#port?.close()
  }

  #flush(): void {
    this.#port?.postMessage(packRequests(this.#outbox))
    this.#outbox = []
  }

  #finish(id: number, answer: Answer | undefined): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    this.#deadlines.remove(waiting, timeoutMs)
    waiting.done(answer)
  }
}

function answerOf({ plugin, ageMs, message, copy }: ResolveResult): Answer {
  const answer = { plugin, ageMs, message: message && Buffer.from(message.buffer, message.byteOffset, message.length) }
  return copy === undefined ? answer : { ...answer, copy }
}
