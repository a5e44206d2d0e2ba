import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ApiClient, ApiEventRecorder } from '../../src/client/index.ts'
import { createDialect, type DialectName } from '../../src/model/dialect.ts'
import type { Ip } from '../../src/model/ip.ts'
import {
  createIngressMetrics,
  IngressNodes,
  IngressObjects,
  IngressPlan,
  IngressPlane,
  IngressStatusWriter,
  IngressWatches,
  ingressPlane,
  ReportedProblems,
} from '../../src/node/ingress/index.ts'
import {
  AppliedRevisions,
  createSharedInformers,
  createStateSources,
  LiveNodeState,
} from '../../src/node/state/index.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import { startTestServer, type TestServer, testToken } from './api-server.ts'
import { IngressLab } from './in-process-ingress.ts'

const log = silentLogger
const timing = { backoffBaseMs: 10, backoffMaxMs: 50 }
const weak = { token: 'of-the-weak', user: { name: 'weak', groups: [] } }

export interface PlaneLabOptions {
  readonly dialect?: DialectName
  readonly nodeName?: string
  readonly isRefused?: boolean
  /** Prepares the server for an identity of the test's own, and says where it is asked. */
  readonly connect?: (server: TestServer) => Promise<{ readonly url: string }>
}

/** The ServiceAccount of `deploy/kubernetes`. */
const account = {
  token: 'of-the-account',
  user: {
    name: 'system:serviceaccount:kube-system:platnet',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  },
}

/** The plane of Ingress with all that feeds it, an API server in this process, and the in-process driver on loopback. */
export async function startPlaneLab(context: TestContext, options: PlaneLabOptions = {}) {
  const { dialect: name = 'platform', nodeName = 'node-a', isRefused = false, connect } = options
  const server = await startTestServer({ dialect: name, tokens: [weak, account] })
  context.after(() => server.stop())
  const dialect = createDialect(name)
  const own = await connect?.(server)
  const token = isRefused ? weak.token : testToken
  const client = new ApiClient({
    server: own?.url ?? server.url,
    certificateAuthority: server.authority.certPem,
    skipTlsVerify: false,
    bearer: { kind: 'token', token: own === undefined ? token : account.token },
  })
  const lab = new IngressLab()
  await lab.start()
  context.after(() => lab[Symbol.asyncDispose]())
  const api = new LabApi(server, dialect)
  const nodeState = new LiveNodeState(log)
  const applied = new AppliedRevisions(nodeState)
  applied.register(ingressPlane)
  const objects = new IngressObjects()
  const plan = new IngressPlan(onLoopback(nodeState), {
    controller: `${dialect.domain}/ingress`,
    h2cProtocols: dialect.h2cProtocols,
  })
  const check = () => {
    writer.check()
    for (const [key, { reason, message }] of problems.takeUnrecorded()) record(key, reason, message)
  }
  const annotation = dialect.annotations.ingressAddresses
  const shared = createSharedInformers({ client, dialect, log, timing })
  const nodes = new IngressNodes({ nodes: shared.nodes, annotation, onChange: check })
  const group = dialect.groups.networking
  const writer = new IngressStatusWriter({
    ...{ client, group, nodeName, plan, objects, nodes, log },
    waitPerRankMs: 300,
  })
  const watches = new IngressWatches({ client, dialect, objects, log, timing })
  const recorder = new ApiEventRecorder(client, 'test', log)
  const reported: string[] = []
  const record = (key: string, reason: string, message: string) => {
    const [namespace = '', ingress = ''] = key.split('/')
    const metadata = { namespace, name: ingress, uid: objects.record(key)?.uid ?? '' }
    recorder.record({ apiVersion: `${group}/v1`, kind: 'Ingress', metadata }, 'Warning', reason, message)
  }
  const problems = new ReportedProblems((key, { reason, message }) => {
    reported.push(`${key} ${reason} ${message}`)
  })
  const plane = new IngressPlane({
    ...{ plan, objects, problems, nodeState, applied, log },
    driver: lab.driver,
    metrics: createIngressMetrics(createMetrics()),
    followSecrets: (secrets) => watches.followSecrets(secrets),
    onApplied: check,
  })
  const components = [
    ...(isRefused ? [] : createStateSources({ client, dialect, state: nodeState, log })),
    ...[watches, plane, nodes, writer],
  ]
  const scope = { signal: AbortSignal.timeout(20_000) }
  for (const component of components) await component.start(scope)
  context.after(async () => {
    for (const component of components.toReversed()) await component.stop({ signal: AbortSignal.timeout(2_000) })
  })
  return { api, client, lab, plane, applied, nodeState, reported, dialect }
}

