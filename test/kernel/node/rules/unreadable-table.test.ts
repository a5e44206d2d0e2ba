import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanupRules, probeIptables } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { hashOf, makeWriter, rulesetOf, serviceChains } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'nft', 'unshare')

/** A lookup in a set: iptables-nft then shows neither this chain nor the table as a whole. */
async function addForeignRule(netns: TestNetns): Promise<void> {
  await netns.exec('nft', 'add table ip nat; add set ip nat others { type ipv4_addr; }')
  await netns.exec('nft', 'add chain ip nat POSTROUTING { type nat hook postrouting priority 100; }')
  await netns.exec('nft', 'add rule ip nat POSTROUTING ip saddr @others counter masquerade')
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1
}

/** One with few chains, which are read one by one, and one with more than that. */
for (const services of [2, 200]) {
  test(
    `rules that iptables cannot read keep no rule of ours out (${services} Services)`,
    { skip, timeout: 60_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        await addForeignRule(netns)
        const writer = await makeWriter(netns, 'nft')
        await writeRuleset(writer, rulesetOf(services), hashOf('a'))
        await writer.verify()
        await writer.write([{ table: 'nat', set: serviceChains(1, 9090), remove: [] }], hashOf('b'))
        const again = await makeWriter(netns, 'nft')
        const full = rulesetOf(services)
        await writeRuleset(again, { ...full, nat: new Map([...full.nat, ...serviceChains(0, 7070)]) }, hashOf('c'))
        assert.deepEqual((await again.verify()).drift, [])
        assert.equal(again.health().level, 'ok')
        assert.match(again.health().message, /not all of nat is compared/)
        const nat = await netns.exec('nft', 'list', 'table', 'ip', 'nat')
        assert.equal(countOf(nat, 'jump PLAT-POSTROUTING'), 1)
        assert.equal(countOf(nat, 'jump PLAT-SVC-'), services)
        assert.match(nat, /dnat to 10\.244\.0\.2:7070/)
        assert.match(nat, /@others/)
      }),
  )
}

test(
  'what others change in a table that cannot be read is put right, and check tells of it and cleanup removes ours',
  { skip, timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      await addForeignRule(netns)
      const writer = await makeWriter(netns, 'nft')
      await writeRuleset(writer, rulesetOf(1), hashOf('a'))
      await netns.exec('iptables-nft', '-t', 'nat', '-F', 'PLAT-SVC-0')
      await netns.exec('iptables-nft', '-t', 'nat', '-D', 'POSTROUTING', '-j', 'PLAT-POSTROUTING')
      const { drift } = await writer.verify()
      assert.deepEqual(drift.map(({ chain }) => chain).sort(), ['PLAT-SVC-0', 'POSTROUTING'])
      assert.deepEqual((await writer.verify()).drift, [])
      assert.deepEqual(await writer.preview(), [])
      const findings = await probeIptables(netns.run)
      const finding = findings.find(({ what }) =>
        what.includes('table ip nat holds rules that iptables-nft cannot read'),
      )
      assert.deepEqual([finding?.level, /nft list table ip nat/.test(finding?.remedy ?? '')], ['warn', true])
      const { failures, removed } = await cleanupRules(silentLogger, netns.run)
      const counts = removed.map(({ table, chains, hooks }) => `${table} ${chains} ${hooks}`)
      assert.deepEqual([failures, counts], [[], ['nat 7 3', 'filter 7 7']])
      const left = await netns.exec('nft', 'list', 'ruleset')
      assert.doesNotMatch(left, /PLAT-/)
      assert.match(left, /ip saddr @others counter .*masquerade/)
    }),
)
