import { join, resolve } from 'node:path'
import { type ApiClient, ApiEventRecorder, type SharedInformer } from '../../client/index.ts'
import type { ListenAddress } from '../../config/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { type ObjectKey, splitObjectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { TlsSecret } from '../../model/ingress.ts'
import { type Ip, unspecifiedIpv6 } from '../../model/ip.ts'
import {
  AccessLog,
  canRunHaproxy,
  collectIngressCounts,
  createIngressMetrics,
  explainUrl,
  HaproxyDriver,
  hasDefaultConnections,
  type IngressDriver,
  type IngressMetrics,
  IngressNodes,
  IngressObjects,
  IngressPlan,
  IngressPlane,
  type IngressStatus,
  IngressStatusWriter,
  IngressWatches,
  ingressPlane,
  ingressSettings,
  ReportedProblems,
  readTlsSecret,
  type ServedRequest,
  type UrlExplanation,
} from '../../node/ingress/index.ts'
import { NodeAnnotation } from '../../node/registration/index.ts'
import type { AppliedRevisions, LiveNodeState, SharedInformers } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { ensureIngressCertificate } from './cluster-files.ts'
import { hasIpv6 } from './has-ipv6.ts'
import { findNodeName } from './node-identity.ts'

/** Ingress on this node: its driver, and what follows the API once the dialect of the server is known. */
export interface IngressSide {
  readonly components: readonly Component[]
  /** Undefined until the dialect of the server is known. */
  status(): IngressStatus | undefined
  /** Undefined until the Ingresses have been read. */
  explain(url: AskedUrl): UrlExplanation | undefined
  /** Creates plane, informers and status writer for the server's dialect. */
  createSources(dialect: Dialect, shared: SharedInformers): readonly Component[]
}

export interface IngressSources {
  readonly context: AppContext
  readonly client: ApiClient
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly nodeAddress: () => Ip | undefined
}

interface Shared extends IngressSources {
  readonly driver: IngressDriver
  readonly metrics: IngressMetrics
  readonly selfSigned: TlsSecret | undefined
  readonly log: Logger
}

/** Composes Ingress on this node. */
export async function composeIngress(sources: IngressSources): Promise<IngressSide> {
  const { context, applied } = sources
  const { app } = context.options.values
  const log = context.logging.logger('platform_ingress')
  const { driver, metrics } = await createDriver(context, log)
  const selfSigned = await findDefaultCertificate(app.dataDir)
  const shared = { ...sources, driver, metrics, selfSigned, log }
  let live: { readonly plane: IngressPlane; readonly plan: IngressPlan } | undefined
  applied.register(ingressPlane)
  collectIngressCounts(context.metrics, () => live?.plane.status())
  metrics.showOnly(() => live && new Set(live.plan.ingresses().map(({ key }) => key)))
  return {
    components: [besidePlane(driver, () => live?.plane.health())],
    status: () => live?.plane.status(),
    explain: (url) => live && explain(live, shared.state, url),
    createSources: (dialect, { nodes }) => {
      const { components, ...made } = createSources(shared, dialect, nodes)
      live = made
      return components
    },
  }
}

/**
 * A driver that waits for its first routes is not ready; where the plane cannot give it any or has none to give, that is known and the agent is as
 * ready as it gets.
 */
function besidePlane(driver: IngressDriver, ofPlane: () => Health | undefined): Component {
  return {
    name: driver.name,
    start: (scope) => driver.start(scope),
    stop: (scope) => driver.stop(scope),
    health: () => {
      const [own, plane] = [driver.health(), ofPlane()]
      return own.level === 'unknown' && plane !== undefined && plane.level !== 'unknown' ? plane : own
    },
  }
}

function explain(
  { plane, plan }: { readonly plane: IngressPlane; readonly plan: IngressPlan },
  services: LiveNodeState,
  url: AskedUrl,
): UrlExplanation | undefined {
  if (plane.step === undefined) return undefined
  const { table, problems } = plane.step
  const classOf = (ingress: Parameters<IngressPlan['classOf']>[0]) => plan.classOf(ingress)
  const waitsFor = plane.isWanted ? undefined : plan.controller
  const ingresses = () => plan.ingresses()
  return explainUrl({ table, problems, services, ingresses, classOf, waitsFor, nowMs: Date.now() }, url)
}

type AskedUrl = Parameters<typeof explainUrl>[1]

interface DriverParts {
  readonly driver: IngressDriver
  readonly metrics: IngressMetrics
}

