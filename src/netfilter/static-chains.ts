import type { IpFamily } from '../model/ip.ts'
import { nodeAddress } from './hooks.ts'
import { markBits } from './mark-bits.ts'
import { chains } from './names.ts'
import type { Match, Rule, Ruleset } from './ruleset.ts'

/** The chains that no Service changes. */
export function staticChains(): Ruleset {
  return {
    nat: new Map([
      [chains.markMasq, [{ matches: [], target: { kind: 'mark-or', mask: markBits.masquerade } }]],
      [chains.postrouting, postrouting],
    ]),
    filter: new Map([[chains.forward, forward]]),
  }
}

/** The last rule of nat PLAT-SERVICES: whatever is no Service's address may be a node port. */
export function nodePortTail(family: IpFamily): Rule {
  return {
    matches: nodeAddress(family),
    target: { kind: 'jump', chain: chains.nodePorts },
    comment: 'node ports; must stay the last rule',
  }
}

const isMarked: Match = { kind: 'mark', value: markBits.masquerade, mask: markBits.masquerade }

/** The bit is cleared before leaving, so that a packet that comes round again (a tunnel, a bridge) is not masqueraded twice. */
const postrouting: readonly Rule[] = [
  { matches: [{ ...isMarked, negated: true }], target: { kind: 'return' } },
  { matches: [], target: { kind: 'mark-xor', mask: markBits.masquerade } },
  { matches: [], target: { kind: 'masquerade', randomFully: true }, comment: 'service traffic that must come back' },
]

const forward: readonly Rule[] = [
  { matches: [isMarked], target: { kind: 'accept' }, comment: 'service traffic that must come back' },
  {
    matches: [{ kind: 'connection-state', states: ['RELATED', 'ESTABLISHED'] }],
    target: { kind: 'accept' },
    comment: 'return traffic',
  },
]
