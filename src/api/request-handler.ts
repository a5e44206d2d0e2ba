import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Dialect } from '../model/dialect.ts'
import { describeError } from '../model/errors.ts'
import { type HealthCheck, type Logger, type Metrics, type Span, silentSpan, type Tracer } from '../observe/index.ts'
import type { Upgraded } from '../serve/index.ts'
import { type AdmissionParts, admissionFor } from './access/admission.ts'
import { type Attributes, attributesOf } from './access/attributes.ts'
import { type Authenticator, anonymous } from './access/authenticate.ts'
import { authorize, isAllowed } from './access/authorize.ts'
import type { Authorizer } from './access/authorizer.ts'
import { effectiveUser } from './access/impersonate.ts'
import type { RoleIndex } from './access/role-index.ts'
import type { AdmissionSteps } from './admission/admission-request.ts'
import { policyPlural } from './admission/policies/policy-index.ts'
import { BackendError } from './connect/backend.ts'
import type { Connector, ConnectRequest } from './connect/connector.ts'
import { assertTimeout, parseListOptions } from './decode/query.ts'
import { type EncodedAnswer, encodeAnswer } from './encode/answer.ts'
import { encodeFailure } from './encode/failure.ts'
import { sendAnswer } from './encode/send-answer.ts'
import { renderWarnings } from './encode/warnings.ts'
import { whenRead } from './encode/when-read.ts'
import type { User } from './identity.ts'
import type { ApiLimits } from './limits.ts'
import { ApiMetrics } from './metrics.ts'
import { representationFor } from './negotiate/representation.ts'
import { Pages } from './pages.ts'
import { endRequestSpan, startRequestSpan } from './request-span.ts'
import { readDocument } from './resources/read-document.ts'
import { type ConnectRoute, type Route, routeRequest } from './route/route.ts'
import { sendBackup } from './send-backup.ts'
import { type Flow, flowOf } from './shares/flow.ts'
import { RequestShares } from './shares/request-shares.ts'
import { badRequest, internalError, StatusError, unauthorized } from './status.ts'
import { StoreError } from './store/index.ts'
import { type Aside, atOnce } from './store/wait-for-revision.ts'
import { admitConnection } from './verbs/admit-connection.ts'
import { performVerb, type ResourceRoute } from './verbs/perform-verb.ts'
import type { VerbContext } from './verbs/verb-context.ts'
import type { WatchHub, WatchRequest } from './watch/watch-hub.ts'
import { WebhookError } from './webhooks/webhook-error.ts'

/** The facts about a request that precede its verb. */
interface RequestFacts {
  readonly user: User
  readonly attributes: Attributes
  readonly span: Span
  readonly flow: Flow
}

export interface HandlerParts {
  readonly context: VerbContext
  readonly dialect: Dialect
  readonly authenticate: Authenticator
  readonly authorizers: readonly Authorizer[]
  /** The roles; undefined where authorization does not use them. */
  readonly roles: RoleIndex | undefined
  readonly admissionPlugins: ReadonlySet<string>
  /** The steps of admission by webhooks and policies, which every request of a user passes. */
  readonly admissionSteps: AdmissionSteps
  readonly watches: WatchHub
  readonly connector: Connector
  readonly limits: ApiLimits
  /** Called for each request of a known user, with its connection. */
  readonly onIdentified: (socket: Socket) => void
  /** Returns the address at which clients reach the server; undefined where it is unknown. */
  readonly address: () => string | undefined
  readonly components: () => readonly HealthCheck[]
  readonly metrics: Metrics
  readonly tracer: Tracer
  readonly log: Logger
}

/** Handles one request: routes, authenticates, authorizes, negotiates, decodes, performs and encodes. Never throws. */
export class RequestHandler {
  readonly #parts: HandlerParts
  readonly #shares: RequestShares
  readonly #pages: Pages
  readonly #metrics: ApiMetrics
  readonly #admission: AdmissionParts

