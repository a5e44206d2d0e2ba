import assert from 'node:assert/strict'
import type { NetworkInterfaceInfo } from 'node:os'
import { test } from 'node:test'
import { followNodeAddress } from '../../../../src/app/composition/node-address.ts'
import { ipOf } from '../../../helpers/addresses.ts'

const at = (...addresses: readonly string[]): NetworkInterfaceInfo[] =>
  addresses.map((address) => ({ address, internal: false, family: 'IPv4', netmask: '', mac: '', cidr: null }))
const routeOf = (name: string) => `${name}\t00000000\t010002C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`

/** A machine whose networks change; each look is past the time that an answer holds. */
function machine(nodeIp?: string) {
  const networks = { interfaces: {} as Record<string, NetworkInterfaceInfo[]>, routes: '' }
  let nowMs = 0
  const address = followNodeAddress({
    nodeIp: nodeIp === undefined ? undefined : ipOf(nodeIp),
    read: () => networks,
    nowMs: () => {
      nowMs += 10_000
      return nowMs
    },
  })
  const look = (interfaces: Record<string, NetworkInterfaceInfo[]>, uplink?: string) => {
    Object.assign(networks, { interfaces, routes: uplink === undefined ? '' : routeOf(uplink) })
    return address()
  }
  return { look }
}

test('a node that starts before its address and default route are there gets them when they come', () => {
  const { look } = machine()
  assert.equal(look({}), undefined)
  assert.equal(look({ cni0: at('10.244.0.1') }), '10.244.0.1')
  assert.equal(look({ cni0: at('10.244.0.1'), eth0: at('192.0.2.1') }, 'eth0'), '192.0.2.1')
})

test('a node follows the address of its default route, and keeps one that the interface still has', () => {
  const { look } = machine()
  assert.equal(look({ eth0: at('192.0.2.1') }, 'eth0'), '192.0.2.1')
  assert.equal(look({ eth0: at('192.0.2.9', '192.0.2.1') }, 'eth0'), '192.0.2.1')
  assert.equal(look({ eth0: at('192.0.2.9') }, 'eth0'), '192.0.2.9')
  assert.equal(look({ eth0: at('192.0.2.9'), eth1: at('198.51.100.1') }, 'eth1'), '198.51.100.1')
})

test('while the default route is away the address stays, also where only a bridge of pods has one', () => {
  const { look } = machine()
  assert.equal(look({ eth0: at('192.0.2.1'), cni0: at('10.244.0.1') }, 'eth0'), '192.0.2.1')
  assert.equal(look({ cni0: at('10.244.0.1') }), '192.0.2.1')
  assert.equal(look({ eth0: at('192.0.2.7'), cni0: at('10.244.0.1') }, 'eth0'), '192.0.2.7')
})

test('without a default route the first address counts, as long as it is there', () => {
  const { look } = machine()
  assert.equal(look({ eth0: at('192.0.2.1'), eth1: at('198.51.100.1') }), '192.0.2.1')
  assert.equal(look({ eth1: at('198.51.100.1'), eth0: at('192.0.2.1') }), '192.0.2.1')
  assert.equal(look({ eth1: at('198.51.100.1') }), '198.51.100.1')
})

test('--node-ip is the address, whatever the machine has', () => {
  const { look } = machine('203.0.113.5')
  assert.equal(look({ eth0: at('192.0.2.1') }, 'eth0'), '203.0.113.5')
})
