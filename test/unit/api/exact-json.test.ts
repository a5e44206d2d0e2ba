import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isExactNumber, numberOf, parseJson } from '../../../src/api/exact-json.ts'

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
