import { hostCidr, ipFamily } from '../../model/ip.ts'
import { markBits } from '../mark-bits.ts'
import { jump, rule } from '../rule-parts.ts'
import type { Chain, Match, Rule } from '../ruleset.ts'
import { differentAddresses } from '../same-address.ts'
import { clearBit, isAllowed, isolatedSide } from './dispatch.ts'
import { denyChain, directionChain, fixedSets, type PolicyDirection, policyChains, policyDirections } from './names.ts'
import type { PolicyRuleSettings } from './settings.ts'

/** The chains that no policy and no pod changes. */
export function policyStaticChains(settings: PolicyRuleSettings): ReadonlyMap<string, Chain> {
  return new Map([
    [policyChains.forward, judgeForwarded(settings)],
    [policyChains.input, judgeDns(settings)],
    [policyChains.allow, [setBit]],
    [policyChains.clear, [clearBit]],
    [policyChains.self, [...differentAddresses(settings.family), setBit]],
    ...policyDirections.map((direction) => [denyChain(direction), deny(direction, settings)] as const),
  ])
}

const setBit: Rule = rule([], { kind: 'mark-or', mask: markBits.policyAllowed })

/** A chain that returns lets the packet go on: what others say of it comes after. */
function judgeForwarded(settings: PolicyRuleSettings): Chain {
  const { isolated, cut } = fixedSets(settings.family)
  return [
    rule([{ kind: 'in-set', set: cut, by: ['src', 'src', 'dst'] }], { kind: 'drop' }),
    ...(settings.family === 'IPv6' ? neighbourDiscovery : []),
    rule([{ kind: 'in-set', set: isolated.egress, by: ['src'] }], jump(directionChain('egress'))),
    rule([{ kind: 'in-set', set: isolated.ingress, by: ['dst'] }], jump(directionChain('ingress'))),
    ...isolateUnknown(settings),
  ]
}

/** Router and neighbour solicitations and advertisements (RFC 4861): bridges show them to FORWARD, and no pod lives without. */
const neighbourDiscovery: Chain = [133, 134, 135, 136].map((type) =>
  rule([{ kind: 'icmpv6-type', type }], { kind: 'return' }),
)

/** Known pods are exempt and not the unknown ones listed: those are not known, and an address may belong to a pod at any time. */
function isolateUnknown({ family, isolatesUnknown, podCidrs }: PolicyRuleSettings): Chain {
  if (!isolatesUnknown) return []
  const { known } = fixedSets(family)
  return podCidrs
    .filter((cidr) => ipFamily(cidr) === family)
    .flatMap((cidr) => [
      rule(
        [
          { kind: 'source', cidr },
          { kind: 'in-set', set: known, by: ['src'], negated: true },
        ],
        { kind: 'drop' },
      ),
      rule(
        [
          { kind: 'destination', cidr },
          { kind: 'in-set', set: known, by: ['dst'], negated: true },
        ],
        {
          kind: 'drop',
        },
      ),
    ])
}

/** Questions of the node itself come in by the loopback link, which no pod can send through. */
function judgeDns({ family, dnsAddresses }: PolicyRuleSettings): Chain {
  const addresses = dnsAddresses.filter((address) => ipFamily(address) === family)
  if (addresses.length === 0) return []
  return [
    rule([{ kind: 'in-interface', name: 'lo' }], { kind: 'return' }),
    ...addresses.map((address) => rule([{ kind: 'destination', cidr: hostCidr(address) }], jump(policyChains.forward))),
  ]
}

/**
 * Only what would be denied is asked whether a pod sends to itself. The first DROP counts by pod, through the counters of its set; the
 * second takes what stands in no set any more.
 */
function deny(direction: PolicyDirection, { family, logsDenied }: PolicyRuleSettings): Chain {
  const { denied, log } = fixedSets(family)
  const isCounted: Match = { kind: 'in-set', set: denied[direction], by: [isolatedSide(direction)] }
  return [
    rule([], jump(policyChains.self)),
    rule([isAllowed], { kind: 'return' }),
    ...(logsDenied ? [rule([], { kind: 'add-to-set', set: log, by: ['src', 'dst', 'dst'], refresh: true })] : []),
    rule([isCounted], { kind: 'drop' }),
    rule([], { kind: 'drop' }),
  ]
}
