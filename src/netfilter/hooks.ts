import { chains } from './names.ts'
import { jump, rule } from './rule-parts.ts'
import type { Hook, Match, ProxyTable } from './ruleset.ts'

/**
 * Where the kernel enters our chains, in the order in which they must stand at the top of each built-in chain. Established
 * connections leave first; the verdicts on Services only see the first packet of a connection. What accepts pods' new connections stands last: verdicts,
 * also those of policies, come before it.
 */
export function proxyHooks(): readonly Hook[] {
  return [
    hook('nat', 'PREROUTING', chains.services, []),
    hook('nat', 'OUTPUT', chains.services, []),
    hook('nat', 'POSTROUTING', chains.postrouting, []),
    hook('filter', 'INPUT', chains.input, [isNew]),
    hook('filter', 'FORWARD', chains.forward, []),
    hook('filter', 'FORWARD', chains.services, [isNew]),
    hook('filter', 'FORWARD', chains.invalid, [isInvalid]),
    hook('filter', 'FORWARD', chains.podForward, [isNew]),
    hook('filter', 'OUTPUT', chains.forward, []),
    hook('filter', 'OUTPUT', chains.services, [isNew]),
  ]
}

/** The hooks that the mode nftables needs beside its own table: what others refuse in iptables' filter can be accepted only there. */
export function forwardHooks(): readonly Hook[] {
  return [
    hook('filter', 'FORWARD', chains.forward, []),
    hook('filter', 'FORWARD', chains.podForward, [isNew]),
    hook('filter', 'OUTPUT', chains.forward, []),
  ]
}

const isNew: Match = { kind: 'connection-state', states: ['NEW'] }
const isInvalid: Match = { kind: 'connection-state', states: ['INVALID'] }

function hook(table: ProxyTable, builtin: Hook['builtin'], chain: string, matches: readonly Match[]): Hook {
  return { table, builtin, rule: rule(matches, jump(chain)) }
}
