import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IpFamily } from '../../../src/model/ip.ts'
import { equalChains, parseSave } from '../../../src/netfilter/parse.ts'
import { renderRule } from '../../../src/netfilter/render.ts'
import type { Chain, Match, Rule, Target } from '../../../src/netfilter/ruleset.ts'
import { differentAddresses } from '../../../src/netfilter/same-address.ts'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { renderRestore } from '../../helpers/rulesets.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy', 'ipset')
const port = (first: number, last = first) => ({ first, last })
const allow: Target = { kind: 'goto', chain: 'PLAT-NP-OK' }

/** Every form of match and target that rules of policies have. */
function chainsOf(family: IpFamily): ReadonlyMap<string, Chain> {
  const from: Match = { kind: 'in-set', set: 'PLAT-NP-A', by: ['src'] }
  const rules: Chain = [
    ...(family === 'IPv6'
      ? [133, 134, 135, 136, 137].map(
          (type): Rule => ({ matches: [{ kind: 'icmpv6-type', type }], target: { kind: 'return' } }),
        )
      : []),
    { matches: [from, { kind: 'in-set', set: 'PLAT-NP-A', by: ['dst'], negated: true }], target: { kind: 'drop' } },
    { matches: [from], target: allow },
    { matches: [from, { kind: 'protocol', protocol: 'tcp' }], target: allow },
    { matches: [from, { kind: 'destination-port', protocol: 'udp', port: 53 }], target: allow },
    { matches: [from, { kind: 'destination-port', protocol: 'sctp', port: 1, lastPort: 65_535 }], target: allow },
    {
      matches: [from, { kind: 'destination-ports', protocol: 'tcp', ports: [port(80), port(1000, 2000), port(443)] }],
      target: allow,
    },
    { matches: [{ kind: 'in-set', set: 'PLAT-NP-P', by: ['dst', 'dst'] }], target: allow },
    {
      matches: [],
      target: { kind: 'add-to-set', set: 'PLAT-NP-LOG', by: ['src', 'dst', 'dst'], refresh: true },
    },
    { matches: [{ kind: 'mark', value: 0x10000, mask: 0x10000 }], target: { kind: 'mark-xor', mask: 0x10000 } },
  ]
  return new Map([
    ['PLAT-NETPOL', rules],
    ['PLAT-NP-OK', [{ matches: [], target: { kind: 'mark-or', mask: 0x10000 } }]],
    ['PLAT-NP-SELF', differentAddresses(family)],
  ])
}

for (const flavour of ['nft', 'legacy']) {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${flavour}`
    test(`${program} takes the rules of policies and prints them letter for letter`, { skip, timeout: 60_000 }, () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        const inet = family === 'IPv4' ? 'inet' : 'inet6'
        for (const [name, type] of [
          ['A', 'hash:ip'],
          ['P', 'hash:ip,port'],
          ['LOG', 'hash:ip,port,ip'],
        ] as const)
          await netns.exec('ipset', 'create', `PLAT-NP-${name}`, type, 'family', inet, 'timeout', '60')
        const chains = chainsOf(family)
        const input = renderRestore([{ table: 'mangle', set: chains, remove: [] }], family)
        await netns.run(`${program}-restore`, ['--noflush'], { input, timeoutMs: 10_000 })
        const saved = await netns.exec(`${program}-save`, '-t', 'mangle')
        const held = parseSave(saved).mangle.chains
        assert.equal(held.size, chains.size)
        for (const [name, chain] of chains) {
          assert.ok(equalChains(held.get(name) ?? [], chain), name)
          for (const rule of chain)
            assert.ok(saved.includes(`${renderRule(name, rule, family)}\n`), renderRule(name, rule, family))
        }
      }),
    )
  }
}
