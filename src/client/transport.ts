import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { orAborted } from '../loop/deadline.ts'
import { Deadline } from './deadline.ts'
import { ApiError } from './errors.ts'
import type { ClusterAccess } from './kubeconfig.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Encoded already. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: string
  readonly contentType?: string
  /** Absent: JSON. */
  readonly accept?: string | undefined
}

export interface HttpLimits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
  /** `total` bounds the request from end to end, `silence` the time between two chunks. */
  readonly bounds: 'total' | 'silence'
}

export interface HttpResponse {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Ends or throws with the connection. */
  readonly chunks: AsyncIterable<Buffer>
}

/** A request that was answered with a status, or that no answer came to. */
interface SentRequest {
  /** The address that it went to. */
  readonly server: string
  readonly method: HttpRequest['method']
  /** Undefined where no answer came. */
  readonly status: number | undefined
  /** The time to the headers of the answer, or to the failure. */
  readonly durationMs: number
}

export type RequestObserver = (sent: SentRequest) => void

export interface TransportOptions {
  readonly observe?: RequestObserver
  /** Reads certificates and token again, after a request that could not be made with those known or was refused with them. */
  readonly reread?: () => Promise<ClusterAccess>
}

/** How long a failed request waits for the files with the credentials. */
const maxRereadMs = 1_000

type Library = typeof import('axios')

/**
 * Requests to one API server, or to the next one once it does not answer or fails, over kept-alive connections. The only user of axios, which
 * is loaded with the first of these: 27 MiB and half a second that an API server alone does without, and that the first request should not
 * wait for.
 */
export class Transport {
  #access: ClusterAccess
  readonly #servers: readonly [string, ...string[]]
  /** The index of the server that is asked. */
  #asked = 0
  #agent: HttpAgent | HttpsAgent
  readonly #library: Promise<Library>
  readonly #options: TransportOptions
  #renewing: Promise<void> | undefined

  constructor(access: ClusterAccess, options: TransportOptions = {}) {
    this.#access = access
    this.#servers = serversOf(access)
    this.#options = options
    this.#library = import('axios')
    this.#agent = createAgent(access)
  }

  /**
   * Sends, hands the response to `consume`, and lets the connection go when that is done, whatever the outcome. Failures of
   * the way (not what `consume` itself throws) become ApiErrors `unavailable`, `untrusted`, `timeout` or `aborted`.
   */
  async exchange<T>(
    request: HttpRequest,
    limits: HttpLimits,
    consume: (response: HttpResponse) => Promise<T>,
  ): Promise<T> {
    using deadline = new Deadline(limits.signal, limits.timeoutMs)
    const library = await this.#library
    const asked = this.#asked
    try {
      const server = this.#servers[asked] ?? this.#servers[0]
      const response = await this.#sendObserved(library, server, request, deadline.signal)
      const retryAfter = response.headers['retry-after']
      try {
        const chunks = limits.bounds === 'silence' ? touching(response.data, deadline) : response.data
        return await consume({ status: response.status, retryAfter: retryAfter && String(retryAfter), chunks })
      } finally {
        response.data.destroy()
      }
    } catch (error) {
      const failure = describeFailure(library, error, request, deadline)
      if (failure instanceof ApiError && mayDoElsewhere(failure)) this.#leave(asked)
      if (failure instanceof ApiError && mayBeOutdated(failure)) await this.#renewInTime()
      throw failure
    }
  }

  /** Waits for the files, but not for a file system that hangs, or a pipe: that read goes on alone, and no other begins meanwhile. */
  async #renewInTime(): Promise<void> {
    await orAborted(this.#renew(), AbortSignal.timeout(maxRereadMs)).catch(() => undefined)
  }

  /** Takes what the files hold by now for the next requests. Where they cannot be read, the next failure reads them again. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#readAgain().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #readAgain(): Promise<void> {
    const read = await this.#options.reread?.().catch(() => undefined)
    // Credentials for other servers must not reach those that are asked.
    if (read === undefined || !isDeepStrictEqual(serversOf(read), this.#servers)) return
    if (isDeepStrictEqual(credentialsOf(read), credentialsOf(this.#access))) return
    this.#access = read
    // Requests under way keep their connections.
    for (const socket of Object.values(this.#agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy()
    this.#agent = createAgent(read)
  }

  /** The next request goes to the next server, unless another request has seen to that already. */
  #leave(asked: number): void {
    if (this.#asked === asked) this.#asked = (asked + 1) % this.#servers.length
  }

  /** Closes the idle connections. */
  close(): void {
    this.#agent.destroy()
  }

