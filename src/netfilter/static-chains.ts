import { hostCidr, type IpFamily, loopbackCidr } from '../model/ip.ts'
import { markBits } from './mark-bits.ts'
import { chains } from './names.ts'
import { jump, rule } from './rule-parts.ts'
import type { Chain, Match, Ruleset } from './ruleset.ts'
import type { ProxyRuleSettings } from './settings.ts'

/** The chains that no Service changes. */
export function staticChains(settings: ProxyRuleSettings): Ruleset {
  const bit = masqueradeMark(settings)
  return {
    nat: new Map([
      [chains.markMasq, [{ matches: [], target: { kind: 'mark-or', mask: bit } }]],
      [chains.postrouting, postrouting(bit, settings.randomFully ?? true)],
    ]),
    filter: new Map([
      ...forwardChains(settings),
      [chains.input, input(settings)],
      [chains.invalid, invalid(settings.dropInvalid ?? true)],
    ]),
  }
}

/** The chains that accept what rules and policies of others in iptables' filter would refuse: answers, masqueraded traffic, pods' connections. */
export function forwardChains(settings: ProxyRuleSettings): ReadonlyMap<string, Chain> {
  return new Map([
    [chains.forward, forward(masqueradeMark(settings))],
    [chains.podForward, podForward(settings)],
  ])
}

/** The last rules of nat PLAT-SERVICES: whatever is no Service's address may be a node port. */
export function nodePortTail(settings: ProxyRuleSettings): Chain {
  return nodePortAddresses(settings).map((matches) =>
    rule(matches, jump(chains.nodePorts), 'node ports; must stay the last rule'),
  )
}

/** The last rule of filter PLAT-SERVICES. */
export const externalTail: Chain = [rule([], jump(chains.external))]

/**
 * Returns the matches for the addresses of node ports, one list per rule: given addresses, or all of this node that
 * other machines can reach.
 */
function nodePortAddresses({ family, nodePortAddresses: given }: ProxyRuleSettings): readonly (readonly Match[])[] {
  return given === undefined
    ? [anyNodeAddress(family)]
    : given.map((address) => [{ kind: 'destination', cidr: hostCidr(address) }])
}

function anyNodeAddress(family: IpFamily): readonly Match[] {
  return [
    { kind: 'destination', cidr: loopbackCidr(family), negated: true },
    { kind: 'address-type', side: 'destination', type: 'LOCAL' },
  ]
}

/** The part of the packet mark that asks for masquerading. */
export function masqueradeMark({ masqueradeBit }: ProxyRuleSettings): number {
  return masqueradeBit === undefined ? markBits.masquerade : 2 ** masqueradeBit
}

/** The bit is cleared before leaving, so that a packet that comes round again (a tunnel, a bridge) is not masqueraded twice. */
function postrouting(bit: number, randomFully: boolean): Chain {
  const comment = 'service traffic that must come back'
  return [
    { matches: [{ kind: 'mark', value: bit, mask: bit, negated: true }], target: { kind: 'return' } },
    { matches: [], target: { kind: 'mark-xor', mask: bit } },
    { matches: [], target: { kind: 'masquerade', randomFully }, comment },
  ]
}

function forward(bit: number): Chain {
  return [
    rule([{ kind: 'mark', value: bit, mask: bit }], { kind: 'accept' }, 'service traffic that must come back'),
    rule([{ kind: 'connection-state', states: ['RELATED', 'ESTABLISHED'] }], { kind: 'accept' }),
  ]
}

/** Docker, for one, sets the policy DROP. The answers pass as ESTABLISHED. */
function podForward({ acceptedPods = [] }: ProxyRuleSettings): Chain {
  return acceptedPods.flatMap((cidr) => [
    rule([{ kind: 'source', cidr }], { kind: 'accept' }, 'from pods'),
    rule([{ kind: 'destination', cidr }], { kind: 'accept' }, 'to pods'),
  ])
}

/** Connections to this node itself, so nothing has to ask whether they are. What listens here on a cluster IP is left alone. */
function input(settings: ProxyRuleSettings): Chain {
  const addresses = nodePortAddresses(settings).map((matches) => matches.filter(({ kind }) => kind !== 'address-type'))
  return [...addresses.map((matches) => rule(matches, jump(chains.nodePorts))), rule([], jump(chains.external))]
}

/**
 * A packet that conntrack cannot place (outside the TCP window, say) is not translated back: its receiver would answer with
 * a reset that ends a good connection. Where conntrack is liberal there are no such packets.
 */
function invalid(isDropped: boolean): Chain {
  return isDropped ? [rule([], { kind: 'drop' }, 'would pass untranslated')] : []
}
