import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyHooks } from '../../../../src/netfilter/policy/hooks.ts'
import {
  bucketChain,
  bucketOf,
  bucketSet,
  denyChain,
  fixedSets,
  groupChain,
  groupId,
  groupSet,
  peerSet,
  policyChain,
  policyDirections,
  portSet,
} from '../../../../src/netfilter/policy/names.ts'
import { renderRuleSpec } from '../../../../src/netfilter/render.ts'

test('no name is longer than the 28 characters of a chain, and no two are alike', () => {
  const group = groupId(['x/a', 'x/b'])
  const bucket = bucketOf(group)
  const chains = policyDirections.flatMap((direction) => [
    policyChain(direction, 'x/a', []),
    groupChain(direction, group),
    bucketChain(direction, bucket),
    denyChain(direction),
  ])
  const sets = (['IPv4', 'IPv6'] as const).flatMap((family) => {
    const { isolated, denied, ...others } = fixedSets(family)
    return [
      ...Object.values({ ...others }),
      ...[isolated, denied].flatMap((each) => Object.values(each)),
      ...policyDirections.flatMap((direction) => [
        groupSet(direction, family, group),
        bucketSet(direction, family, bucket),
      ]),
      peerSet(family, 'p'),
      portSet(family, 'p'),
    ]
  })
  const names = [...chains, ...sets]
  assert.equal(new Set(names).size, names.length)
  assert.deepEqual(
    names.filter((name) => !/^PLAT-[A-Z0-9-]{1,23}$/.test(name)),
    [],
  )
  assert.deepEqual(
    sets.filter((name) => !name.startsWith('PLAT-NP-')),
    [],
  )
})

test('groups spread over 16 buckets', () => {
  const buckets = new Set(Array.from({ length: 500 }, (_, index) => bucketOf(groupId([`x/p${index}`]))))
  assert.deepEqual([...buckets].sort(), [...'0123456789ABCDEF'])
})

test('mangle is entered from FORWARD and INPUT by all that is not established', () => {
  assert.deepEqual(
    policyHooks().map(({ table, builtin, rule }) => `${table} ${builtin} ${renderRuleSpec(rule)}`),
    [
      'mangle FORWARD -m conntrack ! --ctstate RELATED,ESTABLISHED -j PLAT-NETPOL',
      'mangle INPUT -m conntrack ! --ctstate RELATED,ESTABLISHED -j PLAT-NETPOL-IN',
    ],
  )
})
