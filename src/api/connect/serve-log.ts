import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { badRequest, internalError, StatusError } from '../status.ts'
import { askBackend, BackendError, responseOf } from './backend.ts'
import { askedProtocol, type Exchange } from './exchange.ts'
import type { askForLog } from './kubelet-question.ts'
import { sendLogByWebSocket } from './log-websocket.ts'

type LogQuestion = NonNullable<Awaited<ReturnType<typeof askForLog>>>

/** The limit of an answer's head. A kubelet sends the head of a followed log with its first line, so that one has no limit. */
const headLimitMs = 60_000

/** Streams a log from the kubelet as it comes. A log that breaks off breaks the answer off. Throws what the kubelet refuses. */
export async function serveLog(exchange: Exchange, name: string, question: LogQuestion | undefined): Promise<void> {
  const { response, signal } = exchange
  if (question === undefined) {
    response.writeHead(204).end()
    return
  }
  const log = await openLog(question, name, signal)
  if (askedProtocol(exchange) === 'websocket') return sendLogByWebSocket(exchange, log)
  response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-cache, private' })
  response.flushHeaders()
  await pipeline(log, response, { signal }).catch(() => response.destroy())
}

async function openLog({ kubelet, pathAndQuery, options }: LogQuestion, name: string, signal: AbortSignal) {
  const { request, answered } = askBackend(kubelet, {
    method: 'GET',
    pathAndQuery,
    headers: ['Host', 'kubelet', 'Accept-Encoding', 'identity'],
    signal,
    headLimitMs: options.follow ? undefined : headLimitMs,
  })
  request.end()
  const response = await answered.then(responseOf).catch((thrown: unknown) => {
    if (!(thrown instanceof BackendError)) throw thrown
    throw internalError(`the log of pod ${name} cannot be read: ${thrown.message}`, thrown)
  })
  const code = response.statusCode ?? 0
  if (code < 200 || code > 206) throw await refusalOf(response, code, name)
  return response
}

const maxRefusalChars = 50_000
const refusalLimitMs = 10_000

/** Returns the error for what a kubelet answers instead of a log, as kube-apiserver does. */
async function refusalOf(response: IncomingMessage, code: number, name: string): Promise<StatusError> {
  const said = await readRefusal(response)
  if (code === 400) return badRequest(said)
  if (code === 404) {
    const message = `the server could not find the requested resource ( pods/log ${name})`
    return new StatusError('NotFound', message, { details: { name, kind: 'pods/log' } })
  }
  return internalError(code === 500 ? said : `the kubelet answered ${code}: ${said}`)
}

/** Reads the text of a refusal: at most 50,000 characters, and what has come within the limit or before the kubelet broke off. */
export async function readRefusal(response: IncomingMessage, limitMs = refusalLimitMs): Promise<string> {
  const timer = setTimeout(() => response.destroy(), limitMs)
  let said = ''
  try {
    for await (const part of response.setEncoding('utf8')) {
      said += part
      if (said.length > maxRefusalChars) break
    }
  } catch {
    // The status has come, so the refusal is known.
  } finally {
    clearTimeout(timer)
  }
  return said.slice(0, maxRefusalChars)
}