  constructor(parts: HandlerParts) {
    this.#parts = parts
    this.#shares = new RequestShares(parts.limits)
    this.#metrics = new ApiMetrics(parts.metrics, {
      ...parts.context,
      inFlight: this.#shares.inFlight,
      eventCounts: parts.watches.eventCounts,
    })
    this.#admission = {
      ...parts,
      registry: parts.context.registry,
      readNode: (name) => readDocument(parts.context.store, { plural: 'nodes' }, undefined, name),
      readPolicy: (name) => readDocument(parts.context.store, { plural: policyPlural }, undefined, name),
    }
    this.#pages = new Pages(parts)
  }

  /** `upgraded` is the connection of a request for another protocol. */
  async handle(request: IncomingMessage, response: ServerResponse, upgraded?: Upgraded): Promise<void> {
    const startedMs = performance.now()
    const { tracer } = this.#parts
    const startMs = tracer.isOn ? tracer.nowMs() : 0
    let found: Route | undefined
    let user: User | undefined
    let span = silentSpan
    let sizeBytes: number | undefined
    try {
      sizeBytes = await this.#serve({ request, response, upgraded }, (route, by) => {
        found = route
        user = by
        span = startRequestSpan(tracer, { request, route, user: by, startMs })
        return span
      })
    } catch (thrown) {
      if (thrown instanceof StatusError || !isAbandoned(request))
        sizeBytes = await this.#fail(request, response, thrown)
    }
    const durationMs = Math.round(performance.now() - startedMs)
    endRequestSpan(span, response.statusCode)
    this.#metrics.observe({ route: found, code: response.statusCode, durationMs, sizeBytes })
    if (this.#parts.log.enabled('trace'))
      this.#trace(request, { user, code: response.statusCode, durationMs, sizeBytes })
  }

  /** Writes one log record per request; its user is undefined where the request failed before authentication. */
  #trace(
    { method, url, headers }: IncomingMessage,
    { user, ...answer }: { readonly user: User | undefined } & Readonly<Record<string, unknown>>,
  ): void {
    this.#parts.log.trace('answered a request', {
      method,
      url,
      user: user?.name,
      agent: headers['user-agent'],
      ...answer,
    })
  }

  /** Serves a request; returns the size of the body, where it was sent as a whole. */
  async #serve(
    { request, response, upgraded }: Omit<ConnectRequest, 'url'>,
    onRoute: (route: Route, user: User) => Span,
  ): Promise<number | undefined> {
    const url = parseUrl(request.url)
    const user = await this.#identify(request)
    const flow = flowOf(user, request.socket.remoteAddress ?? '')
    const route = await this.#routeKnown(request, url, user)
    const span = onRoute(route, user)
    const attributes = attributesOf(route, request.method ?? 'GET', url)
    await this.#authorize(user, attributes)
    if (user !== anonymous || route.kind === 'resource') this.#countConnection(flow, request.socket)
    if (route.kind === 'connect') {
      await this.#admitConnection(route, { user, attributes, span, flow }, response, url)
      return this.#serveConnection(route, flow, { request, response, upgraded, url })
    }
    if (route.kind === 'resource')
      return this.#serveResource(route, { user, attributes, span, flow }, request, response, url)
    assertReadOnly(request)
    return this.#servePage(route, flow, request, response, url)
  }

  /** Counts the connection; throws a 429 where the user has too many. */
  #countConnection(flow: Flow, socket: Socket): void {
    this.#shares.countConnection(flow, socket)
    this.#parts.onIdentified(socket)
  }

  /** Identifies the caller, or the user that it impersonates. */
  async #identify(request: IncomingMessage): Promise<User> {
    const { authenticate, authorizers, dialect, log } = this.#parts
    const caller = await authenticate(request)
    if (caller === undefined) throw unauthorized()
    const user = effectiveUser(request, caller, authorizers, dialect)
    if (user !== caller && log.enabled('debug')) {
      const { method, url } = request
      log.debug('a user impersonates another', { method, url, user: caller.name, as: user.name, groups: user.groups })
    }
    return user
  }

  /** Routes the request. The error of a wrong path or method waits for authentication: no client without an identity learns of it. */
  #route(request: IncomingMessage, url: URL): Route | StatusError {
    try {
      return routeRequest(this.#parts.context.registry, request.method ?? 'GET', url)
    } catch (thrown) {
      if (thrown instanceof StatusError) return thrown
      throw thrown
    }
  }

  /** Routes the request of a user. A kind that another server has just defined is known after the store has caught up. */
  async #routeKnown(request: IncomingMessage, url: URL, user: User): Promise<Route> {
    const route = this.#route(request, url)
    if (!(route instanceof StatusError)) return route
    if (user === anonymous) throw unauthorized()
    await this.#parts.context.store.catchUp()
    const known = this.#route(request, url)
    if (known instanceof StatusError) throw known
    return known
  }

  /** Refuses what the user may not do, also by a role that another server has just taken. */
  async #authorize(user: User, attributes: Attributes): Promise<void> {
    const { authorizers, context } = this.#parts
    try {
      authorize(user, attributes, authorizers)
    } catch (thrown) {
      const caughtUp = user === anonymous ? undefined : context.store.catchUp()
      if (caughtUp === undefined) throw thrown
      await caughtUp
      authorize(user, attributes, authorizers)
    }
  }

  #contextOf(
    { user, attributes, span }: RequestFacts,
    { aside, warn }: Required<Pick<VerbContext, 'aside' | 'warn'>>,
  ): VerbContext {
    const may = (asked: Attributes) => isAllowed(user, asked, this.#parts.authorizers)
    const admit = admissionFor(user, attributes, this.#admission)
    return { ...this.#parts.context, user, may, admit, admission: this.#parts.admissionSteps, span, aside, warn }
  }

  async #serveResource(
    route: ResourceRoute,
    facts: RequestFacts,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<number | undefined> {
    assertTimeout(url.searchParams)
    const representation = representationFor(route, request.headers.accept, url.searchParams.get('includeObject') ?? '')
    const { deprecation } = route.target.resource
    const warnings = deprecation === undefined ? [] : [deprecation]
    const tell = () => {
      if (warnings.length > 0) response.setHeader('warning', renderWarnings(warnings))
    }
    tell()
    const perform = async (aside: Aside) => {
      const context = this.#contextOf(facts, { aside, warn: (text) => warnings.push(text) })
      // When the request fails, the error response carries its warnings.
      const answer = await performVerb(context, route, request, url.searchParams).finally(tell)
      if (answer.kind === 'object') warnings.push(...(answer.warnings ?? []))
      tell()
      return sendRead(request, response, encodeAnswer(answer, representation, context.now()))
    }
    const { verb } = route
    const { flow } = facts
    if (verb === 'watch')
      return this.#serveWatch(route, flow, response, { options: watchOptions(route, url), representation })
    const work = () => this.#shares.inFlight.run(verb, flow, perform)
    return verb === 'get' || verb === 'list' ? work() : this.#shares.withBody(flow, request, work)
  }

  async #serveWatch(
    route: ResourceRoute,
    flow: Flow,
    response: ServerResponse,
    asked: Pick<WatchRequest, 'options' | 'representation'>,
  ): Promise<undefined> {
    const unread = this.#shares.openWatch(flow, response)
    response.once('close', this.#metrics.openLongRunning(route))
    const target = { ...route.target, name: undefined }
    const aside: Aside = (work) => this.#shares.inFlight.wait(flow, work)
    await this.#parts.watches.serve({ ...asked, target, unread, aside }, response)
  }

  async #admitConnection(route: ConnectRoute, facts: RequestFacts, response: ServerResponse, url: URL): Promise<void> {
    const warnings: string[] = []
    const context = this.#contextOf(facts, { aside: atOnce, warn: (text) => warnings.push(text) })
    await admitConnection(context, route, url.searchParams)
    if (warnings.length > 0) response.setHeader('warning', renderWarnings(warnings))
  }

  async #serveConnection(route: ConnectRoute, flow: Flow, asked: ConnectRequest): Promise<undefined> {
    const close = this.#shares.openConnection(flow)
    const closeSample = this.#metrics.openLongRunning(route)
    try {
      await this.#parts.connector.serve(route, asked)
    } finally {
      close()
      closeSample()
    }
  }

  /** Serves a page. Health is served whatever the load. */
  async #servePage(
    route: Exclude<Route, ResourceRoute | ConnectRoute>,
    flow: Flow,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<number> {
    if (route.kind === 'health') return sendAnswer(request, response, await this.#pages.read(route, request, url))
    return this.#shares.inFlight.run('page', flow, async () => {
      if (route.kind === 'backup') return sendBackup(this.#parts.context.store, response)
      return sendRead(request, response, await this.#pages.read(route, request, url))
    })
  }

  async #fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): Promise<number | undefined> {
    const status = toStatus(thrown)
    if (isOwnFault(status)) this.#parts.log.error('a request failed', { error: describeError(thrown) })
    if (response.headersSent) {
      response.destroy()
      return undefined
    }
    if (isUnwanted(status, request)) response.setHeader('connection', 'close')
    if (status.details?.retryAfterSeconds !== undefined) {
      response.setHeader('retry-after', String(status.details.retryAfterSeconds))
    }
    return sendAnswer(request, response, encodeFailure(status, request.headers.accept))
  }
}