async function createDriver({ options, metrics: registry, tracer }: AppContext, log: Logger): Promise<DriverParts> {
  const { app, ingress } = options.values
  const folder = join(resolve(app.dataDir), 'haproxy')
  const isHaproxy = ingress.ingressDriver === 'haproxy' || (ingress.ingressDriver === 'auto' && canRunHaproxy(folder))
  const read = ingressSettings(ingress)
  const settings = {
    ...read,
    httpAddresses: usable(read.httpAddresses),
    httpsAddresses: usable(read.httpsAddresses),
    log: log.child('proxy'),
  }
  const share = ingress.ingressAccessLog
  if (isHaproxy) {
    // haproxy itself chooses the requests that get a line, and counts all of them.
    const accessLog = new AccessLog(1, log.child('access'))
    const onServed = (request: ServedRequest) => accessLog.write(request)
    const tracing = tracer.isOn ? { tracer, tracing: tracer.sampling } : {}
    const driver = new HaproxyDriver({
      ...settings,
      folder,
      accessLog: share,
      onServed,
      hasDefaultConnections: hasDefaultConnections(settings.limits),
      ...tracing,
    })
    return { driver, metrics: createIngressMetrics(registry, () => driver.answerCounts()) }
  }
  // Its HTTP library costs 10 MiB and more, which an agent with haproxy does not pay.
  const { InProcessDriver } = await import('../../node/ingress/in-process/index.ts')
  const metrics = createIngressMetrics(registry)
  const accessLog = new AccessLog(share, log.child('access'))
  const onServed = (request: ServedRequest) => {
    metrics.countRequest(request)
    accessLog.write(request)
  }
  return { driver: new InProcessDriver({ ...settings, onServed, tracer }), metrics }
}

/** Leaves out `[::]` where the kernel has no IPv6: the default names it. */
function usable(addresses: readonly ListenAddress[]): readonly ListenAddress[] {
  return hasIpv6() ? addresses : addresses.filter(({ ip }) => ip !== unspecifiedIpv6)
}

/** The certificate for names that no Ingress has one for; made once and kept in the data directory. */
async function findDefaultCertificate(dataDir: string): Promise<TlsSecret | undefined> {
  const { certPem, keyPem } = await ensureIngressCertificate(dataDir)
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const data = { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) }
  return readTlsSecret({ metadata: { namespace: 'platnet', name: 'self-signed' }, data }).value
}

function createSources(shared: Shared, dialect: Dialect, nodesOfCluster: SharedInformer) {
  const { context, client, state: nodeState, applied, nodeAddress, driver, metrics, log } = shared
  const { ingress, node } = context.options.values
  const nodeName = findNodeName(node.nodeName)
  const objects = new IngressObjects()
  const plan = new IngressPlan(nodeState, planSettings(shared, dialect))
  const onChange = () => {
    writer.check()
    if (nodes.rankOf(nodeName) !== 0) return
    for (const [key, { reason, message }] of problems.takeUnrecorded()) recordEvent(key, reason, message)
  }
  const clientLog = log.child('client')
  const annotation = dialect.annotations.ingressAddresses
  const nodes = new IngressNodes({ nodes: nodesOfCluster, annotation, onChange })
  const group = dialect.groups.networking
  const writer = new IngressStatusWriter({ client, group, nodeName, plan, objects, nodes, log: log.child('status') })
  const watches = new IngressWatches({ client, dialect, objects, log: clientLog })
  const recordEvent = ingressEvents(client, { group, objects, log })
  const problems = new ReportedProblems((key, { reason, message }) => {
    log.warn('an Ingress is not served as it is written', { ingress: key, reason, message })
  })
  const followSecrets = (secrets: ReadonlySet<ObjectKey>) => watches.followSecrets(secrets)
  const parts = { plan, driver, objects, problems, nodeState, applied, metrics, followSecrets, log }
  const plane = new IngressPlane({ ...parts, onApplied: onChange })
  const value = () => ingress.ingressAddress?.join() ?? nodeAddress()
  const annotated = new NodeAnnotation({ client, nodeName, key: annotation, value, log: log.child('node') })
  return { plane, plan, components: [watches, plane, nodes, annotated, writer] }
}

function planSettings({ context, selfSigned }: Shared, { domain, h2cProtocols }: Dialect) {
  const { ingressControllerName, ingressDefaultCertificate } = context.options.values.ingress
  return {
    controller: ingressControllerName ?? `${domain}/ingress`,
    h2cProtocols,
    ...(ingressDefaultCertificate !== undefined && { defaultCertificate: ingressDefaultCertificate }),
    ...(selfSigned !== undefined && { selfSigned }),
  }
}

/** Writes an Event on an Ingress, if it is still there. */
function ingressEvents(
  client: ApiClient,
  { group, objects, log }: { readonly group: string; readonly objects: IngressObjects; readonly log: Logger },
) {
  const recorder = new ApiEventRecorder(client, 'platnet-ingress', log.child('events'))
  return (key: ObjectKey, reason: string, message: string) => {
    const uid = objects.record(key)?.uid
    const { namespace, name } = splitObjectKey(key)
    if (uid === undefined || uid === '') return
    const subject = { apiVersion: `${group}/v1`, kind: 'Ingress', metadata: { name, namespace, uid } }
    recorder.record(subject, 'Warning', reason, message)
  }
}
