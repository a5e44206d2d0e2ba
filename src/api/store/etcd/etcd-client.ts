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
} from '@grpc/grpc-js'
import { EtcdCallError, isPassing, toStoreError } from './etcd-error.ts'
import { etcdMethods, type Method, type WatchRequest, type WatchResponse } from './messages.ts'

export interface EtcdConnection {
  /** The members: `http://host:port` or `https://host:port`. */
  readonly servers: readonly string[]
  /** Certificates in PEM: the CA of the members, and the client's own. */
  readonly tls?: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
  }
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

const defaultCallTimeoutMs = 2_000
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
  #onLeave: (endpoint: string) => void = () => {}
  #current = 0

  constructor(
    { servers, tls = {}, onCall = () => {}, callTimeoutMs = defaultCallTimeoutMs }: EtcdConnection,
    patienceMs = defaultPatienceMs,
  ) {
    this.patienceMs = patienceMs
    this.#members = servers.map((endpoint) => {
      const { host, hostname, protocol } = new URL(endpoint)
      const trust = protocol === 'https:' ? secure(tls, hostname) : credentials.createInsecure()
      return { endpoint, client: new Client(host, trust, { ...channelOptions, ...nameFor(hostname) }) }
    })
    this.#onCall = onCall
    this.#callTimeoutMs = callTimeoutMs
  }

  /** Calls the listener with each member that is left. */
  onLeave(listener: (endpoint: string) => void): void {
    this.#onLeave = listener
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
    const { endpoint, client } = this.#member()
    const startedMs = performance.now()
    const report = (failed: boolean) =>
      this.#onCall({ operation: method.operation, durationMs: performance.now() - startedMs, failed })
    try {
      const response = await unary(client, method, request, timeoutMs)
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

  /** Opens the stream of a watch at the present member. */
  openWatch(): { readonly endpoint: string; readonly stream: ClientDuplexStream<WatchRequest, WatchResponse> } {
    const { endpoint, client } = this.#member()
    const { path, encode, decode } = etcdMethods.watch
    return { endpoint, stream: client.makeBidiStreamRequest(path, encode, decode, needsLeader, {}) }
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
  timeoutMs: number,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const deadline = Date.now() + timeoutMs
    client.makeUnaryRequest(path, encode, decode, request, { deadline }, (error, response) => {
      if (error) reject(error)
      else if (response === undefined) reject(new Error('an answer without a message'))
      else resolve(response)
    })
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
