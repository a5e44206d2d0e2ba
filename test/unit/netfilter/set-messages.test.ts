import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeElementLine } from '../../../src/netfilter/set-messages.ts'

/** The header, the protocol's version and the name PLAT-NP-A, which begin each message. */
const start = '02000000 05000100 06000000 0e000200 504c4154 2d4e502d 41000000'

function hexOf(line: string): string | undefined {
  const message = encodeElementLine(line)
  return message?.payload.toString('hex').replace(start.replaceAll(' ', ''), '')
}

test('an element is encoded in the attributes of the kernel (ip_set.h)', () => {
  assert.equal(encodeElementLine('add PLAT-NP-A 10.0.0.1')?.type, 0x609)
  assert.equal(encodeElementLine('del PLAT-NP-A 10.0.0.1')?.type, 0x60a)
  const address = '0c000180 08000140 0a000001'
  const messages = {
    '10.0.0.1': `10000780 ${address}`,
    '10.0.0.1/24': `18000780 ${address} 05000300 18000000`,
    '10.0.0.1,sctp:80': `20000780 ${address} 06000440 00500000 05000700 84000000`,
    '10.0.0.1,47:0,10.0.0.2': `2c000780 ${address} 06000440 00000000 05000700 2f000000 0c001480 08000140 0a000002`,
    'fd00::1': '1c000780 18000180 14000240 fd000000 00000000 00000000 00000001',
  }
  for (const [element, hex] of Object.entries(messages))
    assert.equal(hexOf(`add PLAT-NP-A ${element}`), hex.replaceAll(' ', ''), element)
})

test('other lines are left to ipset', () => {
  const elements = [
    '10.0.0.1,tcp:80,x',
    '10.0.0.1,tcp:80,10.0.0.2,x',
    '10.0.0.1,tcp:65536',
    '10.0.0.1,256:1',
    '10.0.0.1,0:1',
    '10.0.0.1,icmp:8',
    '10.0.0.256',
    'x',
    '',
  ]
  const lines = ['create PLAT-NP-A hash:ip family inet', 'destroy PLAT-NP-A', 'add PLAT-NP-A 10.0.0.1 timeout 5']
  for (const line of [...lines, ...elements.map((element) => `add PLAT-NP-A ${element}`)])
    assert.equal(encodeElementLine(line), undefined, line)
})
