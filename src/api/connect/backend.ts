import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { PlatnetError } from '../../model/errors.ts'
import { keepAliveMs } from './exchange.ts'

/** The certificate and key that a backend knows this server by, and the authority that it is checked by; without one it is not checked. */
export interface BackendTls {
  readonly certPem?: string | undefined
  readonly keyPem?: string | undefined
  readonly caPem?: string | undefined
}

/** A server that a request is passed on to. */
export interface Backend {
  /** An address or a name, an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  /** The name in its certificate; absent: the host. */
  readonly serverName?: string
  /** Undefined for plain HTTP. */
  readonly tls: BackendTls | undefined
}

/** A backend that gave no answer, one that no request asked for, or bytes that are not of the agreed protocol. */
export class BackendError extends PlatnetError<'unreachable' | 'silent' | 'unasked-upgrade' | 'malformed'> {}

export interface Question {
  readonly method: string
  readonly pathAndQuery: string
  /** Names and values in turn, as `IncomingMessage.rawHeaders`. */
  readonly headers: readonly string[]
  /** Ends the request and its connection. */
  readonly signal: AbortSignal
  /** The limit of the answer's head after the connection; undefined for none. */
  readonly headLimitMs?: number | undefined
  /** The limit of the TCP connection and its TLS handshake; 30 s, as kube-apiserver's, if absent. */
  readonly connectLimitMs?: number
}

export type BackendAnswer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | { readonly kind: 'upgrade'; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }

const defaultConnectLimitMs = 30_000

/**
 * Asks a backend over a connection of its own. The caller writes the body and ends the request. `answered` rejects with
 * BackendError.
 */
export function askBackend(
  backend: Backend,
  question: Question,
): { readonly request: ClientRequest; readonly answered: Promise<BackendAnswer> } {
  const { method, pathAndQuery: path, headers, signal } = question
  const { host, port } = backend
  const options: RequestOptions = { host, port, method, path, headers: [...headers], signal, agent: false }
  const request =
    backend.tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tlsOptions(backend) })
  boundWaiting(request, backend, question)
  const answered = new Promise<BackendAnswer>((resolve, reject) => {
    request.on('response', (response) => resolve({ kind: 'response', response }))
    request.on('upgrade', (response, socket, head) => {
      // Node has taken its own listener away, and an error that nothing listens for ends the process.
      socket.on('error', () => {})
      resolve({ kind: 'upgrade', response, socket, head })
    })
    request.on('error', (cause) => reject(cause instanceof BackendError ? cause : unreachable(cause)))
  })
  return { request, answered }
}

/** Returns the response to a request that asked for no other protocol. Ends a connection that has changed to one, and throws BackendError. */
export function responseOf(answer: BackendAnswer): IncomingMessage {
  if (answer.kind === 'response') return answer.response
  answer.socket.destroy()
  throw new BackendError('unasked-upgrade', 'the backend changed the protocol unasked')
}

function tlsOptions({ host, serverName = host, tls = {} }: Backend): RequestOptions {
  const { certPem: cert, keyPem: key, caPem: ca } = tls
  // A server name is no address (RFC 6066 section 3); the certificate is then checked for the address.
  const name = isIP(serverName) === 0 ? { servername: serverName } : {}
  return { cert, key, ca, rejectUnauthorized: ca !== undefined, ...name }
}

function boundWaiting(
  request: ClientRequest,
  { host, port }: Backend,
  { headLimitMs, connectLimitMs = defaultConnectLimitMs }: Question,
): void {
  const give = (limitMs: number, what: string) =>
    setTimeout(() => {
      const message = `${host}:${port} ${what} within ${limitMs / 1000} s`
      request.destroy(new BackendError('silent', message))
    }, limitMs)
  let timer = give(connectLimitMs, 'took no connection')
  const onConnected = () => {
    clearTimeout(timer)
    if (headLimitMs !== undefined) timer = give(headLimitMs, 'did not answer')
  }
  request.on('socket', (socket: Socket) => {
    socket.setKeepAlive(true, keepAliveMs)
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected)
  })
  for (const event of ['response', 'upgrade', 'close']) request.once(event, () => clearTimeout(timer))
}

function unreachable(cause: Error): BackendError {
  return new BackendError('unreachable', cause.message, { cause })
}
