import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  evaluateBaseChain,
  readIptablesChains,
  readNftBaseChains,
  readNftRules,
} from '../../../src/netfilter/foreign-path.ts'
import { assertLinear } from '../../helpers/growth.ts'
import { firstPacket, rulesWorldOf } from '../../helpers/proxy-lab.ts'
import { TestRuleset } from '../../helpers/rulesets.ts'

const world = rulesWorldOf(new TestRuleset({ family: 'IPv4' }), [])
const packet = { ...firstPacket('10.244.1.5', '10.244.2.5', 80), mark: 0, isTranslated: false }

function judgeForward(listed: string, isAcceptedByUs = false) {
  const forward = readIptablesChains(listed, 'iptables-nft').find(({ hook }) => hook === 'FORWARD')
  assert.ok(forward)
  const { verdict, by, unclear } = evaluateBaseChain(forward, packet, world, isAcceptedByUs)
  return [verdict, by, ...unclear]
}

test('a chain that rules lead to decides, returns, or leaves it to what comes next', () => {
  const head = '-P FORWARD DROP\n-N a\n-N b\n-A a -j RETURN\n-A a -j DROP\n'
  assert.deepEqual(judgeForward(`${head}-A FORWARD -j a`), ['drop', 'its policy DROP'])
  assert.deepEqual(judgeForward(`${head}-A FORWARD -j a\n-A FORWARD -s 10.244.0.0/16 -j ACCEPT`), [
    'accept',
    'its rule "-s 10.244.0.0/16 -j ACCEPT"',
  ])
  assert.deepEqual(judgeForward(`${head}-A FORWARD -g a\n-A FORWARD -j ACCEPT`), ['drop', 'its policy DROP'])
  assert.deepEqual(judgeForward(`${head}-A b -j b\n-A FORWARD -j b\n-A FORWARD -j ACCEPT`), [
    'accept',
    'its rule "-j ACCEPT"',
  ])
})

test('rules with matches that are not known here are named, and those that decide nothing are not', () => {
  const listed =
    '-P FORWARD DROP\n-A FORWARD -m foo --bar -j ACCEPT\n-A FORWARD -m foo --bar -j LOG\n-A FORWARD -o cni0 -j ACCEPT'
  assert.deepEqual(judgeForward(listed), ['drop', 'its policy DROP', '-m foo --bar -j ACCEPT', '-o cni0 -j ACCEPT'])
})

test('what our rules accept is decided in their own chain alone', () => {
  const ours = '-P FORWARD DROP\n-N PLAT-FORWARD-PODS\n-A FORWARD -j PLAT-FORWARD-PODS'
  assert.deepEqual(judgeForward(ours, true), ['accept', 'a rule of ours'])
  assert.deepEqual(judgeForward(ours, false), ['drop', 'its policy DROP'])
  assert.deepEqual(judgeForward('-P FORWARD DROP', true), ['drop', 'its policy DROP'])
})

test('base chains of tables written with nft are read, those of iptables-nft are not', () => {
  const listed = [
    'table ip filter {',
    '\tchain FORWARD {',
    '\t\ttype filter hook forward priority filter; policy drop;',
    '\t}',
    '}',
    'table inet fw {',
    '\tchain helper {',
    '\t}',
    '\tchain fwd {',
    '\t\ttype filter hook forward priority filter + 10; policy drop;',
    '\t}',
    '\tchain nat {',
    '\t\ttype nat hook output priority 0; policy accept;',
    '\t}',
    '}',
  ].join('\n')
  const [base, ...others] = readNftBaseChains(listed)
  assert.deepEqual([base?.table, base?.chain, base?.policy, others.length], ['fw', 'fwd', 'drop', 0])
  assert.ok(base)
  const rules =
    '\tchain fwd {\n\t\ttype filter hook forward priority 0; policy drop;\n\t\tct state established accept\n\t\tcounter packets 1 bytes 2 accept\n'
  const verdict = evaluateBaseChain(readNftRules(base, rules), packet, world, true)
  assert.deepEqual([verdict.verdict, verdict.unclear], ['accept', []])
})

test('thousands of rules in one chain of another program take time in proportion to their number', () => {
  const deny = (index: number) => `ip saddr 203.0.${index >> 8}.${index & 255} drop`
  const rulesOf = (count: number) => Array.from({ length: count }, (_, index) => deny(index))
  const forward = { family: 'inet', table: 'deny', chain: 'forward', hook: 'FORWARD', policy: 'accept' } as const
  assertLinear('rules of iptables', 5_000, (count) => {
    assert.deepEqual(
      judgeForward(['-P FORWARD ACCEPT', ...rulesOf(count).map((rule) => `-A FORWARD ${rule}`)].join('\n')).slice(0, 1),
      ['accept'],
    )
  })
  assertLinear('rules of nft', 5_000, (count) => {
    const listed = [
      'table inet deny {',
      '\tchain forward {',
      ...rulesOf(count).map((rule) => `\t\t${rule}`),
      '\t}',
      '}',
    ]
    assert.equal(readNftRules(forward, listed.join('\n')).rules.length, count)
  })
})
