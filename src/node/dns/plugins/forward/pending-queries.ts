import { readUint16, writeUint16 } from '../../wire/bytes.ts'
import { foldByte, skipPlainName } from '../../wire/name.ts'
import { headerLength } from '../../wire/query.ts'
import type { RandomNumbers } from './random-numbers.ts'
import { UpstreamError } from './upstream-error.ts'

interface Pending {
  readonly query: Buffer
  readonly questionEnd: number
  readonly resolve: (reply: Buffer) => void
  readonly reject: (error: UpstreamError) => void
  readonly timer: NodeJS.Timeout
}

/** The low four bits of the rcodes that an answer without its question may have: FORMERR, SERVFAIL, NOTIMP, REFUSED. */
const bareRcodes = new Set([1, 2, 4, 5])

/**
 * The queries in progress on one socket, each with an ID that cannot be guessed. Only a message with the ID and the question of a query is its
 * answer; any other is skipped, and the query goes on waiting.
 */
export class PendingQueries {
  readonly #where: string
  readonly #random: RandomNumbers
  readonly #onEmpty: () => void
  readonly #pending = new Map<number, Pending>()

  /** Calls `onEmpty` when the last query was answered or given up. */
  constructor(where: string, random: RandomNumbers, onEmpty: () => void = () => {}) {
    this.#where = where
    this.#random = random
    this.#onEmpty = onEmpty
  }

  get size(): number {
    return this.#pending.size
  }

  /** Gives the query an ID, in place, and waits for its answer. */
  add(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const id = this.#freeId()
    writeUint16(query, 0, id)
    const questionEnd = skipPlainName(query, headerLength, query.length) + 4
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#drop(id)
        reject(new UpstreamError('timeout', `${this.#where} did not answer within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#pending.set(id, { query, questionEnd, resolve, reject, timer })
    })
  }

  /** Passes a message to its query. Returns false where it answers none. */
  settle(message: Buffer): boolean {
    if (message.length < headerLength) return false
    const id = readUint16(message, 0)
    const pending = this.#pending.get(id)
    if (pending === undefined || !answers(message, pending)) return false
    this.#drop(id)
    clearTimeout(pending.timer)
    pending.resolve(message)
    return true
  }

  failAll(error: UpstreamError): void {
    for (const { timer, reject } of this.#pending.values()) {
      clearTimeout(timer)
      reject(error)
    }
    this.#pending.clear()
    this.#onEmpty()
  }

  #drop(id: number): void {
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#onEmpty()
  }

  #freeId(): number {
    for (;;) {
      const id = this.#random.uint16()
      if (!this.#pending.has(id)) return id
    }
  }
}

function answers(message: Buffer, { query, questionEnd }: Pending): boolean {
  const flags = readUint16(message, 2)
  if ((flags & 0x8000) === 0) return false
  const questions = readUint16(message, 4)
  if (questions === 0) return bareRcodes.has(flags & 0xf) && message.length === headerLength
  if (questions !== 1 || message.length < questionEnd) return false
  for (let at = headerLength; at < questionEnd; at++)
    if (foldByte(message[at] ?? 0) !== foldByte(query[at] ?? 0)) return false
  return true
}
