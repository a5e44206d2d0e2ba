import { addressBits, type IpFamily } from '../model/ip.ts'
import type { Chain, Rule } from './ruleset.ts'

/**
 * The first rules of a chain whose others are for packets that go to their own source: all other packets return. One pair of rules for
 * each bit, the last bit first, where addresses of one network differ. Needs no ipset of pairs, which not every kernel has.
 */
export function differentAddresses(family: IpFamily): Chain {
  return Array.from({ length: addressBits(family) }, (_, bit) => [
    differ(bit, 'source'),
    differ(bit, 'destination'),
  ]).flat()
}

function differ(bit: number, unset: 'source' | 'destination'): Rule {
  return {
    matches: [
      { kind: 'address-bit', side: 'source', bit, ...(unset === 'source' ? { negated: true } : {}) },
      { kind: 'address-bit', side: 'destination', bit, ...(unset === 'destination' ? { negated: true } : {}) },
    ],
    target: { kind: 'return' },
  }
}
