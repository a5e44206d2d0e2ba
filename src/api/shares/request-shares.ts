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
/** Of bodies that are being received or worked on; on a small machine less. */
const maxBodyBytes = Math.min(256 * mebibyte, getHeapStatistics().heap_size_limit / 8)
/** Of watches, left unread by their clients. */
const maxUnreadBytes = 512 * mebibyte
/** A watch has a connection of its own; other requests share a few. */
const connectionsPerWatch = 2

/** What the requests of all flows may hold of this server at once. */
export class RequestShares {
  readonly inFlight: InFlight
  readonly #bodies = new FairShare(maxBodyBytes)
  readonly #unread = new FairShare(maxUnreadBytes)
  readonly #watches: FairShare
  readonly #connections: FairShare
  readonly #counted = new WeakSet<Socket>()

  constructor(limits: ApiLimits) {
    this.inFlight = new InFlight(limits)
    this.#watches = new FairShare(limits.maxWatches)
    this.#connections = new FairShare(limits.maxWatches * connectionsPerWatch)
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

  /** Receives the body, then does the work; the body's bytes count until that is done. Throws a 413 or a 429. */
  async withBody<T>(flow: Flow, request: IncomingMessage, work: () => Promise<T>): Promise<T> {
    const claim = new Claim(this.#bodies, flow)
    try {
      await receiveBody(request, (bytes) => claim.resize(bytes))
      return await work()
    } finally {
      claim.release()
    }
  }

  /** Counts a watch until its answer ends; what its client may leave unread. Throws a 429. */
  openWatch(flow: Flow, response: ServerResponse): Claim {
    if (!this.#watches.take(flow)) throw tooManyRequests()
    response.once('close', () => this.#watches.giveBack(flow))
    return new Claim(this.#unread, flow)
  }
}
