import { randomInt, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Backoff } from '../loop/backoff.ts'
import type { Component, Health } from '../loop/component.ts'
import type { Dialect } from '../model/dialect.ts'
import { describeError } from '../model/errors.ts'
import { type Cidr, type Ip, ipFamily } from '../model/ip.ts'
import { parseWorkloadIp } from '../model/special-addresses.ts'
import type { HealthCheck, Logger, Metrics, Tracer } from '../observe/index.ts'
import { httpsListener, type TlsMaterial, type Upgraded } from '../serve/index.ts'
import {
  createAuthenticator,
  firstToKnow,
  type StaticToken,
  staticTokens,
  type TokenAuthenticator,
} from './access/authenticate.ts'
import { alwaysAllow } from './access/authorize.ts'
import type { Authorizer } from './access/authorizer.ts'
import { NodeAuthorizer } from './access/node-authorizer.ts'
import { RbacAuthorizer } from './access/rbac-authorizer.ts'
import { reviewKinds } from './access/reviews.ts'
import type { RoleIndex } from './access/role-index.ts'
import { serviceAccountTokens } from './access/service-account-tokens.ts'
import { storedTokens } from './access/stored-tokens.ts'
import { createTokenIssuer } from './access/token-issuer.ts'
import type { AdmissionSteps } from './admission/admission-request.ts'
import { PolicyIndex, policyPlural } from './admission/policies/policy-index.ts'
import { validatingPolicies } from './admission/policies/validate-by-policies.ts'
import type { PortRange } from './allocation/pools.ts'
import { advertise } from './bootstrap/advertise.ts'
import { ensureBootstrapRoles } from './bootstrap/ensure-bootstrap-roles.ts'
import { createFirstObjects } from './bootstrap/first-objects.ts'
import { ServerEndpoints } from './bootstrap/server-endpoints.ts'
import { Connector } from './connect/connector.ts'
import type { KubeletAccess } from './connect/kubelets.ts'
import { createRegistry } from './create-registry.ts'
import { CustomResources } from './custom/custom-resources.ts'
import { YamlThread } from './decode/yaml-thread.ts'
import { type ApiLimits, defaultLimits } from './limits.ts'
import { PolicyStatus } from './policy-status.ts'
import { RequestHandler } from './request-handler.ts'
import type { Store } from './store/index.ts'
import { findAgents } from './usage/agent-addresses.ts'
import { type ClientCertificate, usageFetcher } from './usage/fetch-usage.ts'
import { UsageKeeper } from './usage/usage-keeper.ts'
import type { VerbContext } from './verbs/verb-context.ts'
import { WatchHub } from './watch/watch-hub.ts'
import { AdmissionWebhooks } from './webhooks/admission-webhooks.ts'

