import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextTurn } from '../../loop/time-slice.ts'
import type { Claim } from '../shares/fair-share.ts'
import type { WatchLine } from './watch-line.ts'

/**
 * The limit of unread bytes before a watcher is disconnected; a client that reads again lists and catches up. The system's socket buffers come
 * on top, and TLS holds the bytes of a write a second time.
 */
const maxUnreadBytes = 2 * 1024 * 1024

/**
 * The unread bytes that do not count against a watcher's flow: a short burst goes out to all watchers at once. A larger line is written in a
 * turn of its own, once the flow has room: for each watcher it takes a millisecond of encryption, and memory until it is read.
 */
const freeUnreadBytes = 64 * 1024
const retryMs = 100

/** The time limit for reading a full socket buffer, and for reading all initial lines. */
const maxUnreadMs = 60_000
const maxInitialMs = 10 * 60_000

/** The size in characters up to which initial lines are written together. */
const initialPieceLength = 32 * 1024

/** The response of one watch: takes lines, writes chunked HTTP. */
export class WatchStream {
  readonly #response: ServerResponse
  readonly #unread: Claim
  readonly #onSlow: () => void
  readonly #initialTimer: NodeJS.Timeout
  #awaitsDrain = false
  /** Initial lines that are not written yet. */
  #initial = ''
  /** The live lines that wait behind the initial ones or behind a long one; undefined while none waits. */
  #waiting: WatchLine[] | undefined = []
  #waitingBytes = 0
  #draining: Promise<void> | undefined

  /** Creates the stream; `unread` is released when the watch ends. */
  constructor(response: ServerResponse, unread: Claim, onSlow: () => void) {
    this.#response = response
    this.#unread = unread
    this.#onSlow = onSlow
    this.#initialTimer = setTimeout(() => this.#cut(), maxInitialMs)
    this.onClose(() => {
      clearTimeout(this.#initialTimer)
      unread.release()
    })
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  open(): void {
    this.#response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
    this.#response.flushHeaders()
  }

  /** Sends initial text; waits while the client has much left to read: the initial state may have any size and costs no memory. */
  async sendInitial(text: string): Promise<void> {
    if (!this.isOpen) return
    this.#initial += text
    const { length } = this.#initial
    if (length < initialPieceLength) return
    if (length > freeUnreadBytes && !(await this.#hasRoomFor(length))) return
    this.#flushInitial()
    await this.drained()
  }

  /** Resolves once the client has read enough for more; a client that has not within a minute is disconnected. */
  drained(): Promise<void> {
    const { socket } = this.#response
    if (!this.isOpen || socket?.writableNeedDrain !== true) return Promise.resolve()
    this.#draining ??= this.#drain(socket).finally(() => {
      this.#draining = undefined
    })
    return this.#draining
  }

  async #drain(socket: Socket): Promise<void> {
    const end = new AbortController()
    const abort = () => end.abort()
    const timer = setTimeout(abort, maxUnreadMs)
    this.#response.once('close', abort)
    await once(socket, 'drain', { signal: end.signal }).catch(() => this.#cut())
    this.#response.off('close', abort)
    clearTimeout(timer)
  }

  /** Ends the initial lines: sends the lines that came meanwhile, then every line at once. */
  goLive(): void {
    clearTimeout(this.#initialTimer)
    this.#flushInitial()
    const waiting = this.#waiting ?? []
    if (waiting.some(isLong)) {
      void this.#sendInTurns(waiting)
    } else {
      this.#waiting = undefined
      for (const line of waiting) this.send(line)
    }
  }

  /** Sends one line of any length, as long as the unread bytes before it are within the limit. */
  send(line: WatchLine): void {
    if (!this.isOpen) return
    if (!this.#mayLeave(this.#unreadBytes)) {
      this.#cut()
    } else if (this.#waiting === undefined && !isLong(line)) {
      this.#write(line)
    } else {
      const isFirst = this.#waiting === undefined
      this.#waiting ??= []
      this.#waiting.push(line)
      this.#waitingBytes += line.chunk.length
      if (isFirst) void this.#sendInTurns(this.#waiting)
    }
  }

  /** Sends the waiting lines, those that come meanwhile included. */
  async #sendInTurns(waiting: WatchLine[]): Promise<void> {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      if (isLong(line) && !(await this.#hasRoomFor(line.chunk.length))) return
      if (!this.isOpen) return
      this.#waitingBytes -= line.chunk.length
      this.#write(line)
    }
    this.#waiting = undefined
  }

  /**
   * Waits for a turn of the event loop in which the flow has room for these bytes; returns false where the watch has ended or is cut off after
   * a minute.
   */
  async #hasRoomFor(bytes: number): Promise<boolean> {
    const deadlineMs = performance.now() + maxUnreadMs
    for (await nextTurn(); this.isOpen; await sleep(retryMs)) {
      if (this.#claim(this.#response.writableLength + bytes)) return true
      if (performance.now() > deadlineMs) this.#cut()
    }
    return false
  }

  #mayLeave(unreadBytes: number): boolean {
    return unreadBytes <= freeUnreadBytes || (unreadBytes <= maxUnreadBytes && this.#claim(unreadBytes))
  }

  /** Counts unread bytes until the socket is empty again. */
  #claim(bytes: number): boolean {
    if (!this.#unread.resize(bytes)) return false
    const { socket } = this.#response
    if (socket === null || this.#awaitsDrain) return true
    this.#awaitsDrain = true
    socket.once('drain', () => {
      this.#awaitsDrain = false
      this.#unread.release()
    })
    return true
  }

  #flushInitial(): void {
    if (this.isOpen && this.#initial !== '') this.#response.write(this.#initial)
    this.#initial = ''
  }

  /**
   * Writes to the socket directly: the response would make a chunk of its own for each watcher, in four writes. Earlier writes of the response
   * precede it in the socket. The response is used where it does not chunk (HTTP/1.0), and while an earlier response holds the connection, so
   * that there is no socket. Lines of one turn, those of one group of commits, share a packet.
   */
  #write(line: WatchLine): void {
    const { socket, chunkedEncoding } = this.#response
    if (socket === null || !chunkedEncoding) {
      this.#response.write(line.content)
      return
    }
    if (socket.writableCorked === 0) {
      socket.cork()
      process.nextTick(uncork, socket)
    }
    socket.write(line.chunk)
  }

  #cut(): void {
    if (!this.isOpen) return
    this.#onSlow()
    this.#response.destroy()
  }

  get #unreadBytes(): number {
    return this.#waiting === undefined ? this.#response.writableLength : this.#waitingBytes
  }

  end(): void {
    if (!this.isOpen) return
    this.#flushInitial()
    this.#response.end()
  }

  /** Calls the listener when the client disconnects, at once where it already has. */
  onClose(listener: () => void): void {
    if (this.#response.closed || this.#response.destroyed) listener()
    else this.#response.once('close', listener)
  }
}

function isLong({ chunk }: WatchLine): boolean {
  return chunk.length > freeUnreadBytes
}

function uncork(socket: Socket): void {
  socket.uncork()
}
