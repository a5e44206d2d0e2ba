import { chains } from './names.ts'
import type { Hook, Match, Rule, TableName } from './ruleset.ts'

/**
 * Where the kernel enters our chains, in the order in which they must stand at the top of each built-in chain. Established
 * connections leave first; the verdicts on Services only see the first packet of a connection.
 */
export function proxyHooks(): readonly Hook[] {
  return [
    hook('nat', 'PREROUTING', chains.services, [], 'platnet services'),
    hook('nat', 'OUTPUT', chains.services, [], 'platnet services'),
    hook('nat', 'POSTROUTING', chains.postrouting, [], 'platnet masquerade'),
    hook('filter', 'INPUT', chains.input, [isNew], 'platnet verdicts on services'),
    hook('filter', 'FORWARD', chains.forward, [], 'platnet forwarding'),
    hook('filter', 'FORWARD', chains.services, [isNew], 'platnet verdicts on services'),
    hook('filter', 'FORWARD', chains.invalid, [isInvalid], 'platnet packets without a connection'),
    hook('filter', 'OUTPUT', chains.forward, [], 'platnet forwarding'),
    hook('filter', 'OUTPUT', chains.services, [isNew], 'platnet verdicts on services'),
  ]
}

const isNew: Match = { kind: 'connection-state', states: ['NEW'] }
const isInvalid: Match = { kind: 'connection-state', states: ['INVALID'] }

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
