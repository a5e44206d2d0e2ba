import {
  ApiClient,
  accessByServer,
  type ClusterAccess,
  collectFollowed,
  createRequestObserver,
  loadKubeconfig,
} from '../../client/index.ts'
import { ConfigError, configzDocument } from '../../config/index.ts'
import { createFastRun, interfaceTowards, NftMonitor, type Run } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import { createIdleMemory } from '../../loop/idle-memory.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, unspecifiedIpv4 } from '../../model/ip.ts'
import { CniGate, createGateMetrics } from '../../node/cni/index.ts'
import { createControlSocket } from '../../node/control/index.ts'
import type { DnsPlane } from '../../node/dns/index.ts'
import { PodFolders, readLog, UsageEndpoint } from '../../node/pods/index.ts'
import { type NodeNetwork, NodeRegistration } from '../../node/registration/index.ts'
import { createRepairObservers, readBaseChains } from '../../node/rules/index.ts'
import {
  AppliedRevisions,
  ClusterAddresses,
  ClusterAddressWatch,
  createSharedInformers,
  createStateSources,
  LiveNodeState,
} from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'
import { ensureToken } from '../../pki/index.ts'
import {
  type AccessRule,
  createAgentEndpoints,
  createPodEndpoints,
  httpsListener,
  type TlsMaterial,
} from '../../serve/index.ts'
import type { AppContext } from '../context.ts'
import type { AgentCore } from './agent-core.ts'
import { readCounters } from './agent-counters.ts'
import { describeAgent } from './agent-status.ts'
import { ClusterConnection } from './cluster-connection.ts'
import { dataPaths, ensureAgentTls } from './cluster-files.ts'
import type { DnsSide } from './compose-dns.ts'
import type { IngressSide } from './compose-ingress.ts'
import { composePods, type PodsParts, podsFolder } from './compose-pods.ts'
import type { PolicySide } from './compose-policy.ts'
import type { ProxySide } from './compose-proxy.ts'
import { besideConsole, ConsoleDoor } from './console-door.ts'
import { agentAccess, tellTrouble } from './delegated-access.ts'
import { FollowingListener, followAddresses, machineLook } from './follow-addresses.ts'
import { ingressQuestions } from './ingress-questions.ts'
import { findMachineInfo } from './machine-info.ts'
import { followNodeAddress } from './node-address.ts'
import type { NodeConsoleParts } from './node-console.ts'
import { findNodeName } from './node-identity.ts'
import { createModeChooser } from './proxy-mode-choice.ts'
import { proxyQuestions } from './proxy-questions.ts'

/** Composes the parts of a node agent in start order: health and metrics first, then what does the work. */
export async function composeAgent(
  context: AppContext,
  run = createFastRun(),
  modes = createModeChooser(context.options.values.proxy.proxyMode, run),
): Promise<readonly Component[]> {
  const log = context.logging.logger('platform_kubelet')
  const reread = () => findAccess(context.options.values.node)
  const access = await reread()
  const client = new ApiClient(access, { observe: createRequestObserver(context.metrics), reread })
  collectFollowed(context.metrics, client)
  const state = new LiveNodeState(log.child('state'))
  const addresses = new ClusterAddresses()
  const applied = new AppliedRevisions(state)
  const gate = new CniGate({ state, applied, metrics: createGateMetrics(context.metrics), log: log.child('cni') })
  const monitor = new NftMonitor(log.child('monitor'))
  const nodeAddress = followNodeAddress(context.options.values.node)
  const repairs = createRepairObservers(context.metrics)
  const core = { context, client, state, addresses, applied, run, modes, monitor, repairs, nodeAddress }
  const connection = connectEarly(core, log)
  try {
    return await composeAround({ ...core, access, gate, connection })
  } catch (error) {
    await connection.stop({ signal: new AbortController().signal })
    throw error
  }
}

/** Begins to list Services and their endpoints, which takes longest, before the parts are there that take them. */
function connectEarly({ context, client, state }: AgentCore, log: Logger): ClusterConnection {
  const createEarly = (dialect: Dialect, opened: Promise<void>) =>
    createStateSources({ client, dialect, state, opened, log: log.child('client'), tracer: context.tracer })
  const connection = new ClusterConnection({ client, createEarly, log })
  connection.begin()
  return connection
}

interface AgentParts extends PlaneParts {
  readonly access: ClusterAccess
  readonly gate: CniGate
  readonly connection: ClusterConnection
}

