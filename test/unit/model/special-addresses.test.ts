import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { bigIntToIp, hostCidr, parseCidr, parseIp } from '../../../src/model/ip.ts'
import { specialKindIn, specialKindOf } from '../../../src/model/special-addresses.ts'
import { cidrOf, ipOf } from '../../helpers/addresses.ts'

describe('an address has one canonical text', () => {
  for (const [text, canonical] of [
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:ffff:a9fe:a9fe', '169.254.169.254'],
    ['::0001', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['FE80::0:1', 'fe80::1'],
    ['::127.0.0.1', '::7f00:1'],
    ['127.0.0.01', undefined],
    ['0177.0.0.1', undefined],
    ['0x7f.0.0.1', undefined],
    ['127.1', undefined],
    ['2130706433', undefined],
    ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1'],
    ['::ffff:127.0.0.01', undefined],
    ['::1.2.3', undefined],
    ['fe80::1%eth0', undefined],
    ['[::1]', undefined],
    [' 10.0.0.1', undefined],
    ['10.0.0.1\n', undefined],
    ['', undefined],
  ] as const) {
    test(`${JSON.stringify(text)} is ${canonical ?? 'no address'}`, () => assert.equal(parseIp(text), canonical))
  }

  for (const [text, canonical] of [
    ['::ffff:10.1.2.3/120', '10.1.2.0/24'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
    ['::ffff:0:0/95', undefined],
    ['10.0.0.0/33', undefined],
    ['10.0.0.0/08', undefined],
    ['::/0', '::/0'],
  ] as const) {
    test(`the network ${text} is ${canonical ?? 'none'}`, () => assert.equal(parseCidr(text), canonical))
  }
})

describe('a special address', () => {
  for (const [text, kind] of [
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['127.255.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['2002:7f00:1::', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['64:ff9b::169.254.169.254', 'link-local'],
    ['2002:a9fe:a9fe::1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['100.100.100.200', 'metadata'],
    ['64:ff9b::100.100.100.200', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['fd20:ce::254', 'metadata'],
    ['10.0.0.1', undefined],
    ['100.100.100.100', undefined],
    ['223.255.255.255', undefined],
    ['240.0.0.1', undefined],
    ['168.254.0.1', undefined],
    ['64:ff9b::8.8.8.8', undefined],
    ['2002:a00:1::1', undefined],
    ['fec0::1', undefined],
    ['fe8::1', undefined],
    ['ff::1', undefined],
    ['fd00::1', undefined],
    ['2001:db8::7f00:1', undefined],
  ] as const) {
    test(`${text} is ${kind ?? 'none'}`, () => assert.equal(specialKindOf(ipOf(text)), kind))
  }

  test('an address and the network of it alone are of one kind, unless an IPv6 address carries an IPv4 address', () => {
    const address = fc.oneof(
      fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((bits) => bigIntToIp(bits, 'IPv4')),
      fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((bits) => bigIntToIp(bits, 'IPv6')),
      fc.nat({ max: 0xffff }).map((group) => bigIntToIp(BigInt(group) << 112n, 'IPv6')),
    )
    fc.assert(
      fc.property(address, (ip) => {
        const [kind, kindIn] = [specialKindOf(ip), specialKindIn(hostCidr(ip))]
        assert.ok(kind === kindIn || (kindIn === undefined && /^(::|64:ff9b::|2002:)/.test(ip)), ip)
      }),
    )
  })

  for (const [text, kind] of [
    ['0.0.0.0/0', 'unspecified'],
    ['::/0', 'unspecified'],
    ['128.0.0.0/1', 'link-local'],
    ['169.254.169.254/32', 'link-local'],
    ['192.0.0.0/2', 'multicast'],
    ['100.64.0.0/10', 'metadata'],
    ['fc00::/7', 'metadata'],
    ['10.244.0.0/16', undefined],
    ['fd00:10:244::/56', undefined],
  ] as const) {
    test(`the network ${text} holds ${kind ?? 'none'}`, () => assert.equal(specialKindIn(cidrOf(text)), kind))
  }
})
