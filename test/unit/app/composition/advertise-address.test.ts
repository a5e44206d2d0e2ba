import assert from 'node:assert/strict'
import type { NetworkInterfaceInfo } from 'node:os'
import { describe, it } from 'node:test'
import { findAdvertiseAddress } from '../../../../src/app/composition/advertise-address.ts'
import { ipOf } from '../../../helpers/addresses.ts'

function at(address: string, internal = false): NetworkInterfaceInfo[] {
  return [{ address, internal, family: 'IPv4', netmask: '255.255.255.0', mac: '', cidr: null }]
}

const interfaces = {
  lo: at('127.0.0.1', true),
  cni0: at('10.244.0.1'),
  wlan0: at('192.0.2.30'),
  eth0: at('192.0.2.20'),
}
const heading = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n'
const route = (name: string, destination: string, metric: number, mask: string) =>
  `${name}\t${destination}\t010002C0\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0\n`
const all = ipOf('0.0.0.0')

describe('the address of a server that listens on all', () => {
  it('is that of the default route with the lowest metric, wherever its interface stands', () => {
    const routes = [
      heading,
      route('cni0', '0000F40A', 0, '00FFFFFF'),
      route('wlan0', '00000000', 600, '00000000'),
      route('eth0', '00000000', 100, '00000000'),
      // Half of the addresses, as a VPN takes them.
      route('cni0', '00000000', 0, '00000080'),
    ].join('')
    assert.equal(findAdvertiseAddress(all, { interfaces, routes }), '192.0.2.20')
  })

  it('is the first one without a default route, or where its interface has no address', () => {
    assert.equal(findAdvertiseAddress(all, { interfaces, routes: heading }), '10.244.0.1')
    const routes = route('tun0', '00000000', 0, '00000000')
    assert.equal(findAdvertiseAddress(all, { interfaces, routes }), '10.244.0.1')
  })

  it('is its own where it listens on one, and none on loopback', () => {
    assert.equal(findAdvertiseAddress(ipOf('192.0.2.30'), { interfaces, routes: '' }), '192.0.2.30')
    assert.equal(findAdvertiseAddress(ipOf('127.0.0.1'), { interfaces, routes: '' }), undefined)
  })
})