async function composeAround({ access, gate, connection, ...core }: AgentParts): Promise<readonly Component[]> {
  const { context, client, state, applied, run, monitor } = core
  const { values } = context.options
  const log = context.logging.logger('platform_kubelet')
  const { proxy, policy, dns, ingress } = await composePlanes(core, access)
  connection.follow((dialect) => composeSources({ ...core, gate, proxy, policy, dns, ingress }, dialect))
  const working: readonly Component[] = [
    ...(proxy?.isWatchable || policy?.isWatchable ? [monitor] : []),
    ...(proxy?.components ?? []),
    ...(policy?.components ?? []),
    ...(dns ? [dns.plane] : []),
    ...(ingress?.components ?? []),
    connection,
  ]
  const status = () =>
    describeAgent({
      nodeName: findNodeName(values.node.nodeName),
      components: [...working, ...connection.sources],
      state,
      applied,
      proxy: proxy?.families.map(({ plane }) => plane.view) ?? [],
      policy: policy?.plane,
      ingress: ingress?.status(),
      options: context.live.report,
      refusedClaims: proxy?.refusedClaims() ?? [],
    })
  const configz = () => describeConfig(context, proxy)
  const questions = questionsOf({ proxy, policy, dns, ingress }, run)
  const control = createControlSocket({
    path: values.node.controlSocket,
    applied,
    status,
    queries: { ...questions, ...selfQuestions(context, dns?.plane, configz) },
    gate,
    log: log.child('control'),
  })
  const rule = await accessRule(context, client)
  const families = proxy?.families ?? []
  const door = composeNodeDoor({ context, client, state, dns: dns?.plane, families, status, questions }, rule)
  const endpoints = await composeEndpoints(context, { access, rule, door, configz }, working)
  return [endpoints, control, ...working, ...(door ? [door] : []), ...createIdleMemory(log, recentChanges(state))]
}

/** Tells whether a Service or its endpoints changed within the last seconds: the next change may come soon. */
function recentChanges(state: LiveNodeState): () => boolean {
  let changedMs = Number.NEGATIVE_INFINITY
  state.subscribe(() => {
    changedMs = performance.now()
  })
  return () => performance.now() - changedMs < changesPauseMs
}

const changesPauseMs = 10_000

interface PlaneParts extends AgentCore {
  readonly addresses: ClusterAddresses
  /** Returns the address of this node as it is now. */
  readonly nodeAddress: () => Ip | undefined
}

/** The planes among the components. */
interface Planes {
  readonly proxy: ProxySide | undefined
  readonly policy: PolicySide | undefined
  readonly dns: DnsSide | undefined
  readonly ingress: IngressSide | undefined
}

/** Loads and composes the planes among the components; a node that serves one of them does not read the code of the others. */
async function composePlanes(core: PlaneParts, access: ClusterAccess): Promise<Planes> {
  const { components } = core.context.options.values.app
  const proxy = async () => {
    const { composeProxy } = await import('./compose-proxy.ts')
    const { ApiServerNames } = await import('./api-server-names.ts')
    const log = core.context.logging.logger('platform_traffic_proxy')
    const apiServers = new ApiServerNames({ access, log })
    await apiServers.look()
    return composeProxy({ ...core, apiServers })
  }
  return {
    proxy: components.includes('proxy') ? await proxy() : undefined,
    policy: components.includes('policy') ? await (await import('./compose-policy.ts')).composePolicy(core) : undefined,
    dns: components.includes('dns') ? (await import('./compose-dns.ts')).composeDns(core) : undefined,
    ingress: components.includes('ingress')
      ? await (await import('./compose-ingress.ts')).composeIngress(core)
      : undefined,
  }
}

interface SourceParts extends Planes, Omit<PodsParts, 'dialect' | 'shared' | 'onNetwork'> {}

/** Composes what watches the API beside the state. The inputs of rules are listed in parallel; all other informers wait for them. */
function composeSources(
  { proxy, policy, dns, ingress, ...parts }: SourceParts,
  dialect: Dialect,
): readonly (readonly Component[])[] {
  const { context, client, addresses } = parts
  const log = context.logging.logger('platform_kubelet').child('client')
  const shared = createSharedInformers({ client, dialect, log, tracer: context.tracer })
  const registration = composeRegistration(parts, dialect)
  const onNetwork = (network: NodeNetwork): void => registration?.setNetwork(network)
  const rulesInputs = [
    new ClusterAddressWatch({ client, dialect, addresses, log }),
    ...(proxy?.createSources(dialect) ?? []),
    ...(policy?.createSources(dialect, shared) ?? []),
    ...(ingress?.createSources(dialect, shared) ?? []),
  ]
  return [
    rulesInputs,
    ...(registration ? [[registration]] : []),
    ...(dns?.createSources(dialect, shared) ?? []).map((source) => [source]),
    ...composePods({ ...parts, dialect, shared, onNetwork }).map((source) => [source]),
  ]
}

function questionsOf({ proxy, policy, dns, ingress }: Planes, run: Run) {
  return {
    ...proxyQuestions({
      families: proxy?.families ?? [],
      policyRules: policy?.families ?? [],
      interfaceOf: (source) => interfaceTowards(source, run),
      readChains: (family) => readBaseChains(run, family),
      policy: policy?.explainer,
    }),
    ...dns?.questions,
    ...ingressQuestions(ingress?.explain),
  }
}

