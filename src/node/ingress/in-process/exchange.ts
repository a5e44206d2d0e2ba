import type { Dispatcher } from 'undici'
import { describeError } from '../../../model/errors.ts'
import type { Backend, BackendEndpoint, RoutingTable } from '../../../model/routing-table.ts'
import { formatTraceparent, type Span, silentTracer, type Tracer } from '../../../observe/index.ts'
import type { IngressLimits, ServedRequest } from '../driver.ts'
import { matchRequest, type RouteMatch } from '../match.ts'
import { endRequestSpan, startRequestSpan } from '../request-span.ts'
import type { BackendPools } from './backend-pools.ts'
import { type Balancer, endpointName, stickyValue } from './balancer.ts'
import { type ClientLimits, clientOf } from './client-limits.ts'
import { breakOff, type EdgeExchange, endAnswer, writeAnswerHead, writeOwnAnswer, writePart } from './edge-exchange.ts'
import { cookieValue, requestHeaders, requestIdOf, sentTraceparent, valuesOf } from './headers.ts'
import { BodyFault, RequestBody, tooLarge } from './request-body.ts'
import { type ParsedTarget, parseTarget } from './request-target.ts'
import { openTunnel } from './tunnel.ts'

export interface ExchangeParts {
  readonly table: () => RoutingTable
  readonly limits: IngressLimits
  readonly clients: ClientLimits
  readonly balancer: Balancer
  readonly pools: BackendPools
  readonly onServed: (request: ServedRequest) => void
  /** Absent: requests are not traced. */
  readonly tracer?: Tracer | undefined
}

type FoundRoute = Extract<RouteMatch, { readonly kind: 'route' }>

interface Asked {
  readonly target: ParsedTarget
  readonly found: FoundRoute
  readonly cookie: string | undefined
}

/** Endpoints that one request is tried at, at most. */
const maxAttempts = 3
/** Methods whose repetition changes nothing (RFC 9110 section 9.2.2). */
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])
/** The status that logs show where the client went away before the answer. */
const clientGone = 499

/** Takes one request through the proxy: limits, route, endpoint, answer. */
export class Exchange {
  readonly #parts: ExchangeParts
  readonly #edge: EdgeExchange
  readonly #startMs = performance.now()
  readonly #requestId: string
  readonly #tried = new Set<string>()
  readonly #span: Span
  #target: ParsedTarget | undefined
  #found: RouteMatch | undefined
  #fault: string | undefined
  #controller: Dispatcher.DispatchController | undefined
  #isOver = false

  constructor(parts: ExchangeParts, edge: EdgeExchange) {
    this.#parts = parts
    this.#edge = edge
    this.#requestId = requestIdOf(edge.request.rawHeaders)
    this.#span = startRequestSpan(parts.tracer ?? silentTracer, sentTraceparent(edge.request.rawHeaders))
  }

