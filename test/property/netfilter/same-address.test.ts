import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressBits, bigIntToIp, type IpFamily } from '../../../src/model/ip.ts'
import { differentAddresses } from '../../../src/netfilter/same-address.ts'
import { matchRule } from '../../../src/netfilter/trace/match-rule.ts'
import type { TraceContext } from '../../../src/netfilter/trace/types.ts'

const context: TraceContext = { ruleset: { nat: new Map(), filter: new Map() }, hooks: [], isLocalAddress: () => false }

function returns(family: IpFamily, from: bigint, to: bigint): boolean {
  const [source, destination] = [bigIntToIp(from, family), bigIntToIp(to, family)]
  const packet = {
    source,
    destination,
    protocol: 'TCP',
    port: 80,
    state: 'NEW',
    origin: 'elsewhere',
    mark: 0,
    isTranslated: false,
  } as const
  return differentAddresses(family).some((rule) => matchRule(rule, packet, context) === 1)
}

for (const family of ['IPv4', 'IPv6'] as const) {
  test(`a packet returns exactly where its addresses differ (${family})`, () => {
    const address = fc.bigInt({ min: 1n, max: 2n ** BigInt(addressBits(family)) - 1n })
    const bit = fc.nat(addressBits(family) - 1)
    fc.assert(
      fc.property(address, address, bit, (a, b, changed) => {
        assert.equal(returns(family, a, a), false)
        assert.equal(returns(family, a, b), a !== b)
        assert.equal(returns(family, a, a ^ (1n << BigInt(changed))), true)
      }),
    )
  })
}
