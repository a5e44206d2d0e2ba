import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { equalRules, parseRuleSpec, parseSave, SaveParser } from '../../../src/netfilter/parse.ts'
import { renderRule } from '../../../src/netfilter/render.ts'
import type { Rule } from '../../../src/netfilter/ruleset.ts'

const sample = (name: string) => readFileSync(new URL(`../../fixtures/netfilter/${name}`, import.meta.url), 'utf8')

for (const name of ['nft.save', 'legacy.save', 'nft-counters.save']) {
  test(`every rule of ours in ${name} renders letter for letter as it was printed`, () => {
    const text = sample(name)
    const tables = parseSave(text)
    let rendered = 0
    for (const chains of [tables.nat.chains, tables.filter.chains]) {
      for (const [chain, rules] of chains) {
        for (const rule of rules) {
          if ('unparsed' in rule || rule.comment === 'comment first') continue
          if (rule.matches.some((match) => match.kind === 'statistic')) continue
          assert.ok(text.includes(`${renderRule(chain, rule)}\n`), renderRule(chain, rule))
          rendered += 1
        }
      }
    }
    assert.equal(rendered, 29)
  })

  test(`${name} gives our chains, empty ones too, and leaves other tables and other chains out`, () => {
    const { nat, filter } = parseSave(sample(name))
    assert.deepEqual([...filter.chains.keys()].sort(), [
      'PLAT-EMPTY',
      'PLAT-FORWARD',
      'PLAT-NODEPORTS',
      'PLAT-SERVICES',
      'PLAT-STATE',
    ])
    assert.deepEqual(filter.chains.get('PLAT-EMPTY'), [])
    assert.equal(nat.chains.size, 6)
  })

  test(`${name} gives the hooks with their position and what stands before them`, () => {
    const { nat, filter } = parseSave(sample(name))
    const places = [...nat.hooks, ...filter.hooks].map(({ chain, position, foreignBefore, rule }) => {
      const target = 'unparsed' in rule ? undefined : rule.target
      return [chain, position, foreignBefore, target?.kind === 'jump' && target.chain]
    })
    assert.deepEqual(places, [
      ['PREROUTING', 1, 0, 'PLAT-SERVICES'],
      ['INPUT', 2, 1, 'PLAT-NODEPORTS'],
      ['FORWARD', 1, 0, 'PLAT-FORWARD'],
      ['FORWARD', 3, 1, 'PLAT-SERVICES'],
    ])
  })
}

for (const name of ['nft-filter.list', 'legacy-filter.list']) {
  test(`${name}, which names no table, reads as the table that was listed`, () => {
    const listed = parseSave(sample(name), 'filter')
    assert.deepEqual(listed.filter, parseSave(sample('nft.save')).filter)
    assert.equal(listed.nat.chains.size, 0)
    assert.deepEqual(parseSave(sample(name), 'nat').nat, listed.filter)
  })
}

test('a rule that we would never write is kept as text and equals nothing of ours', () => {
  const rules = parseSave(sample('nft.save')).filter.chains.get('PLAT-STATE') ?? []
  const unparsed = rules.flatMap((rule) => ('unparsed' in rule ? [rule.unparsed] : []))
  assert.deepEqual(unparsed, ['-p icmp -j ACCEPT'])
  assert.ok(!equalRules({ unparsed: '-j ACCEPT' }, { matches: [], target: { kind: 'accept' } }))
  assert.ok(equalRules({ unparsed: '-p icmp' }, { unparsed: '-p icmp' }))
})

test('a comment that stands elsewhere in the rule makes no difference', () => {
  const [first, last] = ['-m comment --comment a -p udp', '-p udp -m comment --comment a'].map(parseRuleSpec)
  assert.ok(first && last && equalRules(first, last))
})

test('a probability equals what the kernel made of it, and not its neighbours', () => {
  const statistic = (probability: number): Rule => ({ matches: [{ kind: 'statistic', probability }] })
  for (let n = 1; n <= 2000; n++) {
    const kernel = Math.round(Number((1 / n).toFixed(10)) * 2 ** 31)
    const readBack = parseRuleSpec(`-m statistic --mode random --probability ${(kernel / 2 ** 31).toFixed(11)}`)
    assert.ok(readBack !== undefined && equalRules(readBack, statistic(1 / n)), `1/${n}`)
    assert.ok(!equalRules(readBack, statistic((kernel - 1) / 2 ** 31)), `just under 1/${n}`)
  }
  const printed = parseRuleSpec('-m statistic --mode random --probability 0.33333333349')
  assert.ok(printed !== undefined && equalRules(printed, statistic(1 / 3)))
})

test('what is not a rule at all harms nothing', () => {
  const text = '# comment\n*raw\n-A PLAT-X -j ACCEPT\nCOMMIT\n*nat\n-A\n-A PLAT-X -j\n:PLAT-Y\nnonsense\n-A PLAT-X "\n'
  const { nat, filter } = parseSave(text)
  assert.deepEqual([...nat.chains.keys()], ['PLAT-X', 'PLAT-Y'])
  assert.deepEqual(nat.chains.get('PLAT-X'), [{ unparsed: '-j' }, { unparsed: '"' }])
  assert.equal(filter.chains.size, 0)
})

for (const spec of [
  '-j DNAT --to-destination 10.0.0.1:80 --random',
  '-j DNAT --to-destination 10.0.0.300:80',
  '-j REJECT --reject-with icmp-host-unreachable',
  '-j MARK --set-xmark 0x1/0xff',
  '-m comment --comment a -m comment --comment b',
  '-m conntrack --ctstate SNAT',
  '-p tcp -m tcp --sport 80',
  '-s 10.0.0.0/255.0.0.255',
  '-j PLAT-A -j PLAT-B',
  '-p tcpx',
]) {
  test(`${spec} is not understood rather than understood wrongly`, () => {
    assert.equal(parseRuleSpec(spec), undefined)
  })
}

test('rules that stand as expected are the expected ones themselves; any other is read', () => {
  const expected = [
    { matches: [{ kind: 'statistic', probability: 1 / 3 }], comment: 'a b', target: { kind: 'jump', chain: 'PLAT-B' } },
    { matches: [], target: { kind: 'return' } },
  ] as const
  const parser = new SaveParser('nat', { chains: new Map([['PLAT-A', expected]]), family: 'IPv4' })
  parser.readLine('-N PLAT-A')
  parser.readLine(
    '-A PLAT-A -m statistic --mode random --probability 0.33333333349 -m comment --comment "a b" -j PLAT-B',
  )
  parser.readLine('-A PLAT-A -j DROP')
  parser.readLine('-A PLAT-A -j ACCEPT')
  const [first, ...others] = parser.listed.chains.get('PLAT-A') ?? []
  assert.equal(first, expected[0])
  assert.deepEqual(others, [
    { matches: [], target: { kind: 'drop' } },
    { matches: [], target: { kind: 'accept' } },
  ])
})
