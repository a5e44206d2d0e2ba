import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { networkElement } from '../../../../src/netfilter/policy/elements.ts'
import { areAllAddresses, blockNetworks } from '../../../../src/netfilter/policy/ranges.ts'
import { cidrOf } from '../../../helpers/addresses.ts'
import { ipBlock } from '../../../helpers/policy-cluster.ts'

describe('blockNetworks', () => {
  test('an exception of one block says nothing about another block', () => {
    const blocks = [ipBlock('10.0.0.0/8', '10.1.2.0/24'), ipBlock('10.1.0.0/16')]
    assert.deepEqual(blockNetworks(blocks, 'IPv4'), ['10.0.0.0/8'])
  })

  test('what an exception takes is missing, and the rest is as few networks as possible', () => {
    assert.deepEqual(blockNetworks([ipBlock('10.0.0.0/29', '10.0.0.2/31', '10.0.0.3/32')], 'IPv4'), [
      '10.0.0.0/31',
      '10.0.0.4/30',
    ])
    assert.deepEqual(blockNetworks([ipBlock('fd00::/126', 'fd00::/128')], 'IPv6'), ['fd00::1/128', 'fd00::2/127'])
  })

  test('networks that touch become one', () => {
    assert.deepEqual(blockNetworks([ipBlock('10.0.1.0/24'), ipBlock('10.0.0.0/24')], 'IPv4'), ['10.0.0.0/23'])
  })

  test('all addresses are two halves, and an exception of everything leaves nothing', () => {
    for (const [all, family, halves] of [
      ['0.0.0.0/0', 'IPv4', ['0.0.0.0/1', '128.0.0.0/1']],
      ['::/0', 'IPv6', ['::/1', '8000::/1']],
    ] as const) {
      const networks = blockNetworks([ipBlock(all)], family)
      assert.deepEqual(networks, halves)
      assert.equal(areAllAddresses(networks), true)
      assert.deepEqual(blockNetworks([ipBlock(all, all)], family), [])
    }
    assert.equal(areAllAddresses(blockNetworks([ipBlock('0.0.0.0/0', '10.0.0.1/32')], 'IPv4')), false)
  })

  test('a block and an exception of the other family count for nothing', () => {
    assert.deepEqual(blockNetworks([ipBlock('10.0.0.0/24'), ipBlock('fd00::/64')], 'IPv6'), ['fd00::/64'])
    assert.deepEqual(blockNetworks([ipBlock('10.0.0.0/24', 'fd00::/64')], 'IPv4'), ['10.0.0.0/24'])
  })
})

describe('networkElement', () => {
  test('a host has no prefix length', () => {
    assert.equal(networkElement(cidrOf('10.0.0.1/32')), '10.0.0.1')
    assert.equal(networkElement(cidrOf('fd00::1/128')), 'fd00::1')
    assert.equal(networkElement(cidrOf('fd00::/32')), 'fd00::/32')
  })
})
