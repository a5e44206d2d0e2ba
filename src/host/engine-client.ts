import { type IncomingMessage, request } from 'node:http'
import { addAbortSignal } from 'node:stream'
import { PlatnetError } from '../model/errors.ts'

export type EngineErrorCode = 'engine-away' | 'not-found' | 'conflict' | 'refused' | 'bad-answer'

/** A container engine that does not answer or refuses a request. */
export class EngineError extends PlatnetError<EngineErrorCode> {}

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the API's root: `/containers/json`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Receives the body in chunks, for the output of a program. */
  readonly answersText?: boolean
  /** Ends the call when it aborts. A call with a signal has no other time limit. */
  readonly signal?: AbortSignal | undefined
}

/** API version that every Docker in use and Podman's compatible API support. */
const apiVersion = 'v1.40'
const timeoutMs = 60_000
const maxAnswerBytes = 8 * 1024 * 1024

/** Default sockets of engines, in the order of attempts. */
export const engineSockets = ['/run/docker.sock', '/var/run/docker.sock', '/run/podman/podman.sock']

/** Client of a container engine's HTTP API (Docker's, which Podman supports too) on a unix socket. */
export class EngineClient {
  readonly socketPath: string

  constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  /** Sends a request. Resolves with the answer's JSON or text, undefined for an empty body. Throws EngineError. */
  async call({ method, path, query = {}, body, answersText = false, signal }: EngineRequest): Promise<unknown> {
    const search = new URLSearchParams(query).toString()
    const target = `/${apiVersion}${path}${search === '' ? '' : `?${search}`}`
    const text = body === undefined ? '' : JSON.stringify(body)
    const response = await this.#open(method, target, text, signal)
    const [status, answer] = [response.statusCode ?? 0, await this.#read(response)]
    if (status < 200 || status >= 400) throw this.#refusal(`${method} ${path}`, status, answer)
    return answersText ? answer : parseAnswer(answer, `${method} ${path}`)
  }

  /** Streams the body of an answer, without a limit on silence, until the signal aborts. Throws EngineError. */
  async stream(
    path: string,
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Buffer>> {
    const response = await this.#open('GET', `/${apiVersion}${path}?${new URLSearchParams(query)}`, '')
    const status = response.statusCode ?? 0
    if (status !== 200) throw this.#refusal(`GET ${path}`, status, await this.#read(response))
    if (query['follow'] === 'true') response.setTimeout(0)
    return signal === undefined ? response : addAbortSignal(signal, response)
  }

  #open(method: string, path: string, body: string, signal?: AbortSignal): Promise<IncomingMessage> {
    const typed = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const headers = { host: 'engine', ...(body === '' ? {} : typed) }
    const timed = signal === undefined ? { timeout: timeoutMs } : { signal }
    const options = { socketPath: this.socketPath, method, path, headers, agent: false, ...timed } as const
    return new Promise((resolve, reject) => {
      const asked = request(options, resolve)
      asked.once('timeout', () => asked.destroy(new Error(`no answer within ${timeoutMs} ms`)))
      asked.once('error', (cause) => reject(this.#away(cause)))
      asked.end(body)
    })
  }

  async #read(response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = []
    let bytes = 0
    try {
      for await (const chunk of response) {
        bytes += chunk.length
        if (bytes > maxAnswerBytes) throw new Error('its answer is too long')
        chunks.push(chunk)
      }
    } catch (cause) {
      throw this.#away(cause)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  #refusal(what: string, status: number, answer: string): EngineError {
    const code = status === 404 ? 'not-found' : status === 409 ? 'conflict' : 'refused'
    const message = `${what}: the container engine answers ${status}: ${messageOf(answer)}`
    return new EngineError(code, message, { object: this.socketPath })
  }

  #away(cause: unknown): EngineError {
    return new EngineError('engine-away', 'no container engine answers', {
      object: this.socketPath,
      remedy:
        'start it ("systemctl start docker", "podman system service"), or say where it listens with --engine-socket',
      cause,
    })
  }
}

function parseAnswer(answer: string, what: string): unknown {
  if (answer.trim() === '') return undefined
  try {
    return JSON.parse(answer)
  } catch (cause) {
    throw new EngineError('bad-answer', `${what}: the container engine's answer is not JSON`, { cause })
  }
}

function messageOf(answer: string): string {
  try {
    return String(JSON.parse(answer).message).slice(0, 500)
  } catch {
    return answer.slice(0, 200)
  }
}
