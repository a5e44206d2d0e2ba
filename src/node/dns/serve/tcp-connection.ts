import type { Socket } from 'node:net'
import type { Client } from '../plugins/client.ts'
import { readUint16 } from '../wire/bytes.ts'
import { rcode } from '../wire/codes.ts'
import { FrameReader, frameMessage } from '../wire/frames.ts'
import type { Responder } from './responder.ts'

/** CoreDNS' time limits: for the first query, between queries, and for the client to read an answer. */
const firstQueryMs = 3_000
const idleMs = 10_000

/** The queries of one connection that may be in progress at the same time; more are read when one of them was answered. */
const maxUnderWay = 128
const maxUnsentBytes = 1024 * 1024
/** The messages that are no queries, after which a connection is closed: they cost work and ask for nothing. */
const maxMalformed = 16

/**
 * One client over TCP. Queries may follow one another without waiting, and answers are sent in the order in which they are ready (RFC 7766
 * 6.2.1). The connection is closed when the client sends nothing, half a query, an empty frame, a frame that gets no answer, or many that are no
 * queries, and when it does not read its answers.
 */
export class TcpConnection {
  readonly #socket: Socket
  readonly #responder: Responder
  readonly #client: Client
  readonly #scratch: Buffer
  readonly #frames = new FrameReader()
  #underWay = 0
  #malformed = 0
  #ended = false
  #lastUseMs = performance.now()
  #deadline: NodeJS.Timeout

  /** Writes answers to `scratch` and copies them from there at once. */
  constructor(socket: Socket, responder: Responder, client: Client, scratch: Buffer) {
    this.#socket = socket
    this.#responder = responder
    this.#client = client
    this.#scratch = scratch
    this.#deadline = setTimeout(() => socket.destroy(), firstQueryMs)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => clearTimeout(this.#deadline))
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => this.#onEnd())
  }

  /** When the client last sent a message, by `performance.now()`. */
  get lastUseMs(): number {
    return this.#lastUseMs
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const messages = this.#frames.push(chunk)
    if (messages.length === 0) return
    this.#lastUseMs = performance.now()
    this.#wait(idleMs)
    for (const message of messages) if (!this.#socket.destroyed) this.#answer(message)
    if (this.#underWay >= maxUnderWay) this.#socket.pause()
  }

  #answer(message: Buffer): void {
    const length = this.#responder.respondNow(message, message.length, this.#client, this.#scratch)
    if (length === 0) this.close()
    else if (length > 0) this.#sendNow(this.#scratch.subarray(0, length))
    else this.#answerLater(message)
  }

  #answerLater(message: Buffer): void {
    this.#underWay += 1
    void this.#responder.respondLater(message, this.#client).then((answer) => this.#onAnswer(answer))
  }

  #onAnswer(answer: Buffer | undefined): void {
    this.#underWay -= 1
    if (this.#socket.destroyed) return
    if (answer !== undefined) this.#send(answer)
    if (this.#underWay < maxUnderWay) this.#socket.resume()
    this.#wait(idleMs)
    this.#endIfDone()
  }

  #sendNow(answer: Buffer): void {
    this.#send(answer)
    if (isNoQuestion(readUint16(answer, 2) & 0xf)) this.#malformed += 1
    if (this.#malformed >= maxMalformed) this.#socket.destroySoon()
  }

  #send(answer: Buffer): void {
    if (this.#socket.writableLength > maxUnsentBytes) this.#socket.destroy()
    else this.#socket.write(frameMessage(answer))
  }

  /** The client sends no more queries; it still gets the answers that are in progress. */
  #onEnd(): void {
    this.#ended = true
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (this.#ended && this.#underWay === 0) this.#socket.end()
  }

  /** Sets a deadline, not an idle timer: a client that sends a byte now and then reaches it too. */
  #wait(ms: number): void {
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => this.#onDeadline(), ms)
  }

  #onDeadline(): void {
    if (this.#underWay > 0 && !this.#ended) this.#wait(idleMs)
    else this.#socket.destroy()
  }
}

/** Returns whether the rcode is that of a message which was no query. */
function isNoQuestion(code: number): boolean {
  return code === rcode.FORMERR || code === rcode.NOTIMP
}
