import { randomBytes } from 'node:crypto'
import { writeUint16 } from '../../wire/bytes.ts'
import { recordClass, recordType } from '../../wire/codes.ts'
import { encodeName, foldName } from '../../wire/name.ts'
import { headerLength, type Query } from '../../wire/query.ts'
import { promiseReply } from '../forward/pending-queries.ts'
import type { Upstream } from '../forward/upstream.ts'

export interface LoopEvents {
  /** A query for the upstream came back to this server. */
  readonly onLoop: (upstream: Upstream) => void
  readonly onEnd: (upstream: Upstream) => void
}

/** The delays of the probes: soon after the start, while the network comes up, then now and then, because the route to an upstream may change. */
const firstDelaysMs = [100, 2_000, 8_000, 20_000]
const laterDelayMs = 30_000

/**
 * Finds upstreams that lead back to this server. Each is asked for a random name; when a query for that name arrives here, the upstream is not
 * asked any more until a later probe does not come back.
 */
export class LoopProbes {
  readonly #zone: Uint8Array
  readonly #upstreams: readonly Upstream[]
  readonly #events: LoopEvents
  readonly #probes = new Map<string, Upstream>()
  readonly #seen = new Set<Upstream>()
  #timer: NodeJS.Timeout | undefined
  #round = 0

  constructor(zone: Uint8Array, upstreams: readonly Upstream[], events: LoopEvents) {
    this.#zone = zone
    this.#upstreams = upstreams
    this.#events = events
  }

  start(): void {
    const delayMs = firstDelaysMs[this.#round] ?? laterDelayMs
    this.#round += 1
    this.#timer = setTimeout(() => void this.#probeAll().finally(() => this.start()), delayMs).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Returns whether the query is a probe that came back; such a query gets no answer. */
  isOurs(query: Query): boolean {
    if (query.type !== recordType.HINFO || this.#probes.size === 0) return false
    const upstream = this.#probes.get(keyOf(query.name))
    if (upstream === undefined) return false
    this.#seen.add(upstream)
    if (upstream.disabledBecause === undefined) {
      upstream.disable('queries to it come back to this server')
      this.#events.onLoop(upstream)
    }
    return true
  }

  async #probeAll(): Promise<void> {
    await Promise.all(this.#upstreams.map((upstream) => this.#probe(upstream)))
  }

  async #probe(upstream: Upstream): Promise<void> {
    this.#seen.delete(upstream)
    const labels = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]
    const name = Buffer.concat([encodeName(labels.join('.')).subarray(0, -1), this.#zone])
    this.#probes.set(keyOf(name), upstream)
    const maker = { makeQuery: () => makeHinfoQuery(name) }
    const answered = await promiseReply((sink) => upstream.ask(maker, false, sink)).then(
      () => true,
      () => false,
    )
    this.#probes.delete(keyOf(name))
    if (this.#timer === undefined || !answered || this.#seen.has(upstream)) return
    if (upstream.disabledBecause === undefined) return
    upstream.disable(undefined)
    this.#events.onEnd(upstream)
  }
}

function keyOf(name: Uint8Array): string {
  return foldName(name).toString('latin1')
}

function makeHinfoQuery(name: Buffer): Buffer {
  const message = Buffer.alloc(headerLength + name.length + 4)
  writeUint16(message, 2, 0x0100)
  writeUint16(message, 4, 1)
  name.copy(message, headerLength)
  writeUint16(message, headerLength + name.length, recordType.HINFO)
  writeUint16(message, headerLength + name.length + 2, recordClass.IN)
  return message
}
