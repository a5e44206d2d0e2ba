import { createConnection, type Socket } from 'node:net'
import { HaproxyError } from './errors.ts'

export interface SocketLimits {
  /** Time for one answer. */
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
}

const defaultLimits: SocketLimits = { timeoutMs: 5000, maxAnswerBytes: 64 * 1024 * 1024 }

/** haproxy writes this after every answer once a client has sent `prompt`; before a payload it writes `+ ` for each line that it waits for. */
const prompt = /(?:^|\n)(?:master)?> $/
const longestPrompt = '\nmaster> '.length

/** An interactive connection to a runtime or master socket of haproxy (management guide, section 9.3). Commands are answered in turn. */
export class RuntimeSocket {
  readonly #socket: Socket
  readonly #limits: SocketLimits
  #received: Buffer[] = []
  #receivedBytes = 0
  #waiting: { readonly resolve: () => void; readonly reject: (error: HaproxyError) => void } | undefined
  #failure: HaproxyError | undefined

  /** Throws HaproxyError (`no-answer`, `timeout`). */
  static async open(path: string, limits: Partial<SocketLimits> = {}): Promise<RuntimeSocket> {
    const socket = new RuntimeSocket(path, { ...defaultLimits, ...limits })
    await socket.ask('prompt')
    return socket
  }

  private constructor(path: string, limits: SocketLimits) {
    this.#limits = limits
    this.#socket = createConnection(path)
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', (cause) =>
      this.#fail(new HaproxyError('no-answer', `haproxy cannot be asked on ${path}`, { cause })),
    )
    this.#socket.on('close', () =>
      this.#fail(new HaproxyError('no-answer', `haproxy closed the connection on ${path}`)),
    )
  }

  /**
   * Sends one command, with its payload if it has one, and returns the answer without empty lines around it. One command at a time. Throws
   * HaproxyError: `no-answer`, `timeout`, `too-long-answer`; the connection is then closed.
   */
  async ask(command: string): Promise<string> {
    if (this.#failure !== undefined) throw this.#failure
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting = { resolve, reject }
    const { timeoutMs } = this.#limits
    const overdue = () =>
      this.#fail(new HaproxyError('timeout', `haproxy did not answer "${nameOf(command)}" within ${timeoutMs} ms`))
    const timer = setTimeout(overdue, timeoutMs)
    this.#socket.write(`${command}\n`, 'latin1')
    try {
      await promise
      return this.#takeAnswer()
    } finally {
      clearTimeout(timer)
      this.#waiting = undefined
    }
  }

  close(): void {
    this.#socket.destroy()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#receivedBytes += chunk.length
    const { maxAnswerBytes } = this.#limits
    if (this.#receivedBytes > maxAnswerBytes)
      this.#fail(new HaproxyError('too-long-answer', `haproxy answered more than ${maxAnswerBytes} bytes`))
    else if (this.#endsWithPrompt()) this.#waiting?.resolve()
  }

  #endsWithPrompt(): boolean {
    const last = this.#received.at(-1)
    if (last === undefined || last.at(-1) !== 0x20) return false
    const isWhole = this.#received.length === 1 || last.length >= longestPrompt
    const end = isWhole ? last : Buffer.concat(this.#received)
    return prompt.test(end.toString('latin1', Math.max(0, end.length - longestPrompt)))
  }

  #takeAnswer(): string {
    const text = Buffer.concat(this.#received).toString('latin1').replace(prompt, '')
    this.#received = []
    this.#receivedBytes = 0
    return text.replace(/^(\+ )+/, '').replace(/^\n+|\n+$/g, '')
  }

  #fail(error: HaproxyError): void {
    this.#failure ??= error
    this.#waiting?.reject(this.#failure)
    this.#socket.destroy()
  }
}

/** Opens a connection, lets `use` ask, and closes it. */
export async function withSocket<T>(
  path: string,
  use: (socket: RuntimeSocket) => Promise<T>,
  limits: Partial<SocketLimits> = {},
): Promise<T> {
  using socket = await RuntimeSocket.open(path, limits)
  return await use(socket)
}

/** The command without its payload, which may be a key. */
export function nameOf(command: string): string {
  return command.slice(0, 200).split(/\n|<</, 1)[0]?.trim() ?? ''
}
