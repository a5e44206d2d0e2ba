import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type FoundOnNode, planLeftovers } from '../../../../src/node/cni/plan.ts'

const id = fc.constantFrom('a', 'b', 'c', 'd')
const arbitraryFound: fc.Arbitrary<FoundOnNode> = fc.record({
  attachments: fc.array(
    fc.record({
      network: fc.constantFrom('n', 'm'),
      containerId: id,
      ifName: fc.constant('eth0'),
      isOurs: fc.boolean(),
      hasNetns: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  unreadableFiles: fc.array(
    id.map((containerId) => `/cache/results/n-${containerId}-eth0`),
    { maxLength: 3 },
  ),
  addresses: fc.uniqueArray(
    fc.record({
      file: fc.nat(50).map((n) => `/ipam/n/10.0.0.${n}`),
      network: fc.constant('n'),
      ip: fc.constant('10.0.0.1'),
      containerId: id,
      ageMs: fc.constantFrom(0, 59_999, 60_000, 1e9),
    }),
    { maxLength: 6, selector: ({ file }) => file },
  ),
  chains: fc.array(
    fc.record({
      program: fc.constantFrom('iptables' as const, 'ip6tables' as const),
      chain: fc.nat(50).map((n) => `CNI-${n}`),
      containerId: id,
      jumps: fc.constant([]),
    }),
    { maxLength: 6 },
  ),
})
const arbitraryLive = fc.option(
  fc.uniqueArray(id).map((ids) => new Set(ids)),
  { nil: undefined },
)

test('nothing of a living container is ever a leftover', () => {
  fc.assert(
    fc.property(arbitraryFound, arbitraryLive, (found, live) => {
      const { attachments, addresses, chains, unreadableFiles } = planLeftovers(found, live)
      const standing = found.attachments
        .filter(({ hasNetns, isOurs }) => hasNetns && !(isOurs && live))
        .map((one) => one.containerId)
      for (const containerId of [...(live ?? []), ...standing]) {
        const isIts = (one: { containerId: string }) => one.containerId === containerId
        assert.deepEqual([addresses.filter(isIts), chains.filter(isIts)], [[], []])
        assert.deepEqual(
          attachments.filter((one) => isIts(one) && one.hasNetns && !one.isOurs),
          [],
        )
        assert.ok(!unreadableFiles.some((file) => file.includes(`-${containerId}-`)))
      }
      for (const containerId of live ?? []) {
        assert.deepEqual(
          attachments.filter((one) => one.isOurs && one.containerId === containerId),
          [],
        )
      }
    }),
  )
})

test('a young address, and the chains of its container, are no leftovers', () => {
  fc.assert(
    fc.property(arbitraryFound, arbitraryLive, (found, live) => {
      const { addresses, chains } = planLeftovers(found, live)
      const young = new Set(found.addresses.filter(({ ageMs }) => ageMs < 60_000).map(({ containerId }) => containerId))
      assert.ok(addresses.every(({ ageMs }) => ageMs >= 60_000))
      assert.ok(chains.every(({ containerId }) => !young.has(containerId)))
    }),
  )
})

test('once what was found is cleaned, attachments first, only what is young or alive stays', () => {
  fc.assert(
    fc.property(arbitraryFound, arbitraryLive, (found, live) => {
      let left = found
      for (const _ of ['attachments', 'what they left', 'nothing more']) {
        const plan = planLeftovers(left, live)
        const without = <T>(all: readonly T[], gone: readonly T[]) => all.filter((one) => !gone.includes(one))
        left = {
          attachments: without(left.attachments, plan.attachments),
          unreadableFiles: without(left.unreadableFiles, plan.unreadableFiles),
          addresses: without(left.addresses, plan.addresses),
          chains: without(left.chains, plan.chains),
        }
      }
      const empty = { attachments: [], unreadableFiles: [], addresses: [], chains: [] }
      assert.deepEqual(planLeftovers(left, live), empty)
    }),
  )
})
