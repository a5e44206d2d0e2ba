import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { parseIp } from '../../../src/model/ip.ts'

const octets = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map(String),
  fc.constantFrom('', '00', '010', '1 ', '0x1', '1e1', '٣', '2560'),
)
const quads = fc.array(octets, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'))

it('a dotted quad is an address exactly where the library reads four decimal parts', () => {
  const text = fc.oneof(
    { weight: 4, arbitrary: fc.array(octets, { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.')) },
    quads,
    fc.ipV4(),
    fc.ipV4().map((ip) => `${ip}.`),
    fc.ipV4().map((ip) => `${ip}\n`),
  )
  fc.assert(
    fc.property(text, (quad) => {
      assert.equal(parseIp(quad), ipaddr.IPv4.isValidFourPartDecimal(quad) ? quad : undefined)
    }),
    { numRuns: 2_000 },
  )
})