/** Answers what `platnet status --watch` and `platnet support-bundle` ask about this process. */
function selfQuestions(context: AppContext, dns: DnsPlane | undefined, configz: () => unknown) {
  const ok = 200 as const
  return {
    '/counters': async () => ({ status: ok, body: await readCounters(context, dns) }),
    '/configz': async () => ({ status: ok, body: configz() }),
    '/metrics': async () => ({ status: ok, body: { text: (await context.metrics.text()).body } }),
  }
}

/** The options, and what was chosen where an option leaves the choice to the agent. */
function describeConfig(context: AppContext, proxy: ProxySide | undefined) {
  const modes = (proxy?.families ?? []).map(({ plane: { view } }) => {
    const { family, mode, modeReason } = view.status()
    return [family, { mode, why: modeReason }] as const
  })
  return { ...configzDocument(context.live.resolved), inUse: { proxyMode: Object.fromEntries(modes) } }
}

function composeRegistration(
  { context, client, nodeAddress }: Pick<SourceParts, 'context' | 'client' | 'nodeAddress'>,
  dialect: Dialect,
): NodeRegistration | undefined {
  const { app, node } = context.options.values
  if (!app.components.includes('registration')) return undefined
  const machine = findMachineInfo(findNodeName(node.nodeName), node.port, nodeAddress)
  const log = context.logging.logger('platform_kubelet').child('registration')
  return new NodeRegistration({ client, dialect, machine, log })
}

async function findAccess(node: AppContext['options']['values']['node']): Promise<ClusterAccess> {
  if (node.kubeconfig) return loadKubeconfig(node.kubeconfig, { servers: node.server })
  if (node.server) return accessByServer(...node.server)
  throw new ConfigError('config-invalid', [
    'the agent does not know its API server: expected --kubeconfig FILE or --server URL ("platnet run" has both on this machine)',
  ])
}

/** Builds the rule of access to this agent's endpoints, its console included. */
async function accessRule(context: AppContext, client: ApiClient): Promise<AccessRule> {
  const { app, node } = context.options.values
  const token = await ensureToken(dataPaths(app.dataDir).agentToken)
  return {
    isPublic: () => context.live.values.node.publicMetrics,
    bearerTokens: () => [token],
    delegate: agentAccess(client, findNodeName(node.nodeName)),
    onTrouble: tellTrouble(context.logging.logger('platform_kubelet').child('endpoints')),
  }
}

/** The console is never public: it shows more than figures. */
function composeNodeDoor(
  parts: Omit<NodeConsoleParts, 'nodeName' | 'isBesideServer' | 'log'>,
  rule: AccessRule,
): ConsoleDoor | undefined {
  const { options, logging } = parts.context
  const { console, node } = options.values
  if (!console.console) return undefined
  const log = logging.logger('platform_kubelet').child('console')
  const own = { nodeName: findNodeName(node.nodeName), isBesideServer: process.send !== undefined, log }
  return new ConsoleDoor({
    port: console.consolePort,
    option: '--console-port',
    access: { ...rule, isPublic: () => false },
    load: async () => (await import('./node-console.ts')).createNodeConsole({ ...parts, ...own }),
    log,
  })
}

interface ServedParts {
  readonly access: ClusterAccess
  readonly rule: AccessRule
  readonly door: ConsoleDoor | undefined
  readonly configz: () => unknown
}

async function composeEndpoints(
  context: AppContext,
  { access, rule, door, configz }: ServedParts,
  components: readonly Component[],
): Promise<Component> {
  const { app, node } = context.options.values
  const log = context.logging.logger('platform_kubelet').child('endpoints')
  const look = machineLook(unspecifiedIpv4)
  const since = look()
  const clientCa = access.certificateAuthority
  const ensureTls = async (): Promise<TlsMaterial> => {
    const { certPem, keyPem } = await ensureAgentTls(app.dataDir, {
      name: findNodeName(node.nodeName),
      ip: node.nodeIp,
    })
    return { certificate: certPem, key: keyPem, ...(clientCa && { clientCa }) }
  }
  const folders = new PodFolders(podsFolder(context.options.values))
  const usage = new UsageEndpoint(folders, log.child('usage'))
  const handler = createAgentEndpoints({
    metrics: context.metrics,
    usage: () => usage.text(),
    configz,
    components: () => components,
    access: rule,
    log,
  })
  const withPods = createPodEndpoints(
    { access: rule, readLog: (request, options) => readLog(folders, request, options) },
    handler,
  )
  const listener = httpsListener({
    name: 'endpoints',
    handler: door ? besideConsole(door.handler, withPods) : withPods,
    log,
    address: unspecifiedIpv4,
    port: node.port,
    portOption: '--port',
    tls: await ensureTls(),
  })
  const onReachable = async () => listener.replaceTls(await ensureTls())
  return new FollowingListener(listener, () => followAddresses({ look, since, onReachable, log }))
}
