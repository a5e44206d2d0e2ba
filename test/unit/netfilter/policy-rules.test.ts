import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IpFamily } from '../../../src/model/ip.ts'
import { equalRules, parseRuleSpec } from '../../../src/netfilter/parse.ts'
import { renderRule, renderRuleSpec } from '../../../src/netfilter/render.ts'
import type { Match, PortRange, Rule } from '../../../src/netfilter/ruleset.ts'
import { differentAddresses } from '../../../src/netfilter/same-address.ts'

const port = (first: number, last = first): PortRange => ({ first, last })
const returning = (...matches: readonly Match[]): Rule => ({ matches, target: { kind: 'return' } })

/** Rules as both flavours of iptables print them in table mangle. */
const rules: readonly (readonly [IpFamily, string, Rule])[] = [
  ['IPv4', '-m set --match-set PLAT-NP-A src -j RETURN', returning({ kind: 'in-set', set: 'PLAT-NP-A', by: ['src'] })],
  [
    'IPv4',
    '-m set ! --match-set PLAT-NP-A dst -j RETURN',
    returning({ kind: 'in-set', set: 'PLAT-NP-A', by: ['dst'], negated: true }),
  ],
  [
    'IPv4',
    '-m set --match-set PLAT-NP-A src -m set ! --match-set PLAT-NP-B dst -j DROP',
    {
      matches: [
        { kind: 'in-set', set: 'PLAT-NP-A', by: ['src'] },
        { kind: 'in-set', set: 'PLAT-NP-B', by: ['dst'], negated: true },
      ],
      target: { kind: 'drop' },
    },
  ],
  [
    'IPv4',
    '-p tcp -m set --match-set PLAT-NP-A src,dst,dst -m multiport --dports 80,443,1000:2000 -j RETURN',
    returning(
      { kind: 'in-set', set: 'PLAT-NP-A', by: ['src', 'dst', 'dst'] },
      { kind: 'destination-ports', protocol: 'tcp', ports: [port(80), port(443), port(1000, 2000)] },
    ),
  ],
  [
    'IPv4',
    '-p sctp -m multiport --dports 53 -j RETURN',
    returning({ kind: 'destination-ports', protocol: 'sctp', ports: [port(53)] }),
  ],
  [
    'IPv4',
    '-j SET --add-set PLAT-NP-LOG src,dst,dst --exist',
    { matches: [], target: { kind: 'add-to-set', set: 'PLAT-NP-LOG', by: ['src', 'dst', 'dst'], refresh: true } },
  ],
  ['IPv6', '-p ipv6-icmp -m icmp6 --icmpv6-type 135 -j RETURN', returning({ kind: 'icmpv6-type', type: 135 })],
  [
    'IPv4',
    '-s 0.0.0.1/0.0.0.1 ! -d 0.0.0.1/0.0.0.1 -j RETURN',
    returning(
      { kind: 'address-bit', side: 'source', bit: 0 },
      { kind: 'address-bit', side: 'destination', bit: 0, negated: true },
    ),
  ],
  [
    'IPv6',
    '! -s ::0.1.0.0/::0.1.0.0 -d ::0.1.0.0/::0.1.0.0 -j RETURN',
    returning(
      { kind: 'address-bit', side: 'source', bit: 16, negated: true },
      { kind: 'address-bit', side: 'destination', bit: 16 },
    ),
  ],
]

for (const [family, text, rule] of rules) {
  test(`${text} is rendered as it is printed, and read back`, () => {
    assert.equal(renderRuleSpec(rule, family), text)
    assert.deepEqual(parseRuleSpec(text), rule)
  })
}

test('the rules of different addresses are read back as they were written, the first bit included', () => {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const chain = differentAddresses(family)
    assert.equal(chain.length, family === 'IPv4' ? 64 : 256)
    for (const rule of chain) {
      const read = parseRuleSpec(renderRuleSpec(rule, family))
      assert.ok(read !== undefined && equalRules(read, rule), renderRuleSpec(rule, family))
    }
  }
})

test('more than one bit of an address is not in the vocabulary', () => {
  assert.equal(parseRuleSpec('-s 0.0.0.3/0.0.0.3 -j RETURN'), undefined)
  assert.equal(parseRuleSpec('-s 0.0.0.2/0.0.0.3 -j RETURN'), undefined)
  assert.equal(parseRuleSpec('-s ::1/nonsense: -j RETURN'), undefined)
})

test('ports without a protocol are not in the vocabulary, and more than 15 numbers are refused', () => {
  assert.equal(parseRuleSpec('-m multiport --dports 80 -j RETURN'), undefined)
  const ports = (count: number) =>
    returning({ kind: 'destination-ports', protocol: 'tcp', ports: Array.from({ length: count }, () => port(1, 2)) })
  assert.match(renderRuleSpec(ports(7)), /--dports 1:2(,1:2){6} /)
  assert.throws(() => renderRuleSpec(ports(8)), { code: 'too-many-ports' })
  assert.throws(() => renderRuleSpec(ports(0)), { code: 'too-many-ports' })
})

test('a name that would be more than a name of a set is refused', () => {
  const naming = (set: string) => returning({ kind: 'in-set', set, by: ['src'] })
  const longest = 'PLAT-NP-0123456789ABCDEF0123456'
  assert.equal(renderRule('PLAT-A', naming(longest)), `-A PLAT-A -m set --match-set ${longest} src -j RETURN`)
  for (const set of ['PLAT-NP-0123456789ABCDEF01234567', 'PLAT-a', 'PLAT-A src -j ACCEPT', 'OTHER'])
    assert.throws(() => renderRuleSpec(naming(set)), { code: 'bad-set-name' })
})
