import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import { receiveBody } from '../decode/receive-body.ts'
import type { ApiLimits } from '../limits.ts'
import { tooManyRequests } from '../status.ts'
import { Claim, FairShare } from './fair-share.ts'
import type { Flow } from './flow.ts'
import { InFlight } from './in-flight.ts'

const mebibyte = 1024 * 1024
/** The limit for request bodies that are being received or processed; lower on a small machine. */
const maxBodyBytes = Math.min(256 * mebibyte, getHeapStatistics().heap_size_limit / 8)
/** The limit for data of watches that clients have not read yet. */
const maxUnreadBytes = 512 * mebibyte
/** The connections for each watch: a watch has its own connection, other requests share a few. */
const connectionsPerWatch = 2

/** The shares of this server that the requests of all flows may hold at one time. */
export class RequestShares {
  readonly inFlight: InFlight
  readonly #bodies = new FairShare(maxBodyBytes)
  readonly #unread = new FairShare(maxUnreadBytes)
  readonly #watches: FairShare
  readonly #connections: FairShare
  readonly #counted = new WeakSet<Socket>()

  constructor(limits: ApiLimits) {
    this.inFlight = new InFlight(limits)
    this.#watches = new FairShare(() => limits.maxWatches)
    this.#connections = new FairShare(() => limits.maxWatches * connectionsPerWatch)
  }

  get watches(): number {
    return this.#watches.used
  }

  /** Counts a connection to the first flow that sends a request over it. Throws a 429. */
  countConnection(flow: Flow, socket: Socket): void {
    if (this.#counted.has(socket)) return
    if (!this.#connections.take(flow)) throw tooManyRequests()
    this.#counted.add(socket)
    socket.once('close', () => this.#connections.giveBack(flow))
  }

  /** Receives the body, then does the work; the body's bytes count until the work ends. Throws a 413 or a 429. */
  async withBody<T>(flow: Flow, request: IncomingMessage, work: () => Promise<T>): Promise<T> {
    const claim = new Claim(this.#bodies, flow)
    try {
      await receiveBody(request, (bytes) => claim.resize(bytes))
      return await work()
    } finally {
      claim.release()
    }
  }

  /** Counts a connection with a pod, a Service or a node like a watch, until the returned function is called. Throws a 429. */
  openConnection(flow: Flow): () => void {
    if (!this.#watches.take(flow)) throw tooManyRequests()
    return () => this.#watches.giveBack(flow)
  }

  /** Counts a watch, and the data that its client has not read, until its answer ends. Throws a 429. */
  openWatch(flow: Flow, response: ServerResponse): Claim {
    if (!this.#watches.take(flow)) throw tooManyRequests()
    response.once('close', () => this.#watches.giveBack(flow))
    return new Claim(this.#unread, flow)
  }
}
