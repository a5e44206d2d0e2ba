import { ApiEventRecorder } from '../../client/index.ts'
import { deleteFlows, type Flow, listFlows, localAddresses, readSysctl } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, type IpFamily, unspecifiedIpv4, unspecifiedIpv6 } from '../../model/ip.ts'
import type { Node } from '../../model/node.ts'
import { isNetworkOurs } from '../../node/cni/index.ts'
import {
  ClaimedServices,
  type ClaimedServicesParts,
  ConntrackCleaner,
  type ConntrackMetrics,
  collectInvalidDrops,
  collectProxyCounts,
  collectRefusedClaims,
  createConntrackMetrics,
  createProxyHealthz,
  createProxyMetrics,
  createProxyMetricsListener,
  HealthChecks,
  isFresh,
  NodeWatch,
  type ProxyMetrics,
  type ProxyOptions,
  ProxyPlane,
  planHealthAddresses,
  planSettings,
  type Refusal,
  type RefusedClaim,
  summarizeRefusedClaims,
} from '../../node/proxy/index.ts'
import type { ClusterAddresses } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { warnOfAffinityLimit } from './affinity-limit.ts'
import type { AgentCore } from './agent-core.ts'
import type { ApiServerNames } from './api-server-names.ts'
import { composeProxyRules, type ProxyRules } from './compose-proxy-rules.ts'
import { FirstRules } from './first-rules.ts'
import { hasIpv6 } from './has-ipv6.ts'
import { NodeFactsWatch } from './node-facts.ts'
import { findNodeName } from './node-identity.ts'
import { serviceEvents, type TellOfService } from './service-events.ts'

/** The service proxy: its components in start order, and one plane per address family. */
export interface ProxySide {
  /** Whether the kernel tells who changes its rules. */
  readonly isWatchable: boolean
  readonly components: readonly Component[]
  readonly families: readonly ProxyFamily[]
  /** One sentence for each address or port that a Service claims and another one owns. */
  refusedClaims(): Iterable<string>
  /** Creates the informers of the proxy for the server's dialect. */
  createSources(dialect: Dialect): readonly Component[]
}

/** The proxy of one address family. */
export interface ProxyFamily {
  readonly rules: ProxyRules
  readonly plane: ProxyPlane
  readonly cleaner: ConntrackCleaner<Flow>
}

interface ProxyParts extends Omit<AgentCore, 'client'> {
  /** The node's Services without the addresses and ports that belong to another Service. */
  readonly claimed: ClaimedServices
  readonly tell: TellOfService
  readonly metricsOf: (family: IpFamily) => ProxyMetrics
  readonly conntrackMetricsOf: (family: IpFamily) => ConntrackMetrics
  readonly facts: NodeFactsWatch
  readonly firstRules: FirstRules
}

export interface ProxySources extends AgentCore {
  readonly addresses: ClusterAddresses
  /** The addresses of this agent's API servers, looked up: no external address of a Service may take them. */
  readonly apiServers: ApiServerNames
}

/**
 * Composes a writer and a plane for each address family of this node. They share nothing, so that a failure of one never stops the
 * other. Throws the error of the program detection if no family can be served.
 */