  run(): void {
    const { request, response } = this.#edge
    response.once('close', () => this.#onClose())
    request.on('error', () => {})
    response.on('error', () => {})
    response.on('drain', () => this.#controller?.resume())
    const refusal = this.#admit()
    if (refusal === undefined) this.#attempt(this.#asked())
    else this.#refuse(...refusal)
  }

  /** The answer of the proxy itself, where it does not ask a backend. */
  #admit(): readonly [status: number, text: string] | undefined {
    const { clients, limits, table } = this.#parts
    if (!clients.mayAsk(this.#client, Date.now())) return [429, 'this client asks too often']
    this.#target = this.#parseTarget()
    if (this.#target === undefined) return [400, 'the target or the host headers of the request are not valid']
    this.#found = matchRequest(table(), this.#target)
    if (this.#found.kind === 'none') return [404, 'no Ingress has a rule for this host and path']
    if (this.#found.backend.endpoints.length === 0)
      return [503, this.#found.backend.problem ?? 'the Service has no endpoint that is ready']
    const { maxBodyBytes } = limits
    if (maxBodyBytes > 0 && this.#contentLength > maxBodyBytes) return [413, tooLarge(maxBodyBytes).message]
    return undefined
  }

  #parseTarget(): ParsedTarget | undefined {
    const { request } = this.#edge
    const headers = request.rawHeaders
    const hosts = valuesOf(headers, 'host')
    const authority = valuesOf(headers, ':authority')
    const isSame = authority.length === 0 || hosts.every((host) => host.toLowerCase() === authority[0]?.toLowerCase())
    if (!isSame) return undefined
    const needsHost = request.httpVersion !== '1.0'
    return parseTarget(request.url ?? '', authority.length > 0 ? authority : hosts, { needsHost })
  }

  #asked(): Asked {
    if (this.#target === undefined || this.#found?.kind !== 'route') throw new TypeError('the request has no route')
    const { stickiness } = this.#found.backend
    const cookie = stickiness && cookieValue(this.#edge.request.rawHeaders, stickiness.cookie)
    return { target: this.#target, found: this.#found, cookie }
  }

  #attempt(asked: Asked): void {
    const endpoint = this.#parts.balancer.choose(asked.found.backend, asked.cookie, this.#tried)
    if (endpoint === undefined) this.#refuse(503, 'no endpoint of the Service could be reached')
    else this.#ask(asked, endpoint)
  }

  #ask(asked: Asked, endpoint: BackendEndpoint): void {
    const { balancer, pools } = this.#parts
    this.#tried.add(endpointName(endpoint))
    const body = this.#hasBody ? new RequestBody(this.#edge.request, this.#parts.limits) : undefined
    const release = balancer.begin(endpoint)
    const handler = this.#createHandler(asked, endpoint, body)
    this.#edge.response.once('close', release)
    pools.poolOf(asked.found.backend, endpoint).dispatch(this.#dispatchOptions(asked, body), {
      ...handler,
      onResponseEnd: (controller, trailers) => {
        release()
        handler.onResponseEnd(controller, trailers)
      },
      onResponseError: (controller, error) => {
        release()
        handler.onResponseError(controller, error)
      },
    })
  }

  #dispatchOptions({ target, found }: Asked, body: RequestBody | undefined): Dispatcher.DispatchOptions {
    const { request, isTls, tunnel } = this.#edge
    const facts = { client: this.#client, isTls, port: request.socket.localPort ?? 0, authority: target.authority }
    const droppedCookie = found.backend.stickiness?.cookie
    return {
      method: request.method ?? 'GET',
      path: target.pathAndQuery,
      headers: requestHeaders(request.rawHeaders, facts, {
        requestId: this.#requestId,
        droppedCookie,
        traceparent: this.#span.context && formatTraceparent(this.#span.context),
      }),
      body: body ?? null,
      ...(tunnel && { upgrade: 'websocket' }),
    }
  }

  #createHandler(asked: Asked, endpoint: BackendEndpoint, body: RequestBody | undefined) {
    const { response, tunnel } = this.#edge
    const { stickiness } = asked.found.backend
    let wasReached = false
    return {
      onRequestStart: (controller: Dispatcher.DispatchController) => {
        wasReached = true
        this.#begin(controller, body)
      },
      onRequestUpgrade: (...[, , headers, socket]: Parameters<NonNullable<Handler['onRequestUpgrade']>>) => {
        response.statusCode = 101
        if (tunnel === undefined) socket.destroy()
        else openTunnel(tunnel, socket, headers, () => this.#finish(101))
      },
      onResponseStart: (...[, status, headers]: Parameters<NonNullable<Handler['onResponseStart']>>) => {
        body?.waitNoMore()
        if (status >= 200) writeAnswerHead(response, status, headers, cookieFor(stickiness, asked.cookie, endpoint))
      },
      onResponseData: (controller: Dispatcher.DispatchController, chunk: Buffer) => {
        if (!writePart(response, chunk)) controller.pause()
      },
      onResponseEnd: (...[, trailers]: Parameters<NonNullable<Handler['onResponseEnd']>>) => {
        endAnswer(response, trailers)
      },
      onResponseError: (_controller: Dispatcher.DispatchController, error: Error) => {
        if (wasReached) this.#fail(error)
        else this.#tryNext(asked, error)
      },
    } satisfies Handler
  }

  #begin(controller: Dispatcher.DispatchController, body: RequestBody | undefined): void {
    this.#controller = controller
    if (this.#isOver) {
      controller.abort(new Error('the client is gone'))
      return
    }
    if (this.#edge.expectsContinue) this.#edge.response.writeContinue()
    body?.begin()
  }

  /** The endpoint has seen nothing of the request. */
  #tryNext(asked: Asked, error: Error): void {
    if (this.#isOver) return
    const isRepeatable = idempotentMethods.has(this.#edge.request.method ?? '')
    if (isRepeatable && this.#tried.size < Math.min(maxAttempts, asked.found.backend.endpoints.length))
      this.#attempt(asked)
    else this.#refuse(503, 'the endpoint of the Service could not be reached', error)
  }

  /** The endpoint may have acted on the request, so it is not repeated. */
  #fail(error: Error): void {
    if (this.#isOver) return
    const { response } = this.#edge
    this.#fault = describeError(error)
    if (response.headersSent) breakOff(response)
    else if (error instanceof BodyFault) this.#refuse(error.status, error.message, error)
    else if (isTimeout(error)) this.#refuse(504, 'the endpoint of the Service did not answer in time', error)
    else this.#refuse(502, 'the endpoint of the Service broke the connection or its answer was not valid', error)
  }

  #refuse(status: number, text: string, cause?: Error): void {
    this.#fault = cause === undefined ? text : `${text}: ${describeError(cause)}`
    writeOwnAnswer(this.#edge, status, text)
  }

  #onClose(): void {
    const { response, request } = this.#edge
    const isWhole = response.writableFinished
    if (!isWhole && !this.#isOver && response.statusCode === 101) return
    this.#finish(isWhole || response.headersSent ? response.statusCode : clientGone)
    if (!isWhole) this.#controller?.abort(new Error('the client is gone'))
    else if (!request.complete) drain(request, this.#parts.limits.idleTimeoutMs)
  }

  #finish(status: number): void {
    if (this.#isOver) return
    this.#isOver = true
    const served = this.#describe(status)
    this.#parts.onServed(served)
    endRequestSpan(this.#span, served)
  }

  #describe(status: number): ServedRequest {
    const { request, isTls } = this.#edge
    const found = this.#found
    return {
      client: this.#client,
      protocol: protocolOf(request.httpVersion),
      isTls,
      method: request.method ?? '',
      host: this.#target?.host ?? '',
      path: this.#target?.path ?? '',
      status,
      durationMs: performance.now() - this.#startMs,
      requestId: this.#requestId,
      ...(found?.host !== undefined && { pattern: found.host }),
      ...(found?.kind === 'route' && { ingress: found.route.ingress, service: found.backend.service }),
      ...(this.#tried.size > 0 && { endpoint: [...this.#tried].at(-1) ?? '' }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
    }
  }

  get #client(): string {
    return clientOf(this.#edge.request.socket)
  }

  get #contentLength(): number {
    return Number(this.#edge.request.headers['content-length'] ?? 0)
  }

  get #hasBody(): boolean {
    const { request } = this.#edge
    if ('stream' in request) return !request.stream.endAfterHeaders
    return this.#contentLength > 0 || request.headers['transfer-encoding'] !== undefined
  }
}

type Handler = Dispatcher.DispatchHandler

/** The cookie for a client that does not have that of its endpoint yet. */
function cookieFor(
  stickiness: Backend['stickiness'],
  sent: string | undefined,
  endpoint: BackendEndpoint,
): string | undefined {
  const value = stickyValue(endpoint)
  return stickiness === undefined || sent === value ? undefined : `${stickiness.cookie}=${value}; Path=/; HttpOnly`
}

/** Reads what the client still sends after its answer, for a while, so that its next request begins where it should. */
function drain(request: EdgeExchange['request'], limitMs: number): void {
  request.unpipe()
  request.resume()
  const timer = setTimeout(() => request.destroy(), limitMs).unref()
  request.once('close', () => clearTimeout(timer))
}

function isTimeout(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_BODY_TIMEOUT')
}

function protocolOf(version: string): ServedRequest['protocol'] {
  return version.startsWith('2') ? 'HTTP/2.0' : version === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1'
}
