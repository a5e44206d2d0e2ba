import { jump, rule } from '../rule-parts.ts'
import type { Hook, Match } from '../ruleset.ts'
import { policyChains } from './names.ts'

/**
 * Where the kernel enters the chains of NetworkPolicy. Mangle judges after DNAT and before SNAT, and before filter, where others accept.
 * Untracked and invalid packets are judged too. OUTPUT has no hook: a node always reaches its own pods.
 */
export function policyHooks(): readonly Hook[] {
  return [
    { table: 'mangle', builtin: 'FORWARD', rule: rule([isNotEstablished], jump(policyChains.forward)) },
    { table: 'mangle', builtin: 'INPUT', rule: rule([isNotEstablished], jump(policyChains.input)) },
  ]
}

const isNotEstablished: Match = { kind: 'connection-state', states: ['ESTABLISHED', 'RELATED'], negated: true }
