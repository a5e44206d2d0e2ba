import type { MessagePort } from 'node:worker_threads'
import { Deadlines, type TimedJob } from '../../../loop/deadlines.ts'
import type { Series } from '../metrics/series.ts'
import type { ForwardedQuestion, ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'
import type { Answer } from '../plugins/handler.ts'
import {
  type DatagramPlace,
  type HandedCopy,
  type HandedDatagrams,
  isSamePlace,
  type ListeningPlaces,
  packRequests,
  placeOf,
  type ResultBatch,
  type SharedProgress,
  unpackResults,
} from './batches.ts'
import { DatagramPack } from './datagram-pack.ts'

interface WaitingQuestion extends TimedJob {
  readonly done: (answer: Answer | undefined) => void
}

const timeoutMs = 15_000
/**
 * The most bytes of datagrams that wait for the other thread, about ten thousand of them. A thread that is behind by more would answer clients that have
 * asked again; what comes on top is dropped, as the kernel drops what no socket takes.
 */
const maxWaitingBytes = 1024 * 1024

/** Receives the copy of a cached answer, the answer to a datagram that was handed over. */
export type KeepCopy = (handed: HandedCopy) => void

/** A serving thread's channel to the one with the resolver. The requests of one turn of the event loop go in one message. */
export class ResolveClient {
  readonly #waiting = new Map<number, WaitingQuestion>()
  readonly #deadlines = new Deadlines()
  #port: MessagePort | undefined
  #outbox: ResolveRequest[] = []
  #nextId = 1
  readonly #keepCopy: KeepCopy
  /** Datagrams that are handed over at the end of this turn, by the place that received them. */
  readonly #packs = new Map<DatagramPlace, DatagramPack>()
  #isHandingOver = false
  /** The bytes of datagrams that were handed over, and how many the other thread has taken, both modulo 2^32. */
  #handedBytes = 0
  /** Datagrams that the other thread, being behind, never got. */
  #dropped = 0
  #taken: SharedProgress['taken'] = new Int32Array(new SharedArrayBuffer(4))
  /** Where the thread with the resolver listens, as it last said. */
  #places: ListeningPlaces['places'] = []

  constructor(keepCopy: KeepCopy = () => {}) {
    this.#keepCopy = keepCopy
  }

  /** Connects to a resolver. A former one has ended: its open requests get no answer. */
  connect(port: MessagePort): void {
    this.#port?.close()
    this.#finishAll()
    this.#port = port
    this.#places = []
    this.#handedBytes = 0
    this.#taken = new Int32Array(new SharedArrayBuffer(4))
    port.postMessage({ taken: this.#taken } satisfies SharedProgress)
    // The thread with the resolver has ended.
    port.once('close', () => {
      if (this.#port !== port) return
      this.#port = undefined
      this.#finishAll()
    })
    port.on('message', (message: ResultBatch | HandedCopy | ListeningPlaces) => {
      if ('places' in message) this.#places = message.places
      else if ('block' in message) this.#keepCopy(message)
      else for (const result of unpackResults(message)) this.#finish(result.id, answerOf(result))
    })
  }

  /**
   * Hands a datagram over: the thread with the resolver answers it, with its own socket of that place. Returns false, and takes nothing, where that
   * thread is not running or does not listen there.
   */
  handOver(place: DatagramPlace, bytes: Buffer, length: number, source: Buffer): boolean {
    if (this.#port === undefined || !this.#places.some((one) => isSamePlace(one, place))) return false
    let pack = this.#packs.get(place)
    if (pack === undefined) {
      pack = new DatagramPack()
      this.#packs.set(place, pack)
    }
    pack.add(bytes, length, source)
    if (this.#isHandingOver) return true
    this.#isHandingOver = true
    setImmediate(() => this.#handAllOver())
    return true
  }

  /** Gives undefined when the resolver does not answer, and at once where its thread is not running. */
  resolve({ query, ...asked }: ForwardedQuestion): Promise<Answer | undefined> {
    if (this.#port === undefined) return Promise.resolve(undefined)
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

  *series(): Iterable<Series> {
    yield { kind: 'counter', name: 'platnet_dns_dropped_datagrams_total', labels: {}, value: this.#dropped }
  }

  #handAllOver(): void {
    this.#isHandingOver = false
    for (const [place, pack] of this.#packs) {
      if (pack.isEmpty) {
        this.#packs.delete(place)
        continue
      }
      // Taken in any case: what cannot be sent now would be stale later.
      const { count } = pack
      const packed = pack.take()
      if (this.#waitingBytes() > maxWaitingBytes) {
        this.#dropped += count
        continue
      }
      this.#handedBytes = (this.#handedBytes + packed.length) | 0
      this.#port?.postMessage({ place: placeOf(place), packed } satisfies HandedDatagrams)
    }
  }

  #waitingBytes(): number {
    return (this.#handedBytes - Atomics.load(this.#taken, 0)) | 0
  }

  #flush(): void {
    this.#port?.postMessage(packRequests(this.#outbox))
    this.#outbox = []
  }

  #finishAll(): void {
    for (const id of [...this.#waiting.keys()]) this.#finish(id, undefined)
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