export async function composeProxy(sources: ProxySources): Promise<ProxySide> {
  const { context, client, state, applied, run, modes, monitor, repairs, addresses, apiServers } = sources
  const log = context.logging.logger('platform_traffic_proxy')
  const tell = serviceEvents(new ApiEventRecorder(client, 'platnet-proxy', log.child('events')), state)
  const claimed = composeClaims({ state, addresses, apiServers: apiServers.keys, tell, log })
  apiServers.onChange((keys) => claimed.setApiServers(keys))
  collectRefusedClaims(context.metrics, () => claimed.refusals().values())
  const wanted: readonly IpFamily[] = hasIpv6() ? ['IPv4', 'IPv6'] : ['IPv4']
  const parts: ProxyParts = {
    context,
    state,
    claimed,
    tell,
    applied,
    run,
    metricsOf: createProxyMetrics(context.metrics),
    conntrackMetricsOf: createConntrackMetrics(context.metrics),
    monitor,
    repairs,
    facts: createNodeFacts(context),
    modes,
    firstRules: new FirstRules(wanted),
  }
  if (context.options.values.proxy.affinityForm === 'recent') warnOfAffinityLimit(state, log)
  const families = await composeFamilies(parts, wanted, log)
  for (const { plane } of families) applied.register(plane.name, plane.family)
  const planes = families.map(({ plane }) => plane)
  const health = composeHealth(parts, planes)
  parts.facts.follow((facts) => {
    for (const { plane, rules } of families) {
      const settings = planSettings(plane.family, proxyOptionsOf(context), facts)
      rules.configure(settings)
      plane.configure(settings)
    }
    health.checks.onNodeChange()
  })
  collectCounts(context, families)
  return {
    isWatchable: families.some(({ rules }) => rules.isWatchable),
    components: [
      parts.modes,
      claimed,
      apiServers,
      ...families.flatMap(({ rules, cleaner, plane }) => [...rules.components, cleaner, plane]),
      parts.facts,
      ...health.components,
    ],
    families,
    refusedClaims: () => claimed.problems(),
    createSources: (dialect) => [composeNodeWatch(sources, dialect, parts.facts, log.child('node'))],
  }
}

/** Composes the watch of this node's own object, whose addresses and facts the rules need. */
function composeNodeWatch(
  { context, client, addresses }: ProxySources,
  dialect: Dialect,
  facts: NodeFactsWatch,
  log: Logger,
): NodeWatch {
  const nodeName = findNodeName(context.options.values.node.nodeName)
  const onNode = (node: Node | undefined) => {
    addresses.setNode(nodeName, node?.addresses ?? [])
    facts.tell(node)
  }
  return new NodeWatch({ name: 'node', client, dialect, nodeName, onNode, log })
}

function composeClaims({
  tell,
  ...parts
}: Omit<ClaimedServicesParts, 'onRefused'> & { tell: TellOfService }): ClaimedServices {
  const onRefused = (service: string, refused: readonly RefusedClaim[]) => {
    if (refused.length > 0) tell(service, 'AddressRefused', `not served at ${summarizeRefusedClaims(refused)}`)
  }
  return new ClaimedServices({ ...parts, onRefused })
}