export interface ApiServerOptions {
  readonly store: Store
  readonly dialect: Dialect
  /** The service CIDRs: one, or one of each family, the cluster's primary first. */
  readonly serviceCidrs: readonly Cidr[]
  readonly nodePortRange: PortRange
  /** The address at which nodes reach this server when it starts; without one the kubernetes Service has no endpoints. */
  readonly advertiseAddress: Ip | undefined
  /** Whether other servers may serve the same store; the kubernetes Service has an endpoint of each then. */
  readonly sharesStore?: boolean
  /** The content of the ConfigMap `coredns`, created where it is missing; without this none is created. */
  readonly corefile?: string | undefined
  /** The TLS material; `clientCa` is the cluster's CA: its certificates are identities. */
  readonly tls: TlsMaterial
  readonly bindAddress: Ip
  /** The port; 0 takes a free one. */
  readonly port: number
  readonly staticTokens: readonly StaticToken[]
  /** The issuer and key of service account tokens: `iss`, and an ECDSA P-256 key in PEM. */
  readonly serviceAccounts: { readonly issuer: string; readonly keyPem: string }
  /** The admission plugins in addition to those that are always on. */
  readonly admissionPlugins?: readonly string[]
  /** Whether ServiceAccount admission applies to new Pods, where the dialect has it. */
  readonly admitsAccounts: boolean
  /** Whether DefaultTolerationSeconds applies to new Pods, where the dialect has it. */
  readonly addsTolerations: boolean
  readonly authorizationMode: 'RBAC' | 'AlwaysAllow'
  /** Whether the server empties deleted namespaces, because no namespace controller runs. */
  readonly sweepsNamespaces: boolean
  /** The limits, read at each use; the defaults if absent. */
  readonly limits?: ApiLimits
  /**
   * The certificate by which the server reads from agents what nodes and pods use; absent: the kinds of metrics.k8s.io are
   * not served.
   */
  readonly usageClient?: ClientCertificate | undefined
  /** How the server reaches kubelets. */
  readonly kubelets: KubeletAccess
  /** Whether the server connects clients with an address of a pod or a node; absent: only with addresses of workloads. */
  readonly mayReach?: ((address: string) => boolean) | undefined
  /** Returns the components that `/healthz`, `/livez` and `/readyz` report. */
  readonly components: () => readonly HealthCheck[]
  /** The metrics that `/metrics` shows. */
  readonly metrics: Metrics
  readonly tracer: Tracer
  readonly log: Logger
}

