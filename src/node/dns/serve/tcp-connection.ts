import type { Socket } from 'node:net'
import type { Client } from '../plugins/client.ts'
import { readUint16 } from '../wire/bytes.ts'
import { rcode } from '../wire/codes.ts'
import { FrameReader, frameMessage } from '../wire/frames.ts'
import type { Responder } from './responder.ts'

/** As CoreDNS has them: for the first query, between queries, for an answer to be taken. */
const firstQueryMs = 3_000
const idleMs = 10_000

/** Queries of one connection that are under way at the same time; further ones are read when one of these is answered. */
const maxUnderWay = 128
const maxUnsentBytes = 1024 * 1024
/** Messages that are no questions, after which a client is cut off: it costs work and asks nothing. */
const maxMalformed = 16

/**
 * One client over TCP. Queries may follow one another without waiting, and answers go out as they are ready, in any order
 * (RFC 7766 6.2.1). A client that sends nothing, half a query, an empty frame or one that gets no answer, many that are no questions, or takes no
 * answers is cut off.
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

  /** Answers are written to `scratch` and copied from there at once. */
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

  /** When it was last of use, by `performance.now()`. */
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

  /** The client has asked all it wanted; it gets what is still under way. */
  #onEnd(): void {
    this.#ended = true
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (this.#ended && this.#underWay === 0) this.#socket.end()
  }

  /** A deadline, not an idle timer: a client that sends a byte now and then is cut off too. */
  #wait(ms: number): void {
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => this.#onDeadline(), ms)
  }

  #onDeadline(): void {
    if (this.#underWay > 0 && !this.#ended) this.#wait(idleMs)
    else this.#socket.destroy()
  }
}

/** What a message is answered with that is none this server answers to. */
function isNoQuestion(code: number): boolean {
  return code === rcode.FORMERR || code === rcode.NOTIMP
}
