import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { directivesFor, parseFilter, widestLevel } from '../../../src/observe/filter.ts'

const grammarText = fc
  .array(fc.constantFrom('info', 'off', 'a', 'a::b', '=', '[', ']', '{', '}', ',', ' ', '3', '"', '-', '\n'), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''))

const level = fc.constantFrom('off', 'error', 'warn', 'info', 'debug', 'trace')
const target = fc.constantFrom('', 'a', 'ab', 'a::b', 'a::b::c', 'x')

test('Whatever the text, parsing gives a filter and never throws.', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), grammarText), (text) => {
      const { filter } = parseFilter(text)
      assert.ok(filter.length > 0)
      assert.match(widestLevel(directivesFor(filter, 'a::b')), /^(off|error|warn|info|debug|trace)$/)
    }),
    { numRuns: 500 },
  )
})

test('The longest matching target decides, and of equal ones the last.', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(target, level), { minLength: 1 }), target, (pairs, asked) => {
      const text = pairs.map(([name, limit]) => (name === '' ? limit : `${name}=${limit}`)).join(',')
      const best = pairs
        .filter(([name]) => asked.startsWith(name))
        .reduce<readonly [string, string] | undefined>(
          (found, pair) => (found === undefined || pair[0].length >= found[0].length ? pair : found),
          undefined,
        )
      assert.equal(widestLevel(directivesFor(parseFilter(text).filter, asked)), best?.[1] ?? 'off')
    }),
  )
})

test('A bad directive among good ones changes nothing but the list of problems.', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(target, level), { minLength: 1 }), fc.nat(), (pairs, at) => {
      const good = pairs.map(([name, limit]) => (name === '' ? limit : `${name}=${limit}`))
      const mixed = good.toSpliced(at % (good.length + 1), 0, 'a=louder')
      assert.deepEqual(parseFilter(mixed.join(',')).filter, parseFilter(good.join(',')).filter)
      assert.equal(parseFilter(mixed.join(',')).problems.length, 1)
    }),
  )
})