/** Returns the families that this node can serve and logs the others. Throws if there is none. */
async function composeFamilies(
  parts: ProxyParts,
  wanted: readonly IpFamily[],
  log: Logger,
): Promise<readonly ProxyFamily[]> {
  const results = await Promise.allSettled(wanted.map((family) => composeFamily(parts, family)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const families = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (families.length === 0) throw failures[0]
  for (const error of failures) log.warn('one IP family is not served', { error: describeError(error) })
  return families
}

function collectCounts({ metrics }: AppContext, families: readonly ProxyFamily[]): void {
  collectProxyCounts(
    metrics,
    families.map(({ plane }) => plane.view),
  )
  collectInvalidDrops(
    metrics,
    families.flatMap(({ plane: { family }, rules: { counters } }) =>
      counters === undefined ? [] : [{ family, countersOf: (chain: string) => counters.countersOf('filter', chain) }],
    ),
  )
}

/** Composes the health endpoints that load balancers probe, and the one that kube-proxy has for metrics. */
function composeHealth(
  { context, state, tell, facts }: ProxyParts,
  planes: readonly ProxyPlane[],
): { readonly checks: HealthChecks; readonly components: readonly Component[] } {
  const { node, proxy } = context.options.values
  const log = context.logging.logger('platform_traffic_proxy').child('health')
  const freshness = () => planes.map((plane) => plane.view.freshness())
  const isProxyHealthy = () => isFresh(freshness(), Date.now())
  const onRefused = (service: string, why: string) => tell(service, 'FailedToStartServiceHealthcheck', why)
  const checks = new HealthChecks({
    state,
    nodeName: findNodeName(node.nodeName),
    isProxyHealthy,
    addresses: () => planHealthAddresses(proxyOptionsOf(context), facts.now) ?? [anyFamily(unspecifiedIpv4)],
    onRefused,
    log,
  })
  const { metrics } = context
  const healthz = createProxyHealthz({
    address: anyFamily(proxy.proxyHealthzAddress),
    port: proxy.proxyHealthzPort,
    freshness,
    isNodeEligible: () => facts.isEligible,
    metrics,
    log,
  })
  const scraped = createProxyMetricsListener({
    address: anyFamily(proxy.proxyMetricsAddress),
    port: proxy.proxyMetricsPort,
    mode: () => planes[0]?.view.status().mode ?? 'iptables',
    metrics,
    log,
  })
  const endpoints = [
    ...(proxy.proxyHealthzPort === 0 ? [] : [healthz]),
    ...(proxy.proxyMetricsPort === 0 ? [] : [scraped]),
  ]
  return { checks, components: [checks, ...endpoints] }
}

/** Turns `0.0.0.0` into `::`, so that a listener on all addresses is reached over both families, as with kube-proxy. */
function anyFamily(address: Ip): Ip {
  return address === unspecifiedIpv4 && hasIpv6() ? unspecifiedIpv6 : address
}

function createNodeFacts(context: AppContext): NodeFactsWatch {
  const { app, cni } = context.options.values
  return new NodeFactsWatch({
    isNetworkOurs: () => isNetworkOurs(cni.cniConfDir, app.components.includes('pods')),
    nodeName: findNodeName(context.options.values.node.nodeName),
    isConntrackLiberal: async () => (await readSysctl('net/netfilter/nf_conntrack_tcp_be_liberal')) === 1,
    localAddresses,
  })
}

function proxyOptionsOf({ options }: AppContext): ProxyOptions {
  const { app, dns, node, proxy } = options.values
  const answeredHere = app.components.includes('dns') ? dns.clusterDns : undefined
  return { clusterCidr: node.clusterCidr, answeredHere, ...proxy }
}

async function composeFamily(parts: ProxyParts, family: IpFamily): Promise<ProxyFamily> {
  const { context, claimed, applied, metricsOf, facts } = parts
  const base = context.logging.logger('platform_traffic_proxy')
  const log = family === 'IPv4' ? base : base.child('ipv6')
  const settings = planSettings(family, proxyOptionsOf(context), facts.now)
  const choice = await parts.modes.choose(family)
  log.info('the mode of the proxy is chosen', { mode: choice.name, why: choice.why })
  const rules = await composeProxyRules({ ...parts, family, settings, log: log.child('rules') }, choice)
  const cleaner = composeCleaner(parts, family, log.child('conntrack'))
  const onApplied = (services: readonly string[]) => cleaner.onApplied(services)
  const onOvertaken = (services: readonly string[]) => cleaner.onOvertaken(services)
  const metrics = metricsOf(family)
  const { maxServiceRules } = context.options.values.proxy
  const onRefused = ({ service, reason, isTooLarge }: Refusal) =>
    parts.tell(
      service,
      isTooLarge ? 'TooManyRules' : 'RulesRefused',
      `the rules of this Service (${family}) are set aside: ${reason}`,
    )
  const plane = new ProxyPlane({
    state: claimed,
    mode: rules.mode,
    applied,
    settings,
    waitsForNode: true,
    ...(maxServiceRules > 0 && { maxServiceRules }),
    metrics,
    log,
    tracer: context.tracer,
    onApplied,
    onOvertaken,
    onComplete: (unserved) => rules.onComplete(unserved),
    onRefused,
  })
  return { rules, plane, cleaner }
}

function composeCleaner(
  { context, claimed, run, conntrackMetricsOf }: ProxyParts,
  family: IpFamily,
  log: Logger,
): ConntrackCleaner<Flow> {
  const { conntrackTcpGrace } = context.options.values.proxy
  return new ConntrackCleaner({
    family,
    tcpGraceMs: conntrackTcpGrace === undefined ? undefined : conntrackTcpGrace * 1000,
    state: claimed,
    flows: {
      list: (protocol) => listFlows(family, protocol, run),
      remove: (flows) => deleteFlows(flows, run),
    },
    isLocalAddress: (address) => localAddresses().has(address),
    metrics: conntrackMetricsOf(family),
    log,
  })
}
