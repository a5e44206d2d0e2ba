import fc from 'fast-check'
import type { Chain, Match, Rule, Ruleset, Target } from '../../src/netfilter/ruleset.ts'
import { cidr, ip } from './services.ts'

const anyAddress = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map(([a, b, c]) => ip(`10.${a}.${b}.${c}`))
const anyCidr = fc.tuple(anyAddress, fc.nat(32)).map(([address, prefix]) => cidr(`${address}/${prefix}`))
const anyPort = fc.integer({ min: 1, max: 65535 })
const anyProtocol = fc.constantFrom('tcp' as const, 'udp' as const, 'sctp' as const)
const anyMask = fc.integer({ min: 1, max: 0x7fffffff })
const negation = fc.constantFrom({}, { negated: true })
const anyStates = fc.subarray(['NEW', 'ESTABLISHED', 'RELATED', 'INVALID', 'DNAT'] as const, { minLength: 1 })
const chainNames = ['PLAT-A', 'PLAT-B', 'PLAT-SVC-AAAAAAAAAAAAAAAA', 'PLAT-SERVICES', 'PLAT-NODEPORTS'] as const
const anyList = fc.constantFrom('PLAT-SEP-AAAAAAAAAAAAAAAA', 'PLAT-SEP-BBBBBBBBBBBBBBBB')

/** At most one match of each kind, and one protocol, in any order. */
const anyMatches: fc.Arbitrary<readonly Match[]> = fc.tuple(anyProtocol, anyPort).chain(([protocol, port]) =>
  fc.uniqueArray(
    fc.oneof(
      fc.constantFrom<Match>({ kind: 'protocol', protocol }, { kind: 'destination-port', protocol, port }),
      fc.record({ kind: fc.constant('source' as const), cidr: anyCidr }),
      fc.tuple(anyCidr, negation).map(([to, not]): Match => ({ kind: 'destination', cidr: to, ...not })),
      fc.constantFrom<Match>({ kind: 'address-type', side: 'source', type: 'LOCAL' }),
      fc.tuple(anyStates, negation).map(([states, not]): Match => ({ kind: 'connection-state', states, ...not })),
      fc.tuple(anyMask, negation).map(([bits, not]): Match => ({ kind: 'mark', value: bits, mask: bits, ...not })),
      fc.integer({ min: 1, max: 1000 }).map((n): Match => ({ kind: 'statistic', probability: 1 / n })),
      anyList.map((list): Match => ({ kind: 'recent-set', list })),
      fc.tuple(anyList, anyPort).map(([list, seconds]): Match => ({ kind: 'recent-check', list, seconds })),
    ),
    { maxLength: 5, selector: (match) => match.kind },
  ),
)

const anyTarget: fc.Arbitrary<Target> = fc.oneof(
  fc.constantFrom<Target>(
    { kind: 'accept' },
    { kind: 'drop' },
    { kind: 'return' },
    { kind: 'reject' },
    { kind: 'reject', withReset: true },
  ),
  fc.constantFrom(...chainNames).map((chain): Target => ({ kind: 'jump', chain })),
  fc.constantFrom(...chainNames).map((chain): Target => ({ kind: 'goto', chain })),
  fc.tuple(anyAddress, anyPort).map(([address, port]): Target => ({ kind: 'dnat', address, port })),
  fc.boolean().map((randomFully): Target => ({ kind: 'masquerade', randomFully })),
  anyMask.map((mask): Target => ({ kind: 'mark-or', mask })),
  anyMask.map((mask): Target => ({ kind: 'mark-xor', mask })),
)

/** Texts that would do harm where quoting fails, and any other. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom('"', "'", '\\', '\n', '\r', '\0', ' ', '-j ACCEPT', '\nCOMMIT\n', '#', '$(id)', '!', 'é', 'a'),
    )
    .map((parts) => parts.join('')),
)

export const anyRule: fc.Arbitrary<Rule> = fc
  .record({
    matches: anyMatches,
    target: fc.option(anyTarget, { nil: undefined }),
    comment: fc.option(hostileText, { nil: undefined }),
  })
  .map(({ matches, target, comment }) => ({
    matches,
    ...(target === undefined ? {} : { target }),
    ...(comment === undefined ? {} : { comment }),
  }))

const anyChain: fc.Arbitrary<Chain> = fc.array(anyRule, { maxLength: 4 })
const anyTable = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...chainNames), anyChain), { selector: ([name]) => name })
  .map((entries) => new Map<string, Chain>(entries))

export const anyRuleset: fc.Arbitrary<Ruleset> = fc.record({ nat: anyTable, filter: anyTable })