/** Sends the response of a read; a long one counts until the client has read it. */
async function sendRead(request: IncomingMessage, response: ServerResponse, answer: EncodedAnswer): Promise<number> {
  const sizeBytes = await sendAnswer(request, response, answer)
  await whenRead(response)
  return sizeBytes
}

/** Checks whether an error is this server's fault; a request for a future revision is not, nor a kubelet or webhook that is away. */
function isOwnFault({ code, httpCode, cause }: StatusError): boolean {
  return httpCode >= 500 && code !== 'Timeout' && !(cause instanceof BackendError || cause instanceof WebhookError)
}

/** Checks for a refused body, whose rest is not awaited. */
function isUnwanted({ code }: StatusError, request: IncomingMessage): boolean {
  return (code === 'RequestEntityTooLarge' || code === 'TooManyRequests') && !request.complete
}

/** Returns the watch options; `GET .../{name}?watch=true` watches the collection for that name. */
function watchOptions({ target }: ResourceRoute, url: URL): ReturnType<typeof parseListOptions> {
  const options = parseListOptions(url.searchParams)
  if (target.name === undefined) return options
  const selectors = [options.fieldSelector, `metadata.name=${target.name}`].filter(Boolean)
  return { ...options, fieldSelector: selectors.join(',') }
}

