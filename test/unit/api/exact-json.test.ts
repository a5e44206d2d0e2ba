import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isExactNumber, isInteger, numberOf, parseFiniteJson, parseJson } from '../../../src/api/exact-json.ts'

describe('a JSON text comes back as it was read', () => {
  const texts = [
    '12345678901234567890',
    '{"big":12345678901234567890}',
    '{"list":[1.10,1e3,-0,1.0,0.1,9007199254740993]}',
    '{"__proto__":{"n":1.50},"constructor":2}',
    '{"text":"a: 1.0, 12345678901234567890"}',
    '{"small":5,"none":null}',
  ]
  for (const text of texts) test(text, () => assert.equal(JSON.stringify(parseJson(text)), text))
})

test('numbers that JavaScript writes the same are plain numbers', () => {
  assert.equal(parseJson('[1.5]')?.toString(), '1.5')
  assert.equal(isExactNumber((parseJson('[1.5,2e1]') as unknown[])[0]), false)
  assert.equal(isExactNumber((parseJson('[1.5,2e1]') as unknown[])[1]), true)
})

test('an exact number is known by its nearest value', () => {
  assert.equal(numberOf(parseJson('2.50')), 2.5)
  assert.equal(numberOf(parseJson('"2.50"')), undefined)
})

test('integers are those of int64 and what float64 holds exactly, as Kubernetes tells them', () => {
  const integers = ['0', '-0', '1e3', '1.0', '9223372036854775807', '-9223372036854775808', '9007199254740993']
  const others = ['9223372036854775808', '-9223372036854775809', '1e17', '3.5e38', '1.5', `1${'0'.repeat(100)}`]
  for (const text of integers) assert.equal(isInteger(parseJson(text)), true, text)
  for (const text of others) assert.equal(isInteger(parseJson(text)), false, text)
})

test('a number that no float64 holds is refused, and the largest ones that it holds are read', () => {
  for (const text of ['1e400', '{"a":[-1e309]}', `1${'0'.repeat(400)}`]) {
    assert.throws(() => parseFiniteJson(text), /is too large/, text)
  }
  assert.equal(JSON.stringify(parseFiniteJson('[1e308,1e-400]')), '[1e308,1e-400]')
})
