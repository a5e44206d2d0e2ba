import type { Deadlines, TimedJob } from '../../../../loop/deadlines.ts'
import { copyBytes, readUint16, writeUint16 } from '../../wire/bytes.ts'
import { skipPlainName } from '../../wire/name.ts'
import { headerLength } from '../../wire/query.ts'
import { isQuestionAt, type QuestionBytes } from '../../wire/question-hash.ts'
import type { RandomNumbers } from './random-numbers.ts'
import { UpstreamError } from './upstream-error.ts'

/** The low four bits of the rcodes that an answer without its question may have: FORMERR, SERVFAIL, NOTIMP, REFUSED. */
const bareRcodes = new Set([1, 2, 4, 5])

/** Receives the reply to one query, or the reason why there is none. */
export interface ReplySink {
  /** The message has memory of its own. */
  onReply(reply: Buffer): void
  onFailure(error: unknown): void
}

/** Returns what `ask` gives its sink. */
export function promiseReply(ask: (sink: ReplySink) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => ask({ onReply: resolve, onFailure: reject }))
}

/** Gives the sink what the promise brings. */
export function settleReply(reply: Promise<Buffer>, sink: ReplySink): void {
  reply.then(
    (message) => sink.onReply(message),
    (error: unknown) => sink.onFailure(error),
  )
}

export interface PendingParts {
  readonly random: RandomNumbers
  readonly deadlines: Deadlines
  /** Called when the last query was answered or given up. */
  readonly onEmpty?: () => void
}

/**
 * The queries in progress on one socket, each with an ID that cannot be guessed. Only a message with the ID and the question of a query is its
 * answer; any other is skipped, and the query goes on waiting.
 */
export class PendingQueries {
  readonly where: string
  readonly #parts: PendingParts
  readonly #pending = new Map<number, PendingQuery>()

  constructor(where: string, parts: PendingParts) {
    this.where = where
    this.#parts = parts
  }

  get size(): number {
    return this.#pending.size
  }

  /** Gives the query an ID, in place; the sink receives its answer. */
  add(query: Buffer, timeoutMs: number, sink: ReplySink): void {
    const id = this.#freeId()
    writeUint16(query, 0, id)
    const pending = new PendingQuery(this, query, { id, timeoutMs, sink })
    this.#pending.set(id, pending)
    this.#parts.deadlines.add(pending, timeoutMs)
  }

  /** Passes the message in the first `length` bytes to its query, as a copy. Returns false where it answers none. */
  settle(bytes: Buffer, length = bytes.length): boolean {
    if (length < headerLength) return false
    const pending = this.#pending.get(readUint16(bytes, 0))
    if (pending === undefined || !pending.isAnsweredBy(bytes, length)) return false
    this.drop(pending)
    pending.sink.onReply(copyBytes(bytes, length))
    return true
  }

  drop(pending: PendingQuery): void {
    this.#pending.delete(pending.id)
    this.#parts.deadlines.remove(pending, pending.timeoutMs)
    if (this.#pending.size === 0) this.#parts.onEmpty?.()
  }

  failAll(error: UpstreamError): void {
    const failed = [...this.#pending.values()]
    this.#pending.clear()
    for (const pending of failed) this.#parts.deadlines.remove(pending, pending.timeoutMs)
    this.#parts.onEmpty?.()
    for (const { sink } of failed) sink.onFailure(error)
  }

  #freeId(): number {
    for (;;) {
      const id = this.#parts.random.uint16()
      if (!this.#pending.has(id)) return id
    }
  }
}

class PendingQuery implements TimedJob, QuestionBytes {
  deadlineMs = 0
  earlier: TimedJob | undefined = undefined
  later: TimedJob | undefined = undefined
  readonly id: number
  readonly timeoutMs: number
  readonly sink: ReplySink
  readonly bytes: Buffer
  readonly nameEnd: number
  readonly questionEnd: number
  readonly #owner: PendingQueries

  constructor(
    owner: PendingQueries,
    query: Buffer,
    { id, timeoutMs, sink }: Pick<PendingQuery, 'id' | 'timeoutMs' | 'sink'>,
  ) {
    this.id = id
    this.timeoutMs = timeoutMs
    this.sink = sink
    this.#owner = owner
    this.bytes = query
    this.nameEnd = skipPlainName(query, headerLength, query.length)
    this.questionEnd = this.nameEnd + 4
  }

  onLate(): void {
    const { timeoutMs, sink } = this
    this.#owner.drop(this)
    sink.onFailure(new UpstreamError('timeout', `${this.#owner.where} did not answer within ${timeoutMs} ms`))
  }

  isAnsweredBy(bytes: Buffer, length: number): boolean {
    const flags = readUint16(bytes, 2)
    if ((flags & 0x8000) === 0) return false
    const questions = readUint16(bytes, 4)
    if (questions === 0) return bareRcodes.has(flags & 0xf) && length === headerLength
    return questions === 1 && length >= this.questionEnd && isQuestionAt(this, bytes, headerLength)
  }
}