/** Checks whether the client disconnected before its request was complete: there is nothing to answer or report. */
function isAbandoned(request: IncomingMessage): boolean {
  return request.destroyed && !request.complete
}

function parseUrl(url: string | undefined): URL {
  const parsed = URL.parse(`https://server${url ?? '/'}`)
  if (parsed === null) throw badRequest('the request target is not a valid URL')
  return parsed
}

function assertReadOnly({ method }: IncomingMessage): void {
  if (method === 'GET' || method === 'HEAD') return
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}

/** Codes with which the store refuses every write. */
const downCodes: readonly string[] = ['store-failed', 'store-full', 'store-closed', 'store-unreachable']

function toStatus(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown
  if (thrown instanceof StoreError && downCodes.includes(thrown.code)) {
    const message = `the store does not take writes now: ${thrown.message}`
    return new StatusError('ServiceUnavailable', message, { cause: thrown })
  }
  if (thrown instanceof StoreError && thrown.code === 'outcome-unknown') {
    return new StatusError('Timeout', thrown.message, { cause: thrown })
  }
  if (thrown instanceof StoreError && thrown.code === 'write-too-large') {
    return new StatusError('RequestEntityTooLarge', thrown.message, { cause: thrown })
  }
  return internalError('the request could not be completed; the log of the server says why', thrown)
}
