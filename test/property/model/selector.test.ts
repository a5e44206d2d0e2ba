import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type LabelRequirement,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '../../../src/model/selector.ts'

const key = fc.constantFrom('app', 'tier', 'example.com/zone', 'a.b-c_d', 'in', 'notin')
const value = fc.stringMatching(/^[a-z0-9]([-a-z0-9_.]{0,5}[a-z0-9])?$/)
const values = fc.uniqueArray(value, { minLength: 1, maxLength: 4 })
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('exists' as const, 'absent' as const), values: fc.constant([]) }),
  fc.record({ key, operator: fc.constantFrom('in' as const, 'notin' as const), values }),
  fc.record({
    key,
    operator: fc.constantFrom('gt' as const, 'lt' as const),
    values: fc.integer({ min: 0, max: 99 }).map((bound) => [String(bound)]),
  }),
)
const labels = fc.dictionary(key, fc.oneof(value, fc.integer({ min: 0, max: 99 }).map(String)), { maxKeys: 4 })

function format({ key: name, operator, values: list }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return name
    case 'absent':
      return `!${name}`
    case 'gt':
    case 'lt':
      return `${name} ${operator === 'gt' ? '>' : '<'} ${list[0]}`
    default:
      return `${name} ${operator} (${list.join(', ')})`
  }
}

test('a label selector that is written out is parsed back', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), (selector) => {
      const plain = selector.map((each) => ({ ...each }))
      assert.deepEqual(parseLabelSelector(plain.map(format).join(',')), plain)
    }),
  )
})

test('notin is the opposite of in, absent of exists, and a selector is the AND of its parts', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), key, values, labels, (selector, name, list, found) => {
      const holds = (operator: LabelRequirement['operator']) =>
        matchesLabels([{ key: name, operator, values: list }], found)
      assert.notEqual(holds('in'), holds('notin'))
      assert.notEqual(holds('exists'), holds('absent'))
      assert.equal(
        matchesLabels(selector, found),
        selector.every((each) => matchesLabels([each], found)),
      )
    }),
  )
})

test('any text is a selector or a SelectorError', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab!=<>(), in]{0,12}$/))
  fc.assert(
    fc.property(text, (anything) => {
      for (const parse of [parseLabelSelector, parseFieldSelector]) {
        try {
          parse(anything)
        } catch (thrown) {
          assert.ok(thrown instanceof SelectorError)
        }
      }
    }),
  )
})

test('a field value of any characters survives its escapes', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('=', '!=', '=='), (found, operator) => {
      const escaped = found.replaceAll(/[\\,=]/g, '\\$&')
      const selector = parseFieldSelector(`metadata.name${operator}${escaped}`)
      assert.equal(
        matchesFields(selector, () => found),
        operator !== '!=',
      )
    }),
  )
})
