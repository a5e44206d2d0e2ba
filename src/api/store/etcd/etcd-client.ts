import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkServerIdentity } from 'node:tls'
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { EtcdCallError, isPassing, toStoreError } from './etcd-error.ts'
import { EtcdLogin, type EtcdUser, isStaleToken, noMetadata, withToken } from './etcd-login.ts'
import { type Credentials, etcdMethods, type Method, type WatchRequest, type WatchResponse } from './messages.ts'

export interface EtcdConnection {
  /** The members: `http://host:port` or `https://host:port`. */
  readonly servers: readonly string[]
  /** Certificates in PEM: the CA of the members, and the client's own. */
  readonly tls?: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
  }
  /** Absent: etcd asks for no password, or knows this server by its certificate. */
  readonly user?: EtcdUser | undefined
  /** The time limit of one call at one member, after which another member is asked; 2000 when absent. */
  readonly callTimeoutMs?: number
  /** Called for each answered or failed call; must not throw. */
  readonly onCall?: (call: EtcdCall) => void
}

export interface EtcdCall {
  readonly operation: string
  readonly durationMs: number
  readonly failed: boolean
}

export interface OpenedWatch {
  readonly endpoint: string
  readonly token: string | undefined
  readonly stream: ClientDuplexStream<WatchRequest, WatchResponse>
}

const defaultCallTimeoutMs = 2_000
/** Each change of etcd's users and roles makes all tokens stale. */
const tokenAttempts = 3
/** A watch may be refused for another reason than its token. */
const doubtedAfterMs = 5_000
const defaultPatienceMs = 10_000
const maxPauseMs = 250

/** HTTP/2 pings find a dead connection; etcd refuses more than one in 5 s. */
const channelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // The library would keep each message for a second attempt, of which it makes none without a policy.
  'grpc.enable_retries': 0,
}

/** A member without a leader ends a watch that has this, so that it goes on at another one. */
const needsLeader = new Metadata()
needsLeader.set('hasleader', 'true')

/** A client of an etcd cluster: one member at a time, the next one when that fails. */
export class EtcdClient {
  /** How long a call is tried at all members in turn. */
  readonly patienceMs: number
  readonly #members: readonly { readonly endpoint: string; readonly client: Client }[]
  readonly #onCall: (call: EtcdCall) => void
  readonly #callTimeoutMs: number
  readonly #login: EtcdLogin | undefined
  #onLeave: (endpoint: string) => void = () => {}
  #current = 0

