import assert from 'node:assert/strict'
import { ipFamily } from '../../src/model/ip.ts'
import type { DispatchLimits } from '../../src/netfilter/dispatch.ts'
import { proxyHooks } from '../../src/netfilter/hooks.ts'
import { lowerService } from '../../src/netfilter/lower-service.ts'
import { ElementIndex } from '../../src/netfilter/nft/element-index.ts'
import { ElementRuleset } from '../../src/netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../src/netfilter/nft/lower-elements.ts'
import type { ProxyRuleSettings } from '../../src/netfilter/settings.ts'
import { type ElementTraceContext, traceElements } from '../../src/netfilter/trace/trace-elements.ts'
import { tracePacket } from '../../src/netfilter/trace/trace-packet.ts'
import type { TraceContext, TracedPacket, TraceOutcome } from '../../src/netfilter/trace/types.ts'
import { planFrontends } from '../../src/node/proxy/plan.ts'
import type { ServiceState } from './arbitrary-services.ts'
import { TestRuleset } from './rulesets.ts'
import { ip } from './services.ts'

/** The rules of some Services, and what the mode nftables has instead. */
export interface LabRuleset extends TestRuleset {
  readonly elements: ElementRuleset
  readonly settings: ProxyRuleSettings
}

/** The rules of some Services on `node-a`. */
export function buildRuleset(
  states: readonly ServiceState[],
  settings: ProxyRuleSettings,
  limits?: DispatchLimits,
): LabRuleset {
  const ruleset = new TestRuleset(settings, limits)
  const elements = new ElementRuleset(settings)
  const node = { nodeName: 'node-a', family: settings.family, zone: 'zone-a' }
  const plans = states.map(({ service, slices }) => [service.key, planFrontends(service, slices, node)] as const)
  ruleset.update(new Map(plans.map(([key, frontends]) => [key, lowerService(frontends, settings)])))
  elements.update(new Map(plans.map(([key, frontends]) => [key, lowerToElements(frontends, settings)])))
  return Object.assign(ruleset, { elements, settings })
}

/** The node as rules and elements see it. */
export interface LabWorld extends TraceContext, ElementTraceContext {}

/** A node with these addresses of its own, beside loopback. */
export function worldOf(ruleset: LabRuleset, addresses: readonly string[]): LabWorld {
  const elements = new ElementIndex(ruleset.elements.all())
  return { ...rulesWorldOf(ruleset, addresses), elements, settings: ruleset.settings }
}

/** Such a node with rules alone. */
export function rulesWorldOf(ruleset: TestRuleset, addresses: readonly string[]): TraceContext {
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

/**
 * `10.244.0.1:8080 | 10.244.1.1:8080 masqueraded`, `drop`, `untouched`: everything a packet may meet, in one line. A world with
 * elements says it in the mode nftables as well.
 */
export function describeTrace(packet: TracedPacket, world: TraceContext | LabWorld): string {
  const byRules = describeOutcomes(tracePacket(packet, world))
  if ('elements' in world)
    assert.equal(describeOutcomes(traceElements(packet, world)), byRules, `nftables: ${JSON.stringify(packet)}`)
  return byRules
}

function describeOutcomes(outcomes: readonly TraceOutcome[]): string {
  return [...new Set(outcomes.map(describeOutcome))].sort().join(' | ')
}

function describeOutcome({ verdict, endpoint, masqueraded }: TraceOutcome): string {
  if (verdict !== 'accept') return verdict
  return `${endpoint ? `${endpoint.address}:${endpoint.port}` : 'untouched'}${masqueraded ? ' masqueraded' : ''}`
}
