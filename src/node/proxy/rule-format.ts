import { type Cidr, hostCidr, type Ip } from '../../model/ip.ts'
import { hashItem } from '../../model/xor-hash.ts'
import { dispatchLimits } from '../../netfilter/dispatch.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import { lowerService } from '../../netfilter/lower-service.ts'
import { lowerToElements } from '../../netfilter/nft/lower-elements.ts'
import { renderTable } from '../../netfilter/nft/render-table.ts'
import { ProxyRuleset } from '../../netfilter/proxy-ruleset.ts'
import { renderRule } from '../../netfilter/render.ts'
import type { Chain } from '../../netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'

const addresses = {
  IPv4: ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'],
  IPv6: ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4', '2001:db8::5'],
} as const

/**
 * Of the rules that this program makes of a few Services of every kind under these settings, with buckets in its shared chains. With it in
 * the hash of the objects, rules that a program of other forms wrote are not taken for those we want.
 */
export function hashChainFormat(settings: ProxyRuleSettings): bigint {
  const ruleset = new ProxyRuleset(settings, { ...dispatchLimits, buckets: { split: 1, join: 0 } })
  const rules = samples(settings).map((sample) => [sample.servicePort, lowerService([sample], settings)] as const)
  const changes = ruleset.update(new Map(rules))
  const [nat, filter] = (['nat', 'filter'] as const).map((name) => changes.find(({ table }) => table === name)?.set)
  return hashItem(
    'forms',
    JSON.stringify([dispatchLimits, [...ruleset.sets()], renderChains(nat), renderChains(filter)]),
  )
}

/**
 * Hashes the elements that this program makes of a few Services of every kind under these settings, and the rules that stand beside them.
 */
export function hashElementFormat(settings: ProxyRuleSettings): bigint {
  const { text } = renderTable(settings, { drawUpTo: 1, timeouts: [60] })
  const elements = samples(settings).map((sample) => lowerToElements([sample], settings).own)
  return hashItem('forms', JSON.stringify([text, elements]))
}

function renderChains(chains: ReadonlyMap<string, Chain> = new Map()): readonly string[] {
  return [...chains].flatMap(([name, rules]) => [name, ...rules.map((rule) => renderRule(name, rule))])
}

/** Holds each kind of address, policy and verdict once. */
function samples({ family }: ProxyRuleSettings): readonly Frontend[] {
  const [clusterIp, first, second, externalIp, vip] = addresses[family].map((address) => address as Ip)
  if (!clusterIp || !first || !second || !externalIp || !vip) return []
  const endpoints = [first, second].map((address) => ({ address, port: 8080 }))
  const plain: Frontend = {
    servicePort: 'sample/plain:http',
    protocol: 'TCP',
    clusterIp,
    port: 80,
    externalIps: [],
    loadBalancerVips: [],
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    hasEndpoints: true,
    clusterEndpoints: endpoints,
    localEndpoints: [],
  }
  const open = { nodePort: 30_080, externalIps: [externalIp], loadBalancerVips: [vip] }
  const sourceRanges: readonly Cidr[] = [hostCidr(first)]
  const unserved = { hasEndpoints: false, clusterEndpoints: [] }
  return [
    plain,
    { ...plain, ...open, servicePort: 'sample/open', protocol: 'UDP', sourceRanges, healthCheckNodePort: 30_081 },
    { ...plain, ...open, servicePort: 'sample/local', externalPolicy: 'Local', localEndpoints: endpoints.slice(1) },
    { ...plain, ...open, servicePort: 'sample/elsewhere', externalPolicy: 'Local', internalPolicy: 'Local' },
    { ...plain, ...open, servicePort: 'sample/sticky', protocol: 'SCTP', affinity: { timeoutSeconds: 60 } },
    { ...plain, ...open, ...unserved, servicePort: 'sample/unserved' },
  ]
}
