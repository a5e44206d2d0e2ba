import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isExactNumber, isInteger, numberOf, parseFiniteJson, parseJson } from '../../../src/api/exact-json.ts'
import type { Json } from '../../../src/model/api-object.ts'
import { threadCpuMs } from '../../helpers/growth.ts'

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

describe('numbers are found wherever JSON has them, and strings that look like them stay strings', () => {
  const numbers = ['-0', '1.0', '-0.0', '1E-7', '0.0000001', '100.000001', '1e3', '12345678.12345678', '-1.5', '0']
  const strings = [
    'a: 1.0, 2',
    '\\" 1.0',
    'x\\\\',
    '[-0]',
    '\\u0041: 1.0,',
    '__proto__',
    '12345678901234567890',
    'e1.0',
  ]
  const text = `{"list":[${numbers.join(' ,')}],${strings.map((key, index) => `"${key}":["${key}", ${numbers[index]}]`).join(',')}}`

  test('each number keeps its text, each string its characters', () => {
    const { list, ...fields } = parseJson(text) as Record<string, Json[]>
    assert.deepEqual(
      list?.map((number) => JSON.stringify(number)),
      numbers,
    )
    const plain = JSON.parse(text) as Record<string, Json[]>
    for (const [key, [string, number]] of Object.entries(fields)) {
      assert.equal(string, plain[key]?.[0])
      assert.equal(JSON.stringify(number), numbers[Object.keys(fields).indexOf(key)])
    }
    assert.deepEqual(Object.keys(fields), Object.keys(plain).slice(1))
  })

  test('a text that is no JSON stays one, and the error names a place in it', () => {
    for (const bad of ['[1.0 1.0]', '{1.0:2}', '{ 1.0 : 2}', '[01.0]', '["a, 1.0', '[1.0,,1.0]', '1.0"a"', '[1.]']) {
      const thrown = messageOf(() => JSON.parse(bad))
      assert.equal(
        messageOf(() => parseJson(bad)),
        thrown,
      )
    }
  })
})

test('a long list of numbers does not take twice the time of a reviver that only passes them on', () => {
  for (const number of ['1.0', '1.5']) {
    const text = `[${Array(200_000).fill(number).join(',')}]`
    const here = Math.min(...[1, 2, 3].map(() => threadCpuMs(() => parseFiniteJson(text))))
    const passed = Math.min(...[1, 2, 3].map(() => threadCpuMs(() => JSON.parse(text, (_key, value) => value))))
    assert.ok(here < passed * 1.8, `${here} ms for ${number}, ${passed} ms with a reviver`)
  }
})

function messageOf(work: () => unknown): string {
  try {
    work()
  } catch (thrown) {
    return String(thrown)
  }
  return 'nothing was thrown'
}
