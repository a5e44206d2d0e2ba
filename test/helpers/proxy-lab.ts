import { ipFamily } from '../../src/model/ip.ts'
import type { DispatchLimits } from '../../src/netfilter/dispatch.ts'
import { proxyHooks } from '../../src/netfilter/hooks.ts'
import { lowerService } from '../../src/netfilter/lower-service.ts'
import type { ProxyRuleSettings } from '../../src/netfilter/settings.ts'
import { tracePacket } from '../../src/netfilter/trace/trace-packet.ts'
import type { TraceContext, TracedPacket, TraceOutcome } from '../../src/netfilter/trace/types.ts'
import { planFrontends } from '../../src/node/proxy/plan.ts'
import type { ServiceState } from './arbitrary-services.ts'
import { TestRuleset } from './rulesets.ts'
import { ip } from './services.ts'

/** The rules of some Services on `node-a`. */
export function buildRuleset(
  states: readonly ServiceState[],
  settings: ProxyRuleSettings,
  limits?: DispatchLimits,
): TestRuleset {
  const ruleset = new TestRuleset(settings, limits)
  const node = { nodeName: 'node-a', family: settings.family, zone: 'zone-a' }
  const rules = states.map(
    ({ service, slices }) => [service.key, lowerService(planFrontends(service, slices, node), settings)] as const,
  )
  ruleset.update(new Map(rules))
  return ruleset
}

/** A node with these addresses of its own, beside loopback. */
export function worldOf(ruleset: TestRuleset, addresses: readonly string[]): TraceContext {
  const local = new Set<string>([...addresses, '::1'])
  return {
    ruleset: ruleset.ruleset(),
    hooks: proxyHooks(),
    isLocalAddress: (address) => local.has(address) || (ipFamily(address) === 'IPv4' && address.startsWith('127.')),
  }
}

/** The first packet of a TCP connection. */
export function firstPacket(source: string, destination: string, port: number, details: Partial<TracedPacket> = {}) {
  const packet = { source: ip(source), destination: ip(destination), protocol: 'TCP', port } as const
  return { ...packet, state: 'NEW', origin: 'elsewhere', ...details } as const satisfies TracedPacket
}

/** `10.244.0.1:8080 10.244.1.1:8080 masqueraded`, `drop`, `untouched`: everything a packet may meet, in one line. */
export function describeTrace(packet: TracedPacket, world: TraceContext): string {
  return [...new Set(tracePacket(packet, world).map(describeOutcome))].sort().join(' | ')
}

function describeOutcome({ verdict, endpoint, masqueraded }: TraceOutcome): string {
  if (verdict !== 'accept') return verdict
  return `${endpoint ? `${endpoint.address}:${endpoint.port}` : 'untouched'}${masqueraded ? ' masqueraded' : ''}`
}
