import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import * as fields from '../../../../src/node/state/fields.ts'
import type { Field } from '../../../../src/node/state/problem.ts'

/** A value that each field takes by its quick reader. */
const quickFields = {
  dnsLabel: [fields.dnsLabel, 'web-1'],
  dnsSubdomain: [fields.dnsSubdomain, 'node-1.example.org'],
  portName: [fields.portName, ''],
  labelValue: [fields.labelValue, 'zone_A.1'],
  portNumber: [fields.portNumber, 65_535],
  flag: [fields.flag, false],
  record: [fields.record, {}],
  list: [fields.list, []],
  workloadAddress: [fields.workloadAddress, '10.0.0.1'],
  words: [fields.oneOf(['TCP', 'UDP', 'SCTP'], ''), 'SCTP'],
} as const satisfies Record<string, readonly [Field<unknown>, unknown]>

const octets = fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.constantFrom('', '00', '010', '1 '))
const quads = fc.array(octets, { minLength: 3, maxLength: 5 }).map((parts) => parts.join('.'))
const ipv6Texts = fc.oneof(
  fc.ipV6(),
  fc.ipV6().map((text) => text.toUpperCase()),
  quads.map((quad) => `::ffff:${quad}`),
  fc.constantFrom('fe80::1%eth0', 'fd00::0001', '0:0::1', '2002:7f00:1::'),
)
const names = fc.stringMatching(/^[A-Za-z0-9._\n-]{0,66}$/)
const numbers = fc.oneof(fc.integer({ min: -2, max: 65_540 }), fc.constantFrom(-0, 0.5, 65_535.5, Number.NaN, 2 ** 53))
const words = fc.constantFrom('TCP', 'tcp', 'TCP ', 'UDP', 'SCTP', '')
const values = fc.oneof(fc.anything(), quads, ipv6Texts, names, numbers, words)

describe('the quick reader of a field', () => {
  for (const [name, [field, usual]] of Object.entries(quickFields)) {
    it(`reads a usual value, and what it reads the schema reads alike: ${name}`, () => {
      assert.deepEqual(field.quick?.(usual), usual)
      fc.assert(
        fc.property(values, (value) => {
          const quick = field.quick?.(value)
          if (quick === undefined) return
          const judged = field.schema.safeParse(value)
          assert.ok(judged.success, inspect(value))
          assert.deepEqual(quick, judged.data)
        }),
        { numRuns: 500 },
      )
    })
  }
})
