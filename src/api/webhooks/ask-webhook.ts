import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { isIP } from 'node:net'
import { deadlineExceeded, describeFailure } from './describe-failure.ts'
import type { Address } from './resolve-service.ts'
import { describeRefusal } from './response-words.ts'
import { callFailed, WebhookError } from './webhook-error.ts'

/** The size limit of an answer: a patch that replaces the largest object, in base64. */
const maxAnswerBytes = 8 * 1024 * 1024
/** How long a connection without a request is kept. */
const idleMs = 60_000

/** One POST to a webhook. */
export interface Question {
  /** The URL as errors show it. */
  readonly url: string
  /** The address that is dialled. */
  readonly address: Address
  /** The name in the certificate. */
  readonly serverName: string
  /** The value of the Host header. */
  readonly host: string
  readonly pathAndQuery: string
  readonly caPem: string | undefined
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** Asks webhooks over HTTPS (HTTP/1.1). Connections are kept for further questions. */
export class WebhookClient {
  readonly #agent = new Agent({ keepAlive: true, timeout: idleMs })

  /** Sends the question; returns the body of the answer. Rejects with WebhookError. */
  async ask(question: Question): Promise<string> {
    const signal = AbortSignal.timeout(question.timeoutMs)
    try {
      return await this.#send(question, signal)
    } catch (thrown) {
      if (!(thrown instanceof StaleConnection)) throw thrown
      return await this.#send(question, signal)
    }
  }

  /** Ends all connections. */
  stop(): void {
    this.#agent.destroy()
  }

  #send(question: Question, signal: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const asked = request(this.#optionsOf(question, signal), (response) => {
      readAnswer(response).then(resolve, (thrown: unknown) => {
        asked.destroy()
        reject(thrown instanceof WebhookError ? thrown : failed(question, thrown as Error))
      })
    })
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = asked.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted
      reject(isStale ? new StaleConnection() : failed(question, error))
    })
    asked.end(question.body)
    return promise
  }

  #optionsOf({ address, serverName, host, pathAndQuery, caPem, body, headers }: Question, signal: AbortSignal) {
    const options: RequestOptions = {
      agent: this.#agent,
      method: 'POST',
      host: address.host,
      port: address.port,
      path: pathAndQuery,
      headers: {
        host,
        accept: 'application/json, */*',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'platnet-admission',
        ...headers,
      },
      signal,
      ...(caPem === undefined ? {} : { ca: caPem }),
      // A server name is no address (RFC 6066 section 3); the certificate is then checked for the address.
      ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    }
    return options
  }
}

/** A kept connection that the webhook had closed before the question came. */
class StaleConnection extends Error {}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes)
      throw new WebhookError('bad-response', `failed to call webhook: the answer has more than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  const [code = 0, body] = [response.statusCode, Buffer.concat(chunks).toString()]
  if (code >= 200 && code <= 206) return body
  const words = describeRefusal(code, response.headers['content-type'] ?? '', body)
  throw new WebhookError('refused', `failed to call webhook: ${words}`)
}

function failed({ url, address }: Question, cause: Error): WebhookError {
  const host = isIP(address.host) === 6 ? `[${address.host}]` : address.host
  const why = describeFailure(cause, `${host}:${address.port}`)
  return callFailed(url, why, cause, why === deadlineExceeded ? 'timeout' : 'unreachable')
}
