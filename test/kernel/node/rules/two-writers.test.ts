import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NftMonitor, type Run } from '../../../../src/host/index.ts'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import type { Chain, Hook } from '../../../../src/netfilter/ruleset.ts'
import { DriftWatch, detectIptables, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { untilAsync } from '../../../helpers/until.ts'
import { hashOf, makeWriter, rulesetOf, savedTable, serviceChains } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ipset')
const scope = { signal: AbortSignal.timeout(120_000) }
const hooks: readonly Hook[] = [
  { table: 'mangle', builtin: 'FORWARD', rule: { matches: [], target: { kind: 'jump', chain: 'PLAT-NETPOL' } } },
]
const asking: Chain = [
  { matches: [{ kind: 'in-set', set: 'PLAT-NP-A', by: ['src'] }], target: { kind: 'drop' } },
  { matches: [], target: { kind: 'return' } },
]
const sets = {
  create: new Map([['PLAT-NP-A', { type: 'hash:ip', family: 'IPv4', maxElements: 100 } as const]]),
  add: new Map([['PLAT-NP-A', ['10.0.0.1']]]),
  remove: new Map(),
  destroy: [],
}
const change = { table: 'mangle', set: new Map([['PLAT-NETPOL', asking]]), remove: [] } as const

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `the proxy's writer and the policies' writer leave each other's rules, sets and stamps alone (${flavour})`,
    { skip, timeout: 120_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', flavour), netns.run)
        const policy = new RulesWriter({ iptables, tables: ['mangle'], hooks, log: silentLogger })
        const proxy = await makeWriter(netns, flavour)
        const affinity = new Map([['PLAT-SEP-1', { family: 'IPv4', timeoutSeconds: 60, maxElements: 100 } as const]])
        await writeRuleset(proxy, rulesetOf(2), hashOf('a'), affinity)
        await policy.sync([change], emptyXorHash, sets)
        const mangle = await savedTable(netns, flavour, 'mangle')
        assert.match(mangle, /-A FORWARD -j PLAT-NETPOL/)

        await proxy.write([{ table: 'nat', set: serviceChains(0, 9090), remove: [] }], hashOf('b'))
        assert.deepEqual((await proxy.verify()).drift, [])
        assert.equal(await savedTable(netns, flavour, 'mangle'), mangle)
        assert.equal(await netns.exec('ipset', 'list', '-name'), 'PLAT-NP-A\n', 'the set of the proxy went, ours stays')
        await policy.write([{ table: 'mangle', set: new Map(), remove: [] }], emptyXorHash, {
          ...sets,
          create: new Map(),
        })
        assert.deepEqual((await policy.verify()).drift, [])
        assert.deepEqual((await proxy.verify()).drift, [])
        await assert.rejects(
          policy.write([{ table: 'nat', set: new Map([['PLAT-X', []]]), remove: [] }], emptyXorHash),
          {
            code: 'not-our-table',
          },
        )
        await policy.stop(scope)
      }),
  )
}

test(
  'what others change in mangle is repaired at once by its own writer, and the other one does not look',
  { skip, timeout: 120_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const looks: string[] = []
      const recording =
        (name: string): Run =>
        (file, args, options) => {
          if (file.startsWith('iptables-nft') && args.includes('-S')) looks.push(`${name} ${args.at(-1)}`)
          return netns.run(file, args, options)
        }
      const choice = await detectIptables(netns.run, 'IPv4', 'nft')
      const options = { log: silentLogger, verifyIntervalMs: 3_600_000 }
      const iptables = new Iptables(choice, recording('policy'))
      const policy = new RulesWriter({ iptables, tables: ['mangle'], hooks, ...options })
      const proxy = await makeWriter(netns, 'nft', { run: recording('proxy'), verifyIntervalMs: 3_600_000 })
      const monitor = new NftMonitor(silentLogger, netns.start)
      for (const writer of [policy, proxy])
        monitor.subscribe(new DriftWatch({ family: 'IPv4', writer, log: silentLogger }))
      try {
        await writeRuleset(proxy, rulesetOf(1), hashOf('a'))
        await policy.sync([change], emptyXorHash, sets)
        const mangle = await savedTable(netns, 'nft', 'mangle')
        looks.length = 0
        await monitor.start()
        await untilAsync(
          'the monitor listens and all was compared',
          async () => monitor.isListening && looks.includes('policy -S') && looks.includes('proxy -S'),
          30_000,
        )
        await Promise.all([policy.verify(), proxy.verify()])
        looks.length = 0
        await netns.exec('iptables-nft', '-t', 'mangle', '-F', 'PLAT-NETPOL')
        await untilAsync(
          'the chain is as before',
          async () => (await savedTable(netns, 'nft', 'mangle')) === mangle,
          30_000,
        )
        await netns.exec('iptables-nft', '-t', 'mangle', '-F', 'FORWARD')
        await untilAsync(
          'the hook is as before',
          async () => (await savedTable(netns, 'nft', 'mangle')) === mangle,
          30_000,
        )
        assert.deepEqual(
          looks.filter((look) => look.startsWith('proxy')),
          [],
        )
      } finally {
        await monitor.stop(scope)
        await policy.stop(scope)
        await proxy.stop(scope)
      }
    }),
)
