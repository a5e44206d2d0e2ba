import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chain, Ruleset } from '../../../../src/netfilter/ruleset.ts'
import type { AddressSet, AddressSets } from '../../../../src/netfilter/sets.ts'
import type { Flavour } from '../../../../src/node/rules/index.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { hashOf, makeWriter, rulesetOf } from './rules-fixture.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ipset')

function onEachFlavour(title: string, body: (netns: TestNetns, flavour: Flavour) => Promise<void>): void {
  for (const flavour of ['nft', 'legacy'] as const) {
    test(`${title} (${flavour})`, { skip, timeout: 120_000 }, () =>
      withNetns(async (lab) => body(await lab.create(), flavour)),
    )
  }
}

function setsOf(names: readonly string[], timeoutSeconds = 600): AddressSets {
  const set: AddressSet = { family: 'IPv4', timeoutSeconds, maxElements: 65_536 }
  return new Map(names.map((name) => [name, set]))
}

/** Rules that ask each of these sets. */
function rulesAsking(names: readonly string[]): Ruleset {
  const { nat, filter } = rulesetOf(1)
  const asking: Chain = names.map((set) => ({
    matches: [{ kind: 'in-set', set, by: ['src'] }],
    target: { kind: 'jump', chain: 'PLAT-SEP-0A' },
  }))
  return { nat: new Map([...nat, ['PLAT-SVC-0', asking]]), filter }
}

function sortedLines(text: string): readonly string[] {
  return text.trim().split('\n').sort()
}

const listSets = async (netns: TestNetns) => sortedLines(await netns.exec('ipset', 'list', '-name'))

onEachFlavour(
  'sets are made before the rules that name them and removed after, others stay',
  async (netns, flavour) => {
    await netns.exec('ipset', 'create', 'foreign', 'hash:ip')
    await netns.exec('ipset', 'create', 'PLAT-SEP-6', 'hash:ip', 'family', 'inet6', 'timeout', '60')
    await netns.exec('ipset', 'create', 'PLAT-SEP-OLD', 'hash:ip', 'timeout', '60')
    const writer = await makeWriter(netns, flavour)
    const [both, one] = [['PLAT-SEP-1', 'PLAT-SEP-2'], ['PLAT-SEP-1']]
    await writeRuleset(writer, rulesAsking(both), hashOf('a'), setsOf(both))
    assert.deepEqual(await listSets(netns), ['PLAT-SEP-1', 'PLAT-SEP-2', 'PLAT-SEP-6', 'foreign'])
    await netns.exec('ipset', 'add', 'PLAT-SEP-1', '192.0.2.9')

    const next = await makeWriter(netns, flavour)
    await writeRuleset(next, rulesAsking(one), hashOf('b'), setsOf(one))
    assert.deepEqual(await listSets(netns), ['PLAT-SEP-1', 'PLAT-SEP-6', 'foreign'])
    assert.match(await netns.exec('ipset', 'list', 'PLAT-SEP-1'), /192\.0\.2\.9 timeout/, 'a restart forgets no client')

    await writeRuleset(next, rulesAsking(one), hashOf('b'), setsOf(one, 30))
    assert.match(await netns.exec('ipset', 'list', 'PLAT-SEP-1'), /maxelem 65536 .*timeout 30/)
    assert.deepEqual(await listSets(netns), ['PLAT-SEP-1', 'PLAT-SEP-6', 'foreign'])

    await writeRuleset(next, rulesetOf(1), hashOf('c'))
    assert.deepEqual(await listSets(netns), ['PLAT-SEP-6', 'foreign'])
  },
)

onEachFlavour(
  'sets that others removed with the rules are made again, by a comparison and by a write',
  async (netns, flavour) => {
    const names = ['PLAT-SEP-1', 'PLAT-SEP-2']
    const writer = await makeWriter(netns, flavour)
    await writeRuleset(writer, rulesAsking(names), hashOf('a'), setsOf(names))
    const removeAll = async () => {
      for (const action of ['-F', '-X']) await netns.exec(`iptables-${flavour}`, '-t', 'nat', action)
      for (const name of names) await netns.exec('ipset', 'destroy', name)
    }
    await removeAll()
    await writer.verify()
    assert.deepEqual(await listSets(netns), names)
    assert.deepEqual((await writer.verify()).drift, [])

    await removeAll()
    const asking = rulesAsking(names).nat.get('PLAT-SVC-0') ?? []
    const change = { table: 'nat' as const, set: new Map([['PLAT-SVC-0', asking.toReversed()]]), remove: [] }
    await writer.write([change], hashOf('b'), setsOf(names))
    assert.deepEqual(await listSets(netns), names)
    await writer.verify()
    assert.deepEqual((await writer.verify()).drift, [])
  },
)

onEachFlavour(
  'a set that the kernel refuses is an error that names what was written, and nothing is forgotten',
  async (netns, flavour) => {
    await netns.exec('ipset', 'create', 'PLAT-SEP-1', 'hash:net')
    const writer = await makeWriter(netns, flavour)
    const names = ['PLAT-SEP-1']
    await assert.rejects(writeRuleset(writer, rulesAsking(names), hashOf('a'), setsOf(names)), {
      code: 'restore-failed',
    })
    await netns.exec('ipset', 'destroy', 'PLAT-SEP-1')
    await writer.write([], hashOf('a'), setsOf(names))
    assert.match(await netns.exec(`iptables-${flavour}-save`, '-t', 'nat'), /--match-set PLAT-SEP-1 src/)
  },
)
