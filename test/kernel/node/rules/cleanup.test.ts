import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { describeError } from '../../../../src/model/errors.ts'
import { cleanupProxyRules, cleanupRules } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { hashOf, makeWriter, rulesetOf, savedTable } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ipset')

async function addForeignRules(netns: TestNetns, flavour: string): Promise<void> {
  const iptables = `iptables-${flavour}`
  await netns.exec(iptables, '-P', 'FORWARD', 'DROP')
  await netns.exec(iptables, '-N', 'OTHER')
  await netns.exec(iptables, '-A', 'OTHER', '-m', 'comment', '--comment', 'see -j PLAT-X', '-j', 'DROP')
  await netns.exec(iptables, '-A', 'INPUT', '-s', '192.0.2.1', '-j', 'OTHER')
  await netns.exec(iptables, '-t', 'nat', '-A', 'POSTROUTING', '-s', '192.0.2.0/24', '-j', 'MASQUERADE')
}

async function saveAll(netns: TestNetns, flavour: string): Promise<string> {
  const tables = ['nat', 'filter'].map((table) => savedTable(netns, flavour === 'nft' ? 'nft' : 'legacy', table))
  return (await Promise.all(tables)).join('')
}

for (const flavour of ['nft', 'legacy'] as const) {
  test(`cleanup leaves exactly what stood before (${flavour})`, { skip, timeout: 60_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      await addForeignRules(netns, flavour)
      const before = await saveAll(netns, flavour)
      await writeRuleset(await makeWriter(netns, flavour), rulesetOf(400), hashOf('a'))
      await netns.exec(`iptables-${flavour}`, '-A', 'OTHER', '-s', '192.0.2.7', '-g', 'PLAT-FORWARD')
      await netns.exec(`iptables-${flavour}`, '-t', 'mangle', '-N', 'PLAT-OLD')
      const { removed, failures } = await cleanupRules(silentLogger, netns.run)
      assert.deepEqual(failures, [])
      const counts = removed.map((each) => [each.flavour, each.table, each.chains, each.hooks])
      assert.deepEqual(counts, [
        [flavour, 'mangle', 1, 0],
        [flavour, 'nat', 1204, 3],
        [flavour, 'filter', 7, 8],
      ])
      assert.equal(await saveAll(netns, flavour), before)
      assert.deepEqual(await cleanupRules(silentLogger, netns.run), { removed: [], sets: 0, failures: [] })
    }),
  )
}

test('cleanup without iptables removes what nft can and fails for what it cannot read', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    await addForeignRules(netns, 'nft')
    const before = await saveAll(netns, 'nft')
    await writeRuleset(await makeWriter(netns, 'nft'), rulesetOf(3), hashOf('a'))
    const without =
      (...names: RegExp[]): Run =>
      (file, args, options) =>
        netns.run(names.some((name) => name.test(file)) ? '/no/such/program' : file, args, options)
    const { removed, failures } = await cleanupRules(silentLogger, without(/^ip6?tables/))
    assert.deepEqual(failures, [])
    assert.deepEqual(
      removed.map(({ table, flavour }) => [flavour, table]),
      [
        ['nft', 'nat'],
        ['nft', 'filter'],
      ],
    )
    assert.equal(await saveAll(netns, 'nft'), before)
    await writeRuleset(await makeWriter(netns, 'legacy'), rulesetOf(1), hashOf('a'))
    const left = await cleanupRules(silentLogger, without(/^ip6?tables/))
    assert.match(
      describeError(left.failures[0]),
      /^the legacy tables filter, nat of IPv4 cannot be read; rules of Platnet may/,
    )
    const blind = await cleanupRules(silentLogger, without(/^ip6?tables/, /^nft$/))
    assert.match(
      describeError(blind.failures[0]),
      /^the rules of IPv4 cannot be read: neither iptables nor nft is installed/,
    )
  }),
)

test('cleanup of both flavours at once loads no legacy table that is not in use', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    await writeRuleset(await makeWriter(netns, 'nft'), rulesetOf(1), hashOf('a'))
    await cleanupRules(silentLogger, netns.run)
    assert.equal(await netns.exec('cat', '/proc/net/ip_tables_names'), '')
    await writeRuleset(await makeWriter(netns, 'nft'), rulesetOf(1), hashOf('a'))
    await writeRuleset(await makeWriter(netns, 'legacy'), rulesetOf(1), hashOf('a'))
    const { removed } = await cleanupRules(silentLogger, netns.run)
    assert.deepEqual(
      removed.map((each) => `${each.flavour} ${each.table}`),
      ['nft nat', 'nft filter', 'legacy nat', 'legacy filter'],
    )
  }),
)

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `cleanup removes the rules of policies and the sets that they named (${flavour})`,
    { skip, timeout: 60_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        const sets = Array.from({ length: 60 }, (_, index) => `PLAT-NP-A${index}`)
        for (const name of [...sets, 'foreign']) await netns.exec('ipset', 'create', name, 'hash:ip')
        const rules = sets.map((name) => `-A PLAT-NETPOL -m set --match-set ${name} src -j DROP\n`).join('')
        const input = `*mangle\n:PLAT-NETPOL - [0:0]\n-A FORWARD -j PLAT-NETPOL\n${rules}COMMIT\n`
        await netns.run(`iptables-${flavour}-restore`, ['--noflush'], { input, timeoutMs: 10_000 })
        const { removed, sets: setCount, failures } = await cleanupRules(silentLogger, netns.run)
        assert.deepEqual(failures, [])
        assert.deepEqual(removed, [{ family: 'IPv4', flavour, table: 'mangle', chains: 1, hooks: 1 }])
        assert.equal(setCount, 60)
        assert.equal(await netns.exec('ipset', 'list', '-name'), 'foreign\n')
      }),
  )
}

test('cleanup removes the tables of the mode nftables, and no table of others', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    const netns = await lab.create()
    for (const table of ['ip platnet', 'ip6 platnet', 'inet platnet-other'])
      await netns.exec('nft', 'add', 'table', ...table.split(' '))
    const { removed, failures } = await cleanupRules(silentLogger, netns.run)
    assert.deepEqual(failures, [])
    assert.deepEqual(
      removed.map(({ family, table }) => [family, table]),
      [
        ['IPv4', 'platnet'],
        ['IPv6', 'platnet'],
      ],
    )
    assert.equal(await netns.exec('nft', 'list', 'tables'), 'table inet platnet-other\n')
    assert.deepEqual(await cleanupRules(silentLogger, netns.run), { removed: [], sets: 0, failures: [] })
  }),
)

test(
  'the mode nftables takes the rules of the mode iptables away but for those it keeps',
  { skip, timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      await addForeignRules(netns, 'nft')
      await writeRuleset(await makeWriter(netns, 'nft'), rulesetOf(3), hashOf('a'))
      const keep = new Set(['PLAT-FORWARD', 'PLAT-FORWARD-PODS'])
      assert.ok((await cleanupProxyRules(netns.run, 'IPv4', keep)) > 0)
      const left = await saveAll(netns, 'nft')
      assert.deepEqual([...new Set(left.match(/PLAT-[A-Z-]+/g))].sort(), [
        'PLAT-FORWARD',
        'PLAT-FORWARD-PODS',
        'PLAT-X',
      ])
      assert.equal(await cleanupProxyRules(netns.run, 'IPv4', keep), 0)
      assert.equal(await saveAll(netns, 'nft'), left)
    }),
)
