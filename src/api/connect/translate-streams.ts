import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { internalError, renderFailure, renderSuccess } from '../status.ts'
import { BackendError } from './backend.ts'
import { askedProtocol, type Exchange, offeredProtocols } from './exchange.ts'
import { closeWritten } from './join-connections.ts'
import { askForSpdy, passRefusal, type UpgradeQuestion } from './pass-upgrade.ts'
import { readSwitch } from './query.ts'
import { dataFrames, openStreams, pingAnswer, type SpdyFrame, SpdyFrameReader, streamId } from './spdy-frames.ts'
import { acceptWebSocket, clientGone, sendMessage } from './websocket.ts'

/** The subprotocol in which a client can end standard input; a kubelet of Kubernetes 1.34 knows it by SPDY alone. */
const closingProtocol = 'v5.channel.k8s.io'
const kubeletProtocol = 'v4.channel.k8s.io'

/** The first byte of a message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const
const closeChannel = 255

type StreamName = keyof typeof channels

/** The streams that the client writes; the kubelet writes the others. */
const inputs: readonly StreamName[] = ['stdin', 'resize']

/** The longest status that a kubelet's error stream may have. */
const maxStatusBytes = 1024 * 1024

/** Checks whether a request for `exec` or `attach` comes by a WebSocket with which its client can end standard input. */
export function endsStreams(exchange: Pick<Exchange, 'request' | 'upgraded'>): boolean {
  return askedProtocol(exchange) === 'websocket' && offeredProtocols(exchange.request).includes(closingProtocol)
}

/**
 * Serves `v5.channel.k8s.io` (KEP-4006) by a SPDY connection with the kubelet: one message of the WebSocket is the channel and its
 * bytes, and 255 with a channel ends that channel. The WebSocket opens after the kubelet has agreed.
 */
export async function translateStreams(exchange: Exchange, question: UpgradeQuestion): Promise<void> {
  const answer = await askForSpdy(exchange, question, [kubeletProtocol])
  if (answer.kind === 'response') return passRefusal(exchange, answer.response)
  const { socket, head } = answer
  try {
    const { webSocket } = await acceptWebSocket(exchange, [closingProtocol])
    const gone = AbortSignal.any([exchange.stopping, clientGone(webSocket)])
    gone.addEventListener('abort', () => socket.destroy(), { once: true })
    // A client that goes first: the command gets what was sent. Where the command ends first, `finally` closes.
    webSocket.once('close', () => closeWritten(socket))
    socket.unshift(head)
    await new Translation(webSocket, socket, streamsOf(exchange.url.searchParams)).run()
  } finally {
    socket.destroy()
  }
}

/** The streams of a command in the order in which Kubernetes' clients open them. */
function streamsOf(query: URLSearchParams): readonly StreamName[] {
  const isTerminal = readSwitch(query, 'tty')
  const asked = (['stdin', 'stdout', 'stderr'] as const).filter((name) => readSwitch(query, name))
  const plain = asked.filter((name) => name !== 'stderr' || !isTerminal)
  return ['error', ...plain, ...(isTerminal ? (['resize'] as const) : [])]
}

/** One command between a client and a kubelet. */
class Translation {
  readonly #webSocket: WebSocket
  readonly #socket: Duplex
  readonly #names: readonly StreamName[]
  /** The streams of the kubelet that have not ended. */
  readonly #running: Set<StreamName>
  #status: Buffer = Buffer.alloc(0)

  constructor(webSocket: WebSocket, socket: Duplex, names: readonly StreamName[]) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#names = names
    this.#running = new Set(names.filter((name) => !inputs.includes(name)))
  }

  /** Resolves when the WebSocket is closed. */
  async run(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#webSocket.once('close', () => resolve()))
    this.#socket.write(openStreams(this.#names.map((streamtype) => ({ streamtype }))))
    this.#webSocket.on('message', (message: Buffer) => this.#onMessage(message))
    const first = (['stdout', 'stderr'] as const).find((name) => this.#running.has(name)) ?? 'error'
    try {
      // An empty message says that the connection stands.
      await this.#send(first, Buffer.alloc(0))
      await this.#passAnswers()
      await this.#send('error', this.#finalStatus())
      // A socket that is paused does not see the other end's close.
      this.#webSocket.resume()
      this.#webSocket.close(1000)
    } catch {
      // The client is gone.
      this.#webSocket.terminate()
    }
    await closed
  }

  #onMessage(message: Buffer): void {
    const isEnd = message[0] === closeChannel
    const channel = message[isEnd ? 1 : 0]
    const name = inputs.find((each) => channels[each] === channel)
    const index = name === undefined ? -1 : this.#names.indexOf(name)
    if (index < 0 || this.#running.size === 0 || !this.#socket.writable) return
    const bytes = isEnd ? Buffer.alloc(0) : message.subarray(1)
    const hasRoom = this.#socket.write(dataFrames(streamId(index), bytes, isEnd))
    // What had come before the pause still follows it.
    if (hasRoom || this.#webSocket.isPaused) return
    this.#webSocket.pause()
    this.#socket.once('drain', () => this.#webSocket.resume())
  }

  /** Resolves when all streams of the kubelet, or its connection, have ended; rejects when the client is gone. */
  async #passAnswers(): Promise<void> {
    const reader = new SpdyFrameReader()
    const chunks: AsyncIterator<Buffer> = this.#socket[Symbol.asyncIterator]()
    try {
      while (this.#running.size > 0) {
        const { done, value } = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
        if (done === true) return
        for (const frame of reader.read(value)) await this.#passFrame(frame)
      }
    } catch (thrown) {
      if (!(thrown instanceof BackendError)) throw thrown
      this.#socket.destroy()
    }
  }

  async #passFrame(frame: SpdyFrame): Promise<void> {
    if (frame.kind === 'ping') this.#socket.write(pingAnswer(frame.id))
    if (frame.kind !== 'data' && frame.kind !== 'reset') return
    const name = this.#names[(frame.stream - 1) / 2]
    if (name === undefined || !this.#running.has(name)) return
    if (frame.kind === 'data') await this.#passData(name, frame.bytes)
    if (frame.kind === 'reset' || frame.isLast) this.#running.delete(name)
  }

  async #passData(name: StreamName, bytes: Buffer): Promise<void> {
    if (name !== 'error') return bytes.length === 0 ? undefined : this.#send(name, bytes)
    if (this.#status.length + bytes.length > maxStatusBytes) throw new BackendError('malformed', 'a status without end')
    this.#status = Buffer.concat([this.#status, bytes])
  }

  #finalStatus(): Buffer {
    if (this.#status.length > 0) return this.#status
    const isCut = this.#running.has('error')
    const why = 'the connection with the kubelet ended before the command'
    return Buffer.from(isCut ? renderFailure(internalError(why)) : renderSuccess({}))
  }

  #send(name: StreamName, bytes: Buffer): Promise<void> {
    return sendMessage(this.#webSocket, Buffer.concat([Buffer.from([channels[name]]), bytes]))
  }
}