/** A slice can name no address of loopback, so endpoints have one of documentation in the API. */
function onLoopback(state: LiveNodeState): Pick<LiveNodeState, 'service' | 'slicesOf'> {
  const moved = (slice: ReturnType<LiveNodeState['slicesOf']>[number]) => ({
    ...slice,
    endpoints: slice.endpoints.map((endpoint) => ({ ...endpoint, address: '127.0.0.1' as Ip })),
  })
  return { service: (key) => state.service(key), slicesOf: (key) => state.slicesOf(key).map(moved) }
}

/** Writes the objects of an Ingress test. */
class LabApi {
  readonly #server: TestServer
  readonly #dialect: ReturnType<typeof createDialect>
  readonly #group: string

  constructor(server: TestServer, dialect: ReturnType<typeof createDialect>) {
    this.#server = server
    this.#dialect = dialect
    this.#group = dialect.groups.networking
  }

  async createClass(name = 'ours', controller = `${this.#dialect.domain}/ingress`): Promise<void> {
    await this.#call('POST', `/apis/${this.#group}/v1/ingressclasses`, { metadata: { name }, spec: { controller } })
  }

  async removeClass(name = 'ours'): Promise<void> {
    await this.#call('DELETE', `/apis/${this.#group}/v1/ingressclasses/${name}`)
  }

  async createIngress(name: string, spec: object, className = 'ours'): Promise<void> {
    await this.#call('POST', this.#ingresses, { metadata: { name }, spec: { ingressClassName: className, ...spec } })
  }

  async status(name: string): Promise<readonly { readonly ip?: string }[]> {
    const { body } = await this.#server.call('GET', `${this.#ingresses}/${name}`)
    return body.status?.loadBalancer?.ingress ?? []
  }

  async createService(name: string): Promise<void> {
    const spec = { ports: [{ name: 'http', port: 80, targetPort: 8080 }] }
    await this.#call('POST', '/api/v1/namespaces/default/services', { metadata: { name }, spec })
  }

  /** Puts one endpoint behind a Service; returns the resourceVersion of the slice. */
  async putEndpoint(service: string, port: number, isNew = true): Promise<string> {
    const path = `/apis/${this.#dialect.groups.discovery}/v1/namespaces/default/endpointslices`
    const metadata = { name: `${service}-1`, labels: { [this.#dialect.labels.serviceName]: service } }
    const ports = [{ name: 'http', port, protocol: 'TCP' }]
    const endpoints = [{ addresses: ['192.0.2.1'], conditions: { ready: true } }]
    if (!isNew) await this.#call('DELETE', `${path}/${service}-1`)
    const body = { metadata, addressType: 'IPv4', endpoints, ports }
    const created = await this.#server.call('POST', path, { body })
    assert.equal(created.code, 201, created.text)
    return created.body.metadata.resourceVersion
  }

  async createSecret(name: string, certPem: string, keyPem: string): Promise<void> {
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const data = { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) }
    await this.#call('POST', '/api/v1/namespaces/default/secrets', { metadata: { name }, data })
  }

  async replaceSecret(name: string, certPem: string, keyPem: string): Promise<void> {
    await this.#call('DELETE', `/api/v1/namespaces/default/secrets/${name}`)
    await this.createSecret(name, certPem, keyPem)
  }

  async createNode(name: string, addresses: string): Promise<void> {
    const metadata = { name, annotations: { [this.#dialect.annotations.ingressAddresses]: addresses } }
    await this.#call('POST', '/api/v1/nodes', { metadata })
    const body = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    assert.equal((await this.#server.call('PATCH', `/api/v1/nodes/${name}/status`, { body, headers })).code, 200)
  }

  async events(): Promise<readonly { readonly reason: string; readonly involvedObject: { readonly name: string } }[]> {
    return (await this.#server.call('GET', '/api/v1/namespaces/default/events')).body.items
  }

  get #ingresses(): string {
    return `/apis/${this.#group}/v1/namespaces/default/ingresses`
  }

  async #call(method: string, path: string, body?: object): Promise<void> {
    const { code, text } = await this.#server.call(method, path, body === undefined ? {} : { body })
    assert.ok(code === 200 || code === 201, `${method} ${path}: ${code} ${text}`)
  }
}
