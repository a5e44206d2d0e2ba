import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runProgram } from '../../../../src/host/index.ts'
import { detectIptables, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { hashOf, makeWriter, rulesetOf } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy')

test(
  'the flavour that is in use is chosen, ours above all, and the choice is explained',
  { skip, timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      const first = await detectIptables(netns.run, 'IPv4', 'auto')
      assert.match(first.reason, /no rules stand yet, and `iptables` is (nft|legacy) here/)
      assert.match(first.version, /^\d+\.\d+/)
      const [other, own] = first.flavour === 'nft' ? (['legacy', 'nft'] as const) : (['nft', 'legacy'] as const)

      await netns.exec(`iptables-${other}`, '-A', 'INPUT', '-s', '192.0.2.1', '-j', 'DROP')
      const second = await detectIptables(netns.run, 'IPv4', 'auto')
      assert.deepEqual([second.flavour, second.reason], [other, `this node's rules stand in ${other} tables`])

      await writeRuleset(await makeWriter(netns, own), rulesetOf(1), hashOf('a'))
      const third = await detectIptables(netns.run, 'IPv4', 'auto')
      assert.deepEqual([third.flavour, third.reason], [own, `our rules already stand in ${own} tables`])
      assert.equal((await detectIptables(netns.run, 'IPv4', other)).program, `iptables-${other}`)
    }),
)

test('an agent without the proxy is known by its rules in mangle', { skip, timeout: 60_000 }, () =>
  withNetns(async (lab) => {
    for (const flavour of ['nft', 'legacy'] as const) {
      const netns = await lab.create()
      const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', flavour), netns.run)
      const writer = new RulesWriter({ iptables, tables: ['mangle'], hooks: [], log: silentLogger })
      await writer.sync([{ table: 'mangle', set: new Map([['PLAT-NETPOL', []]]), remove: [] }], hashOf('a'))
      const found = await detectIptables(netns.run, 'IPv4', 'auto')
      assert.deepEqual([found.flavour, found.reason], [flavour, `our rules already stand in ${flavour} tables`])
    }
  }),
)

test('missing programs are named with the package to install', { skip }, async () => {
  await assert.rejects(
    detectIptables((_file, args, options) => runProgram('plt-no-such-program', args, options), 'IPv4', 'auto'),
    { code: 'not-found', message: /no iptables was found for IPv4/ },
  )
})
