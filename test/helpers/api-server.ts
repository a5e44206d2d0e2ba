import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { createInterface } from 'node:readline'
import type { StaticToken } from '../../src/api/access/authenticate.ts'
import type { KubeletAccess } from '../../src/api/connect/kubelets.ts'
import { createApiServer } from '../../src/api/index.ts'
import { type ApiLimits, defaultLimits } from '../../src/api/limits.ts'
import { openMemoryStore, type Store } from '../../src/api/store/index.ts'
import type { Component } from '../../src/loop/component.ts'
import { createDialect, type DialectName } from '../../src/model/dialect.ts'
import { type Ip, parseCidr, parseIp } from '../../src/model/ip.ts'
import { createMetrics, type Logger, silentLogger, silentTracer, type Tracer } from '../../src/observe/index.ts'
import type { TlsMaterial } from '../../src/serve/index.ts'
import { type Authority, createAuthority } from './authority.ts'
import { newSigningKey, testIssuer } from './token-issuer.ts'

export const testToken = 'a-token-for-tests'

export interface Reply {
  readonly code: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any
}

interface CallOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** null sends no credentials. */
  readonly token?: string | null
  readonly tls?: { readonly cert: string; readonly key: string }
}

export interface TestServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  readonly store: Store
  readonly authority: Authority
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** The answer's lines, parsed, until the server ends it or the test leaves the loop. */
  watch(path: string, headers?: Readonly<Record<string, string>>): AsyncGenerator<WatchLine>
  /** Nodes reach it at another address from now on. */
  advertise(address: Ip): Promise<void>
  stop(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any event
export type WatchLine = { readonly type: string; readonly object: any }

export interface TestServerOptions {
  readonly dialect?: DialectName
  /** One network, or one of each family with a comma between them. */
  readonly serviceCidr?: string
  readonly advertiseAddress?: Ip
  /** Other servers serve the same store. */
  readonly sharesStore?: boolean
  readonly nodePortRange?: { first: number; last: number }
  /** Instead of one in memory, with certificates for it; closed with the server. */
  readonly store?: Store
  readonly log?: Logger
  readonly tracer?: Tracer
  /** The store outlives the server. */
  readonly keepsStore?: boolean
  readonly tls?: TlsMaterial
  /** Absent: a free one. */
  readonly port?: number
  readonly tokens?: readonly StaticToken[]
  readonly authorizationMode?: 'RBAC' | 'AlwaysAllow'
  readonly admissionPlugins?: readonly string[]
  /** Pods get their ServiceAccount: off unless this says so, as no controller makes one in each namespace here. */
  readonly admitsAccounts?: boolean
  /** The key that signs tokens of service accounts; absent: a new one. */
  readonly serviceAccountKeyPem?: string
  /** Pods get tolerations for nodes in trouble: off unless this says so. */
  readonly addsTolerations?: boolean
  readonly limits?: Partial<ApiLimits>
  readonly corefile?: string
  /** The server reads from agents what nodes and pods use. */
  readonly readsUsage?: boolean
  readonly kubelets?: Partial<KubeletAccess>
  readonly mayReach?: (address: string) => boolean
  /** The server empties deleted namespaces itself, unless this says no. */
  readonly sweepsNamespaces?: boolean
}

const storeComponent: Component = {
  name: 'store',
  start: async () => {},
  stop: async () => {},
  health: () => ({ level: 'ok', message: '', sinceMs: 0 }),
}

function podAdmissionOf({ admitsAccounts = false, addsTolerations = false }: TestServerOptions) {
  return { admitsAccounts, addsTolerations }
}

/** A real server on a free port of the loopback, over a store in memory. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const authority = await createAuthority()
  const { certPem, keyPem } = await authority.issue('server')
  const store = options.store ?? openMemoryStore({ log: silentLogger })
  const serviceCidrs = (options.serviceCidr ?? '10.96.0.0/12').split(',').flatMap((each) => parseCidr(each) ?? [])
  const bindAddress = parseIp('127.0.0.1')
  assert.ok(bindAddress)
  const server = createApiServer({
    store,
    dialect: createDialect(options.dialect ?? 'kubernetes'),
    serviceCidrs,
    nodePortRange: options.nodePortRange ?? { first: 30000, last: 32767 },
    tls: options.tls ?? { certificate: certPem, key: keyPem, clientCa: authority.certPem },
    bindAddress,
    advertiseAddress: options.advertiseAddress,
    sharesStore: options.sharesStore ?? false,
    port: options.port ?? 0,
    corefile: options.corefile,
    staticTokens: [
      { token: testToken, user: { name: 'tester', groups: ['system:masters'] } },
      ...(options.tokens ?? []),
    ],
    serviceAccounts: { issuer: testIssuer, keyPem: options.serviceAccountKeyPem ?? newSigningKey() },
    authorizationMode: options.authorizationMode ?? 'RBAC',
    admissionPlugins: options.admissionPlugins ?? [],
    ...podAdmissionOf(options),
    sweepsNamespaces: options.sweepsNamespaces ?? true,
    limits: { ...defaultLimits, ...options.limits },
    usageClient: options.readsUsage === true ? await authority.issue('system:metrics-server') : undefined,
    kubelets: { tls: async () => ({}), addressTypes: ['InternalIP'], ...options.kubelets },
    mayReach: options.mayReach,
    components: () => [storeComponent],
    metrics: createMetrics(),
    tracer: options.tracer ?? silentTracer,
    log: options.log ?? silentLogger,
  })
  await server.start()
  const { port } = server
  const agent = new Agent({ keepAlive: true })
  const connection = (call: CallOptions = {}): RequestOptions => ({
    host: '127.0.0.1',
    port,
    agent: call.tls === undefined ? agent : false,
    ca: options.tls?.clientCa ?? authority.certPem,
    ...call.tls,
    headers: {
      ...(call.token === null ? {} : { authorization: `Bearer ${call.token ?? testToken}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
  })
  const stop = async () => {
    agent.destroy()
    await server.stop({ signal: AbortSignal.timeout(2_000) })
    if (options.keepsStore !== true) await store.close()
  }
  return {
    port,
    url: `https://127.0.0.1:${port}`,
    store,
    authority,
    call: async (method, path, call) => {
      const response = await send({ ...connection(call), method, path }, call?.body)
      return readReply(response)
    },
    watch: async function* (path, headers) {
      const response = await send({ ...connection(headers === undefined ? {} : { headers }), agent: false, path })
      assert.equal(response.statusCode, 200)
      try {
        for await (const line of createInterface({ input: response })) yield JSON.parse(line) as WatchLine
      } finally {
        response.destroy()
      }
    },
    advertise: (address) => server.advertise(address),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function send(options: RequestOptions, body?: unknown): Promise<IncomingMessage> {
  const bytes = toBytes(body)
  const framing = bytes === undefined ? {} : { 'content-length': bytes.length }
  const headers = { ...(options.headers as Record<string, string>), ...framing }
  return new Promise((resolve, reject) => {
    httpsRequest({ ...options, headers }, resolve)
      .on('error', reject)
      .end(bytes)
  })
}

function toBytes(body: unknown): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

async function readReply(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString()
  const isPacked = response.headers['content-encoding'] !== undefined
  const isJson = text !== '' && !isPacked && response.headers['content-type']?.startsWith('application/json') === true
  return {
    code: response.statusCode ?? 0,
    headers: response.headers,
    text,
    bytes,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

/** The next events of a watch; fails the test when they do not come in time. */
export async function take(events: AsyncGenerator<WatchLine>, count: number): Promise<WatchLine[]> {
  const taken: WatchLine[] = []
  while (taken.length < count) {
    const next = await Promise.race([events.next(), late(taken)])
    if (next.done === true) assert.fail(`the watch ended after ${taken.length} of ${count} events`)
    taken.push(next.value)
  }
  return taken
}

function late(taken: readonly WatchLine[]): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`no further event after ${JSON.stringify(taken)}`)), 20_000)
    timer.unref()
  })
}
