import { existsSync } from 'node:fs'
import { runProgram } from '../host/index.ts'
import { describeError } from '../model/errors.ts'
import { type IpFamily, ipFamily } from '../model/ip.ts'
import { proxyHooks } from '../netfilter/hooks.ts'
import { createProxyMetrics, type ProxyMetrics, ProxyPlane, type ProxySettings } from '../node/proxy/index.ts'
import { detectIptables, Iptables, RulesWriter } from '../node/rules/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../node/state/index.ts'
import type { AppContext } from './context.ts'
import { findNodeName } from './node-identity.ts'

/** The service proxy of one family with the writer it publishes to; the writer starts first and stops last. */
export interface ProxyFamily {
  readonly writer: RulesWriter
  readonly plane: ProxyPlane
}

interface ProxyParts {
  readonly context: AppContext
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly metricsOf: (family: IpFamily) => ProxyMetrics
}

/**
 * A writer and a plane for each family that this node has; they share nothing, so that one which fails never stops the other.
 * Throws what the detection of programs threw where no family can be served.
 */
export async function composeProxy(
  context: AppContext,
  state: LiveNodeState,
  applied: AppliedRevisions,
): Promise<readonly ProxyFamily[]> {
  const parts = { context, state, applied, metricsOf: createProxyMetrics(context.metrics) }
  const wanted: readonly IpFamily[] = hasIpv6() ? ['IPv4', 'IPv6'] : ['IPv4']
  const results = await Promise.allSettled(wanted.map((family) => composeFamily(parts, family)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const families = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (families.length === 0) throw failures[0]
  const log = context.logging.logger('platform_traffic_proxy')
  for (const error of failures) log.warn('one IP family is not served', { error: describeError(error) })
  for (const { plane } of families) applied.register(plane.name)
  return families
}

/** The file is there where the kernel has IPv6, whatever addresses it holds. */
function hasIpv6(): boolean {
  return existsSync('/proc/net/if_inet6')
}

async function composeFamily(
  { context, state, applied, metricsOf }: ProxyParts,
  family: IpFamily,
): Promise<ProxyFamily> {
  const base = context.logging.logger('platform_traffic_proxy')
  const log = family === 'IPv4' ? base : base.child('ipv6')
  const choice = await detectIptables(runProgram, family, 'auto')
  const iptables = new Iptables(choice, runProgram)
  const writer = new RulesWriter({ iptables, hooks: proxyHooks(), log: log.child('rules') })
  const settings = proxySettings(context, family)
  return { writer, plane: new ProxyPlane({ state, writer, applied, settings, metrics: metricsOf(family), log }) }
}

function proxySettings(context: AppContext, family: IpFamily): ProxySettings {
  const { node } = context.options.values
  const cidr = node.clusterCidr.find((network) => ipFamily(network) === family)
  return { nodeName: findNodeName(node.nodeName), family, ...(cidr && { localTraffic: { kind: 'source', cidr } }) }
}