/** Serves the API over HTTPS. Does not close the store, because the caller opened it. */
export class ApiServer implements Component {
  readonly name = 'api-server'
  readonly #options: ApiServerOptions
  readonly #yaml = new YamlThread()
  readonly #usage: UsageKeeper | undefined
  readonly #context: VerbContext
  readonly #watches: WatchHub
  readonly #connector: Connector
  readonly #access: Access
  readonly #customResources: CustomResources
  readonly #policies = new PolicyIndex()
  readonly #policyStatus: PolicyStatus | undefined
  readonly #webhooks: AdmissionWebhooks | undefined
  readonly #ready = Promise.withResolvers<void>()
  readonly #listener: ReturnType<typeof httpsListener>
  #endpoints: ServerEndpoints | undefined
  #address: Ip | undefined

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.#address = options.advertiseAddress
    this.#usage = createUsageKeeper(options)
    this.#context = createContext(options, this.#yaml, this.#usage)
    this.#watches = new WatchHub(options.store, this.#context.now, options.log.child('watch'))
    this.#connector = new Connector({ ...options, mayReach: options.mayReach ?? isOfWorkload })
    this.#access = createAccess(options, this.#context)
    for (const kind of reviewKinds({ dialect: options.dialect, ...this.#access })) this.#context.registry.add(kind)
    this.#customResources = createCustomResources(options, this.#context)
    this.#policyStatus = createPolicyStatus(options, this.#context)
    this.#webhooks = createWebhooks(options, this.#context, this.#access)
    this.#listener = createListener(options, this.#createHandler(), this.#ready.promise)
  }

  /** The port of the listening server, otherwise 0. */
  get port(): number {
    return this.#listener.port ?? 0
  }

  /**
   * Starts the server: loads the roles before it listens. The first objects come last, because the kubernetes Service names the port; earlier
   * requests wait.
   */
  async start(): Promise<void> {
    for (const authorizer of this.#access.authorizers) await authorizer.start()
    await ensureBootstrapRoles(this.#context, this.#options.dialect)
    await this.#customResources.start()
    await this.#policies.start(this.#options.store)
    await this.#policyStatus?.start()
    await this.#webhooks?.start()
    await this.#listener.start()
    await this.#createFirstObjects()
    this.#ready.resolve()
  }

  /** The endpoints of the kubernetes Service come with the first objects, where this is the only server. */
  async #createFirstObjects(): Promise<void> {
    const { sharesStore = false, tls } = this.#options
    const advertiseAddress = sharesStore ? undefined : this.#address
    const own = { advertiseAddress, securePort: this.port, clientCaPem: tls.clientCa }
    await createFirstObjects(this.#context, { ...this.#options, ...own })
    if (sharesStore && this.#address !== undefined) await this.#joinEndpoints(this.#address)
  }

  async #joinEndpoints(address: Ip): Promise<void> {
    const { dialect, log } = this.#options
    this.#endpoints = new ServerEndpoints({ context: this.#context, dialect, address, securePort: this.port, log })
    await this.#endpoints.start()
  }

  /** Names another address at which nodes reach this server, from now on: in the endpoints of the kubernetes Service and in discovery. */
  async advertise(address: Ip): Promise<void> {
    const { dialect, sharesStore = false } = this.#options
    if (!sharesStore) await advertise(this.#context, { dialect, securePort: this.port, addresses: [address] })
    else if (this.#endpoints === undefined) await this.#joinEndpoints(address)
    else await this.#endpoints.move(address)
    this.#address = address
  }

  /** Stops the server: ends watches and connections with pods, lets requests in flight finish, and cuts the rest at the deadline. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    const stopped = this.#listener.stop(scope)
    this.#watches.endAll()
    this.#connector.endAll()
    await stopped
    await this.#endpoints?.stop(scope)
    this.#yaml.stop()
    await this.#usage?.stop()
    await this.#customResources.stop(scope)
    this.#policies.stop()
    await this.#policyStatus?.stop(scope)
    this.#webhooks?.stop()
    for (const authorizer of this.#access.authorizers) authorizer.stop()
  }

  health(): Health {
    return this.#listener.health()
  }

  /** Replaces certificate and client CAs for new connections. */
  replaceTls(tls: TlsMaterial): void {
    this.#listener.replaceTls(tls)
  }

  #admissionSteps(): AdmissionSteps {
    const { store, log } = this.#options
    const { registry } = this.#context
    const { authorizers } = this.#access
    const parts = { index: this.#policies, store, registry, authorizers, log: log.child('policies') }
    const { mutating = [], validating = [] } = this.#webhooks?.steps ?? {}
    return { mutating, validating: [validatingPolicies(parts), ...validating] }
  }

  #createHandler(): RequestHandler {
    const { components, admissionPlugins = [], metrics, tracer, log } = this.#options
    const { authenticateToken, authorizers, roles } = this.#access
    return new RequestHandler({
      context: this.#context,
      dialect: this.#options.dialect,
      authenticate: createAuthenticator(authenticateToken),
      authorizers,
      roles,
      admissionPlugins: new Set(admissionPlugins),
      admissionSteps: this.#admissionSteps(),
      watches: this.#watches,
      connector: this.#connector,
      limits: this.#options.limits ?? defaultLimits,
      onIdentified: (socket) => this.#listener.settle(socket),
      address: () => this.#address && hostAndPort(this.#address, this.port),
      components,
      metrics,
      tracer,
      log,
    })
  }
}

export function createApiServer(options: ApiServerOptions): ApiServer {
  return new ApiServer(options)
}

function createUsageKeeper({ store, usageClient, log }: ApiServerOptions): UsageKeeper | undefined {
  if (usageClient === undefined) return undefined
  const agents = () => findAgents(store)
  return new UsageKeeper({ agents, fetch: usageFetcher(usageClient), log: log.child('usage') })
}

function createContext(
  { serviceAccounts, limits = defaultLimits, ...options }: ApiServerOptions,
  yaml: YamlThread,
  usage: UsageKeeper | undefined,
): VerbContext {
  const clock = { now: () => new Date(), newUid: randomUUID }
  const { store, dialect } = options
  const readUsage = usage && (() => usage.read())
  const registry = createRegistry({ ...options, ...clock, readUsage })
  const { issuer, keyPem } = serviceAccounts
  const tokenIssuer = createTokenIssuer({ name: issuer, keyPem, identityClaim: dialect.serviceAccountClaim })
  const readYaml: VerbContext['readYaml'] = (text) => yaml.read(text)
  return {
    store,
    registry,
    dialect: dialect.name,
    ...clock,
    pickBelow: randomInt,
    tokenIssuer,
    readYaml,
    get maxObjectBytes() {
      return limits.maxObjectBytes
    },
    get maxStoreBytes() {
      return limits.maxStoreBytes
    },
  }
}

/** The authenticator, the authorizer, and the roles where they apply. */
interface Access {
  readonly authenticateToken: TokenAuthenticator
  readonly authorizers: readonly Authorizer[]
  readonly roles: RoleIndex | undefined
}

function createAccess(options: ApiServerOptions, { tokenIssuer, now }: VerbContext): Access {
  const { authorizationMode, store, dialect } = options
  const issued = serviceAccountTokens(tokenIssuer, store, now)
  const stored = storedTokens(tokenIssuer, dialect, store, now)
  const authenticateToken = firstToKnow([staticTokens(options.staticTokens, tokenIssuer.name), issued, stored])
  if (authorizationMode === 'AlwaysAllow') return { authenticateToken, authorizers: [alwaysAllow], roles: undefined }
  const rbac = new RbacAuthorizer(store)
  return { authenticateToken, authorizers: [new NodeAuthorizer(store, dialect), rbac], roles: rbac.index }
}

function createCustomResources({ dialect, log }: ApiServerOptions, context: VerbContext): CustomResources {
  const backoff = new Backoff({ baseMs: 100, maxMs: 10_000 })
  return new CustomResources({ context, dialect, backoff, log: log.child('custom') })
}

/** Returns the writer of policies' status; undefined in a dialect that has no policies. */
function createPolicyStatus({ dialect, log }: ApiServerOptions, context: VerbContext): PolicyStatus | undefined {
  const resource = context.registry.find(dialect.groups.admissionregistration, 'v1', policyPlural)
  const backoff = new Backoff({ baseMs: 100, maxMs: 10_000 })
  return resource && new PolicyStatus({ context, resource, backoff, log: log.child('policies') })
}

/** Webhooks know Kubernetes' groups only. */
function createWebhooks(
  { dialect, metrics, log, mayReach = isOfWorkload }: ApiServerOptions,
  { store, registry, newUid }: VerbContext,
  { authorizers }: Access,
): AdmissionWebhooks | undefined {
  if (dialect.name !== 'kubernetes') return undefined
  const parts = { store, registry, newUid, authorizers, mayReach, metrics, log: log.child('webhooks') }
  return new AdmissionWebhooks({ ...parts, serviceLabel: dialect.labels.serviceName })
}

function createListener(options: ApiServerOptions, handler: RequestHandler, ready: Promise<void>) {
  const { tls, bindAddress, port, log } = options
  const handle = (request: IncomingMessage, response: ServerResponse, upgraded?: Upgraded) => {
    const handled = ready.then(() => handler.handle(request, response, upgraded))
    handled.catch((thrown: unknown) => {
      log.error('a request could not be answered', { error: describeError(thrown) })
      response.destroy()
    })
  }
  return httpsListener({
    name: 'api-server',
    address: bindAddress,
    port,
    portOption: '--secure-port',
    tls,
    log,
    handler: (request, response) => handle(request, response),
    upgrades: {
      takes: ({ url = '' }) => connectionPath.test(url),
      handle,
    },
  })
}

/** The paths at which a client may ask for another protocol. */
const connectionPath =
  /^\/api\/v1\/(namespaces\/[^/]+\/(pods|services)|nodes)\/[^/]+\/(attach|exec|log|portforward|proxy)([/?]|$)/

function isOfWorkload(address: string): boolean {
  return parseWorkloadIp(address) !== undefined
}

function hostAndPort(address: Ip, port: number): string {
  return ipFamily(address) === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`
}
