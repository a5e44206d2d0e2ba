import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { internalError } from '../status.ts'
import { askBackend, type Backend, type BackendAnswer, BackendError } from './backend.ts'
import type { Exchange } from './exchange.ts'
import { answerHeaders, keepHeaders } from './headers.ts'
import { joinConnections } from './join-connections.ts'

/** A request for another protocol, as the backend gets it. */
export interface UpgradeQuestion {
  readonly backend: Backend
  readonly method: string
  readonly pathAndQuery: string
  readonly headers: readonly string[]
}

/** The limit of a backend's answer to an upgrade: a runtime may first start a process. */
const headLimitMs = 60_000

/** Asks for the upgrade. Throws a 500 where the backend cannot be reached, or answers neither with a new protocol nor with an error. */
async function askForUpgrade({ backend, ...question }: UpgradeQuestion, signal: AbortSignal): Promise<BackendAnswer> {
  const headers = withoutBody(question.method, question.headers)
  const { request, answered } = askBackend(backend, { ...question, headers, signal, headLimitMs })
  request.end()
  const answer = await answered.catch((thrown: unknown) => {
    if (!(thrown instanceof BackendError)) throw thrown
    throw internalError(`error dialing backend: ${thrown.message}`, thrown)
  })
  const code = answer.response.statusCode ?? 0
  if (answer.kind === 'upgrade' || code >= 400) return answer
  request.destroy()
  throw internalError(`invalid upgrade response: status code ${code}`)
}

/** A connection with a kubelet that speaks SPDY/3.1 and the agreed protocol above it. The caller ends it. */
type SpdyAnswer =
  | (Extract<BackendAnswer, { kind: 'upgrade' }> & { readonly agreed: string })
  | Extract<BackendAnswer, { kind: 'response' }>

/**
 * Asks for SPDY/3.1 in the place of the WebSocket that the client asks for, with the offered protocols above it. Throws a 500
 * where the backend agrees to something else.
 */
export async function askForSpdy(
  { signal }: Exchange,
  question: UpgradeQuestion,
  offered: readonly string[],
): Promise<SpdyAnswer> {
  const isWebSocket = (name: string) => name.startsWith('sec-websocket-') || name === 'upgrade' || name === 'connection'
  const kept = keepHeaders(question.headers, (name) => isWebSocket(name) || name === 'x-stream-protocol-version')
  const protocols = offered.flatMap((name) => ['X-Stream-Protocol-Version', name])
  const headers = [...kept, 'Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', ...protocols]
  const answer = await askForUpgrade({ ...question, method: 'POST', headers }, signal)
  if (answer.kind === 'response') return answer
  const { upgrade, 'x-stream-protocol-version': agreed } = answer.response.headers
  if (upgrade?.toLowerCase() === 'spdy/3.1' && typeof agreed === 'string' && offered.includes(agreed.trim()))
    return { ...answer, agreed: agreed.trim() }
  answer.socket.destroy()
  throw internalError('unable to upgrade: missing upgrade headers in response')
}

/** Says that the request has no body: the end of a chunked one would be the first bytes of the new protocol. */
function withoutBody(method: string, headers: readonly string[]): readonly string[] {
  const kept = keepHeaders(headers, (name) => name === 'content-length' || name === 'transfer-encoding')
  return method === 'GET' ? kept : [...kept, 'Content-Length', '0']
}

/**
 * Passes an upgrade on byte for byte: the backend's answer, then both directions until one side closes. A refusal of the
 * backend is the answer to the client.
 */
export async function passUpgrade(exchange: Exchange, question: UpgradeQuestion): Promise<void> {
  const { upgraded, signal, stopping } = exchange
  if (upgraded === undefined) throw new TypeError('the request asks for no other protocol')
  const answer = await askForUpgrade(question, signal)
  if (answer.kind === 'response') return passRefusal(exchange, answer.response)
  const { socket } = upgraded
  takeSocket(exchange)
  socket.write(switchingHead(answer.response), 'latin1')
  socket.write(answer.head)
  answer.socket.write(upgraded.head)
  await joinConnections(socket, answer.socket, stopping)
}

/** Takes the connection from the response: what follows are no HTTP messages. */
function takeSocket({ response, upgraded }: Exchange): void {
  response.statusCode = 101
  response.detachSocket(upgraded?.socket as Socket)
}

/** Answers with what the backend said instead of an upgrade. */
export async function passRefusal({ response, signal }: Exchange, refusal: IncomingMessage): Promise<void> {
  response.writeHead(
    refusal.statusCode ?? 500,
    answerHeaders(refusal, (name) => name === 'content-length'),
  )
  // A client that goes away, or a backend that breaks off, leaves nothing to do.
  await pipeline(refusal, response, { signal }).catch(() => response.destroy())
}

function switchingHead({ rawHeaders, statusMessage = STATUS_CODES[101] }: IncomingMessage): string {
  const lines = [`HTTP/1.1 101 ${statusMessage}`]
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
  return [...lines, '', ''].join('\r\n')
}