  async #sendObserved(library: Library, server: string, request: HttpRequest, signal: AbortSignal) {
    const { method } = request
    const startedMs = performance.now()
    let status: number | undefined
    try {
      const response = await this.#send(library, server, request, signal)
      status = response.status
      return response
    } finally {
      this.#options.observe?.({ server, method, status, durationMs: performance.now() - startedMs })
    }
  }

  async #send({ default: axios }: Library, server: string, request: HttpRequest, signal: AbortSignal) {
    const query = request.query === undefined ? '' : `?${new URLSearchParams(request.query)}`
    return axios.request<Readable>({
      method: request.method,
      url: `${server}${request.path}${query}`,
      headers: {
        accept: request.accept ?? 'application/json',
        // Most servers are a hop away: packing a list costs both ends more than sending it.
        'accept-encoding': 'identity',
        'user-agent': 'platnet',
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
        ...(await this.#authorization()),
      },
      ...(request.body !== undefined && { data: Buffer.from(request.body) }),
      responseType: 'stream',
      decompress: false,
      // A redirect would carry our credentials elsewhere.
      maxRedirects: 0,
      proxy: false,
      maxBodyLength: Number.POSITIVE_INFINITY,
      validateStatus: () => true,
      httpAgent: this.#agent,
      httpsAgent: this.#agent,
      signal,
    })
  }

  async #authorization(): Promise<{ authorization?: string }> {
    const { bearer } = this.#access
    if (bearer === undefined) return {}
    if (bearer.kind === 'token') return { authorization: `Bearer ${bearer.token}` }
    try {
      return { authorization: `Bearer ${(await readFile(bearer.path, 'utf8')).trim()}` }
    } catch (cause) {
      throw new ApiError('unauthorized', `the token file ${bearer.path} cannot be read`, { cause })
    }
  }
}

function createAgent(access: ClusterAccess): HttpAgent | HttpsAgent {
  if (access.server.startsWith('http:')) return new HttpAgent({ keepAlive: true })
  return new HttpsAgent({
    keepAlive: true,
    rejectUnauthorized: !access.skipTlsVerify,
    ...(access.certificateAuthority !== undefined && { ca: access.certificateAuthority }),
    ...(access.clientCertificate !== undefined && { cert: access.clientCertificate }),
    ...(access.clientKey !== undefined && { key: access.clientKey }),
    ...(access.tlsServerName !== undefined && { servername: access.tlsServerName }),
  })
}

function serversOf({ server, otherServers = [] }: ClusterAccess): readonly [string, ...string[]] {
  return [server, ...otherServers]
}

function credentialsOf({ certificateAuthority, clientCertificate, clientKey, bearer }: ClusterAccess): object {
  return { certificateAuthority, clientCertificate, clientKey, bearer }
}

/** Whether another server of the cluster may do better: this one does not answer, fails, or has other certificates or keys of tokens. */
function mayDoElsewhere({ code }: ApiError): boolean {
  return ['unavailable', 'timeout', 'internal', 'untrusted', 'unauthorized'].includes(code)
}

/** Whether other certificates or another token may help: the server refuses ours, or we refuse its. */
function mayBeOutdated({ code, cause }: ApiError): boolean {
  if (code === 'untrusted' || code === 'unauthorized') return true
  // A server that refuses a certificate ends the connection, in TLS 1.3 after our first bytes.
  return code === 'unavailable' && /^(ERR_SSL|ERR_TLS|EPROTO|ECONNRESET)/.test(systemCode(cause) ?? '')
}

async function* touching(body: Readable, deadline: Deadline): AsyncGenerator<Buffer> {
  deadline.touch()
  for await (const chunk of body) {
    deadline.touch()
    yield chunk
  }
}

function describeFailure(library: Library, error: unknown, request: HttpRequest, deadline: Deadline): unknown {
  if (error instanceof ApiError) return error
  const what = `${request.method} ${request.path}`
  if (deadline.expired) return new ApiError('timeout', `${what}: no answer in time`)
  if (deadline.signal.aborted || library.isCancel(error))
    return new ApiError('aborted', `${what}: given up by the caller`)
  const root = rootCause(library, error)
  const code = systemCode(root)
  if (code === undefined) return error
  const details = { cause: root, ...(isTrustCode(code) && { remedy: "check the kubeconfig's certificate-authority" }) }
  return new ApiError(isTrustCode(code) ? 'untrusted' : 'unavailable', `${what}: ${code}`, details)
}

/** An AxiosError carries the request with its Authorization header and key: it must not reach a log as a cause. */
function rootCause({ isAxiosError }: Library, error: unknown): unknown {
  if (!isAxiosError(error)) return error
  return error.cause ?? Object.assign(new Error(error.message), { code: error.code })
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function isTrustCode(code: string): boolean {
  return /CERT|UNABLE_TO_|SELF_SIGNED|ALTNAME/.test(code)
}
