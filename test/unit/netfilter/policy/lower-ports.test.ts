import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowerPorts } from '../../../../src/netfilter/policy/lower-ports.ts'
import { portNamed, portRange } from '../../../helpers/policy-cluster.ts'

test('absent ports are one rule without a match', () => {
  assert.deepEqual(lowerPorts(undefined), { numbers: [[]], names: [] })
})

test('ports that overlap or touch are one range, others are not', () => {
  const { numbers } = lowerPorts([portRange(82), portRange(80), portRange(81), portRange(84, 90), portRange(86, 87)])
  const ports = [
    { first: 80, last: 82 },
    { first: 84, last: 90 },
  ]
  assert.deepEqual(numbers, [[{ kind: 'destination-ports', protocol: 'tcp', ports }]])
})

test('a multiport holds 15 numbers, of which a range takes two', () => {
  const singles = Array.from({ length: 16 }, (_, index) => portRange(10 * index + 1))
  assert.equal(lowerPorts(singles.slice(1)).numbers.length, 1)
  assert.equal(lowerPorts(singles).numbers.length, 2)
  const ranges = Array.from({ length: 8 }, (_, index) => portRange(10 * index + 1, 10 * index + 2))
  assert.equal(lowerPorts(ranges.slice(1)).numbers.length, 1)
  assert.equal(lowerPorts(ranges).numbers.length, 2)
})

test('a protocol without a port covers its numbers and names, and no other protocol', () => {
  const ports = [
    portRange(80),
    portNamed('http'),
    { kind: 'protocol', protocol: 'TCP' } as const,
    portNamed('d', 'UDP'),
  ]
  assert.deepEqual(lowerPorts(ports), {
    numbers: [[{ kind: 'protocol', protocol: 'tcp' }]],
    names: [{ name: 'd', protocol: 'UDP' }],
  })
})
