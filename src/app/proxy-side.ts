import { existsSync } from 'node:fs'
import { deleteFlows, type Flow, listFlows, localAddresses, NftMonitor, runProgram } from '../host/index.ts'
import type { Component } from '../loop/component.ts'
import { describeError } from '../model/errors.ts'
import { type IpFamily, ipFamily } from '../model/ip.ts'
import { proxyHooks } from '../netfilter/hooks.ts'
import {
  ConntrackCleaner,
  type ConntrackMetrics,
  createConntrackMetrics,
  createProxyMetrics,
  type ProxyMetrics,
  ProxyPlane,
  type ProxySettings,
} from '../node/proxy/index.ts'
import { DriftWatch, detectIptables, Iptables, RulesWriter } from '../node/rules/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../node/state/index.ts'
import type { Logger } from '../observe/index.ts'
import type { AppContext } from './context.ts'
import { findNodeName } from './node-identity.ts'

/** The service proxy: what of it starts, in order, and its planes, one a family. */
export interface ProxySide {
  readonly components: readonly Component[]
  readonly planes: readonly ProxyPlane[]
}

interface ProxyFamily {
  readonly iptables: Iptables
  readonly writer: RulesWriter
  readonly plane: ProxyPlane
  readonly cleaner: ConntrackCleaner<Flow>
}

interface ProxyParts {
  readonly context: AppContext
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly metricsOf: (family: IpFamily) => ProxyMetrics
  readonly conntrackMetricsOf: (family: IpFamily) => ConntrackMetrics
  readonly monitor: NftMonitor
}

/**
 * A writer and a plane for each family that this node has; they share nothing, so that one which fails never stops the other.
 * Throws what the detection of programs threw where no family can be served.
 */
export async function composeProxy(
  context: AppContext,
  state: LiveNodeState,
  applied: AppliedRevisions,
): Promise<ProxySide> {
  const log = context.logging.logger('platform_traffic_proxy')
  const monitor = new NftMonitor(log.child('monitor'))
  const parts: ProxyParts = {
    context,
    state,
    applied,
    metricsOf: createProxyMetrics(context.metrics),
    conntrackMetricsOf: createConntrackMetrics(context.metrics),
    monitor,
  }
  const wanted: readonly IpFamily[] = hasIpv6() ? ['IPv4', 'IPv6'] : ['IPv4']
  const results = await Promise.allSettled(wanted.map((family) => composeFamily(parts, family)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const families = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (families.length === 0) throw failures[0]
  for (const error of failures) log.warn('one IP family is not served', { error: describeError(error) })
  for (const { plane } of families) applied.register(plane.name)
  const isWatchable = families.some(({ iptables }) => iptables.choice.flavour === 'nft')
  return {
    components: [
      ...(isWatchable ? [monitor] : []),
      ...families.flatMap(({ writer, cleaner, plane }) => [writer, cleaner, plane]),
    ],
    planes: families.map(({ plane }) => plane),
  }
}

/** The file is there where the kernel has IPv6, whatever addresses it holds. */
function hasIpv6(): boolean {
  return existsSync('/proc/net/if_inet6')
}

async function composeFamily(parts: ProxyParts, family: IpFamily): Promise<ProxyFamily> {
  const { context, state, applied, metricsOf, monitor } = parts
  const base = context.logging.logger('platform_traffic_proxy')
  const log = family === 'IPv4' ? base : base.child('ipv6')
  const choice = await detectIptables(runProgram, family, 'auto')
  const iptables = new Iptables(choice, runProgram)
  const rulesLog = log.child('rules')
  const isWatched = () => choice.flavour === 'nft' && monitor.isListening
  const writer = new RulesWriter({ iptables, hooks: proxyHooks(), log: rulesLog, isWatched })
  if (choice.flavour === 'nft') monitor.subscribe(new DriftWatch({ family, writer, log: rulesLog }))
  const settings = proxySettings(context, family)
  const cleaner = composeCleaner(parts, family, log.child('conntrack'))
  const onApplied = (services: readonly string[]) => cleaner.onApplied(services)
  const plane = new ProxyPlane({ state, writer, applied, settings, metrics: metricsOf(family), log, onApplied })
  return { iptables, writer, plane, cleaner }
}

function composeCleaner(
  { state, conntrackMetricsOf }: ProxyParts,
  family: IpFamily,
  log: Logger,
): ConntrackCleaner<Flow> {
  return new ConntrackCleaner({
    family,
    state,
    flows: { list: (protocol) => listFlows(family, protocol), remove: (flows) => deleteFlows(flows) },
    isLocalAddress: (address) => localAddresses().has(address),
    metrics: conntrackMetricsOf(family),
    log,
  })
}

function proxySettings(context: AppContext, family: IpFamily): ProxySettings {
  const { node } = context.options.values
  const cidr = node.clusterCidr.find((network) => ipFamily(network) === family)
  return { nodeName: findNodeName(node.nodeName), family, ...(cidr && { localTraffic: { kind: 'source', cidr } }) }
}