  constructor(
    { servers, tls = {}, user, onCall = () => {}, callTimeoutMs = defaultCallTimeoutMs }: EtcdConnection,
    patienceMs = defaultPatienceMs,
  ) {
    this.patienceMs = patienceMs
    this.#members = servers.map((endpoint) => {
      const { host, hostname, protocol } = new URL(endpoint)
      const trust = protocol === 'https:' ? secure(tls, hostname) : credentials.createInsecure()
      return { endpoint, client: new Client(host, trust, { ...channelOptions, ...nameFor(hostname) }) }
    })
    this.#onCall = onCall
    this.#login = user && new EtcdLogin(user)
    this.#callTimeoutMs = callTimeoutMs
  }

  /** Calls the listener with each member that is left. */
  onLeave(listener: (endpoint: string) => void): void {
    this.#onLeave = listener
  }

  /** The answer with which etcd refuses this server's user; undefined while it does not. */
  get refusal(): EtcdCallError | undefined {
    return this.#login?.refusal
  }

  /** The member that the next call asks. */
  get endpoint(): string {
    return this.#member().endpoint
  }

  /** Goes on with the next member, unless another call has done so since `failed` was asked. */
  leave(failed: string): void {
    if (this.endpoint !== failed) return
    this.#current = (this.#current + 1) % this.#members.length
    this.#onLeave(failed)
  }

  /** Asks one member once. Rejects with EtcdCallError; after a failure that may pass, the next call asks the next member. */
  async once<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    timeoutMs = this.#callTimeoutMs,
  ): Promise<Response> {
    const login = this.#login
    if (login === undefined) return this.#call(method, request, { timeoutMs })
    await login.ready(this.#authenticate)
    for (let attempt = 1; ; attempt++) {
      const { token } = login
      try {
        const answer = await this.#call(method, request, { timeoutMs, token })
        login.confirm()
        return answer
      } catch (thrown) {
        // A call with a token that etcd does not take has no effect.
        const isStale = thrown instanceof EtcdCallError && isStaleToken(thrown)
        if (!isStale || attempt === tokenAttempts || !(await login.renewed(token, this.#authenticate))) throw thrown
      }
    }
  }

  readonly #authenticate = async (credentials: Credentials): Promise<string> => {
    const options = { timeoutMs: this.#callTimeoutMs }
    return (await this.#call(etcdMethods.authenticate, credentials, options)).token
  }

  async #call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: { readonly timeoutMs: number; readonly token?: string | undefined },
  ): Promise<Response> {
    const { endpoint, client } = this.#member()
    const startedMs = performance.now()
    const report = (failed: boolean) =>
      this.#onCall({ operation: method.operation, durationMs: performance.now() - startedMs, failed })
    try {
      const response = await unary(client, method, request, options)
      report(false)
      return response
    } catch (thrown) {
      report(true)
      const error = toCallError(endpoint, thrown)
      if (isPassing(error)) this.leave(endpoint)
      throw error
    }
  }

  /** Asks the members in turn until one answers; only for calls that may happen twice. Rejects with StoreError, or with EtcdCallError after a definite refusal. */
  async untilAnswered<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    const deadlineMs = performance.now() + this.patienceMs
    for (let attempt = 1; ; attempt++) {
      try {
        const leftMs = Math.max(50, deadlineMs - performance.now())
        return await this.once(method, request, Math.min(this.#callTimeoutMs, leftMs))
      } catch (thrown) {
        if (!(thrown instanceof EtcdCallError) || !isPassing(thrown)) throw thrown
        const pauseMs = attempt < this.#members.length ? 0 : Math.min(maxPauseMs, 20 * attempt)
        if (performance.now() + pauseMs >= deadlineMs) throw toStoreError(thrown)
        await sleep(pauseMs)
      }
    }
  }

  /** Opens the stream of a watch at the present member. Rejects with EtcdCallError where etcd gives this server no token. */
  async openWatch(): Promise<OpenedWatch> {
    await this.#login?.ready(this.#authenticate)
    const { endpoint, client } = this.#member()
    const { path, encode, decode } = etcdMethods.watch
    const token = this.#login?.token
    const metadata = withToken(needsLeader, token)
    return { endpoint, token, stream: client.makeBidiStreamRequest(path, encode, decode, metadata, {}) }
  }

  /** Asks for another token when a watch with this one was refused. Rejects with EtcdCallError where etcd gives none. */
  async doubt(token: string | undefined): Promise<void> {
    await this.#login?.renewed(token, this.#authenticate, doubtedAfterMs)
  }

  close(): void {
    for (const { client } of this.#members) client.close()
  }

  #member(): { readonly endpoint: string; readonly client: Client } {
    const member = this.#members[this.#current]
    if (member === undefined) throw new TypeError('etcd needs at least one server')
    return member
  }
}

function secure({ ca, cert, key }: NonNullable<EtcdConnection['tls']>, hostname: string): ChannelCredentials {
  const toBytes = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem))
  return credentials.createSsl(toBytes(ca), toBytes(key), toBytes(cert), {
    checkServerIdentity: (_, certificate) => checkServerIdentity(hostname.replace(/^\[|\]$/g, ''), certificate),
  })
}

/** grpc-js sends every host as the name that TLS asks for, and Node refuses an address there (RFC 6066 section 3). */
function nameFor(hostname: string): ChannelOptions {
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? {} : { 'grpc.ssl_target_name_override': 'etcd.invalid' }
}

function unary<Request, Response>(
  client: Client,
  { path, encode, decode }: Method<Request, Response>,
  request: Request,
  { timeoutMs, token }: { readonly timeoutMs: number; readonly token?: string | undefined },
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const metadata = withToken(noMetadata, token)
    const call = client.makeUnaryRequest(path, encode, decode, request, metadata, {}, (error, response) => {
      clearTimeout(late)
      if (error) reject(error)
      else if (response === undefined) reject(new Error('an answer without a message'))
      else resolve(response)
    })
    // A deadline of the library costs a third of the whole call.
    const late = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: status.DEADLINE_EXCEEDED }))
      call.cancel()
    }, timeoutMs)
  })
}

export function toCallError(endpoint: string, thrown: unknown): EtcdCallError {
  if (!(thrown instanceof Error)) return new EtcdCallError(endpoint, 2, String(thrown))
  const { code = 2, details = thrown.message } = thrown as Partial<ServiceError>
  return new EtcdCallError(endpoint, code, withoutFrame(details))
}

/** Returns the reason in the text of a failed connection, which grpc-js wraps. */
function withoutFrame(details: string): string {
  const [, reason] = /Last error: (.*?)\s*(?:\(\d{4}-\d{2}-[^)]*\))?\.? Resolution note:/s.exec(details) ?? []
  return (reason ?? details).replace(/\s+/g, ' ').trim()
}
