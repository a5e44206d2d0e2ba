import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { endpointChain, serviceChain } from '../../../src/netfilter/names.ts'
import { ip } from '../../helpers/services.ts'

test('a chain is named by 16 base32 digits of SHA-256', () => {
  const name = serviceChain('default/web:http', 'TCP')
  assert.match(name, /^PLAT-SVC-[A-Z2-7]{16}$/)
  const bits = [...name.slice('PLAT-SVC-'.length)]
    .map((digit) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(digit).toString(2).padStart(5, '0'))
    .join('')
  const digest = createHash('sha256').update('default/web:http TCP').digest('hex').slice(0, 20)
  assert.equal(BigInt(`0b${bits}`).toString(16).padStart(20, '0'), digest)
})

test('port name, protocol and endpoint each make another name', () => {
  const names = [
    serviceChain('default/web', 'TCP'),
    serviceChain('default/web', 'UDP'),
    serviceChain('default/web:http', 'TCP'),
    endpointChain('default/web', 'TCP', ip('10.0.0.1'), 80),
    endpointChain('default/web', 'TCP', ip('10.0.0.1'), 81),
    endpointChain('default/web', 'UDP', ip('10.0.0.1'), 80),
    endpointChain('default/web', 'TCP', ip('fd00::1'), 80),
  ]
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every((name) => name.length === 25))
})
