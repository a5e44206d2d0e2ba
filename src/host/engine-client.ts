import { request } from 'node:http'
import { PlatnetError } from '../model/errors.ts'

export type EngineErrorCode = 'engine-away' | 'not-found' | 'conflict' | 'refused' | 'bad-answer'

/** A container engine does not answer, or refuses what it was asked. */
export class EngineError extends PlatnetError<EngineErrorCode> {}

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the API's root: `/containers/json`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Given as it comes: the output of a program. */
  readonly answersText?: boolean
}

/** Old enough for every Docker that is still about, and for Podman's compatible API. */
const apiVersion = 'v1.40'
const timeoutMs = 60_000
const maxAnswerBytes = 8 * 1024 * 1024

/** Where engines listen as a rule, in the order in which they are tried. */
export const engineSockets = ['/run/docker.sock', '/var/run/docker.sock', '/run/podman/podman.sock']

/** A container engine's HTTP API (Docker's, which Podman speaks as well) on a unix socket. */
export class EngineClient {
  readonly socketPath: string

  constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  /** The answer's JSON, undefined for an answer without a body; or its text. Throws EngineError. */
  async call({ method, path, query = {}, body, answersText = false }: EngineRequest): Promise<unknown> {
    const search = new URLSearchParams(query).toString()
    const target = `/${apiVersion}${path}${search === '' ? '' : `?${search}`}`
    const text = body === undefined ? '' : JSON.stringify(body)
    const { status, answer } = await this.#exchange(method, target, text)
    if (status >= 200 && status < 400) return answersText ? answer : parseAnswer(answer, `${method} ${path}`)
    const code = status === 404 ? 'not-found' : status === 409 ? 'conflict' : 'refused'
    throw new EngineError(code, `${method} ${path}: the container engine answers ${status}: ${messageOf(answer)}`, {
      object: this.socketPath,
    })
  }

  #exchange(method: string, path: string, body: string): Promise<{ status: number; answer: string }> {
    const headers =
      body === ''
        ? { host: 'engine' }
        : {
            host: 'engine',
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) =>
        reject(
          new EngineError('engine-away', 'no container engine answers', {
            object: this.socketPath,
            remedy:
              'start it ("systemctl start docker", "podman system service"), or say where it listens with --engine-socket',
            cause,
          }),
        )
      const options = { socketPath: this.socketPath, method, path, headers, agent: false, timeout: timeoutMs } as const
      const asked = request(options, (response) => {
        let answer = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          answer += chunk
          if (answer.length > maxAnswerBytes) asked.destroy(new Error('its answer is too long'))
        })
        response.once('end', () => resolve({ status: response.statusCode ?? 0, answer }))
        response.once('error', fail)
      })
      asked.once('timeout', () => asked.destroy(new Error(`no answer within ${timeoutMs} ms`)))
      asked.once('error', fail)
      asked.end(body)
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
