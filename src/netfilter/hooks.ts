import { type IpFamily, loopbackCidr } from '../model/ip.ts'
import { chains } from './names.ts'
import type { Hook, Match, Rule, TableName } from './ruleset.ts'

/**
 * Where the kernel enters our chains, in the order in which they must stand at the top of each built-in chain. Established
 * connections leave first; the verdicts on Services without endpoints only see the first packet of a connection.
 */
export function proxyHooks(family: IpFamily = 'IPv4'): readonly Hook[] {
  const nodePort: readonly Match[] = [...nodeAddress(family), isNew]
  return [
    hook('nat', 'PREROUTING', chains.services, [], 'platnet services'),
    hook('nat', 'OUTPUT', chains.services, [], 'platnet services'),
    hook('nat', 'POSTROUTING', chains.postrouting, [], 'platnet masquerade'),
    hook('filter', 'INPUT', chains.nodePorts, nodePort, 'platnet node ports without endpoints'),
    hook('filter', 'FORWARD', chains.forward, [], 'platnet forwarding'),
    hook('filter', 'FORWARD', chains.services, [isNew], 'platnet services without endpoints'),
    hook('filter', 'OUTPUT', chains.forward, [], 'platnet forwarding'),
    hook('filter', 'OUTPUT', chains.services, [isNew], 'platnet services without endpoints'),
  ]
}

/** Any address of this node that other machines can reach: what a node port is opened on. */
export function nodeAddress(family: IpFamily): readonly Match[] {
  return [
    { kind: 'destination', cidr: loopbackCidr(family), negated: true },
    { kind: 'address-type', side: 'destination', type: 'LOCAL' },
  ]
}

const isNew: Match = { kind: 'connection-state', states: ['NEW'] }

function hook(
  table: TableName,
  builtin: Hook['builtin'],
  chain: string,
  matches: readonly Match[],
  comment: string,
): Hook {
  const rule: Rule = { matches, target: { kind: 'jump', chain }, comment }
  return { table, builtin, rule }
}
