import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeJson } from '../../../../src/api/decode/json-text.ts'
import { readYaml } from '../../../../src/api/decode/yaml-text.ts'
import { StatusError } from '../../../../src/api/status.ts'
import { assertLinear } from '../../../helpers/growth.ts'

const many = (count: number, item: (index: number) => string, separator: string) =>
  Array.from({ length: Math.floor(count) }, (_, index) => item(index)).join(separator)

type Shape = readonly [title: string, text: (length: number) => string]

const jsonShapes: readonly Shape[] = [
  ['one key over and over', (length) => `{${'"a":1,'.repeat(length / 6)}"a":1}`],
  ['every key twice', (length) => `{${many(length / 22, (index) => `"k${index}":1,"k${index}":2`, ',')}}`],
  [
    'every key twice below a long key',
    (length) => `{"${'x'.repeat(length / 2)}":{${many(length / 44, (index) => `"k${index}":1,"k${index}":2`, ',')}}}`,
  ],
  [
    'one pair over and over at the bottom of a deep object',
    (length) => `${'{"a":'.repeat(990)}{${'"b":{"x":1,"x":2},'.repeat(length / 18)}"c":1}${'}'.repeat(990)}`,
  ],
  ['quotes behind backslashes', (length) => `{"a":"${'\\\\\\"'.repeat(length / 4)}"}`],
  ['numbers that keep their text', (length) => `[${'1.0,'.repeat(length / 4)}1]`],
  ['deep arrays', (length) => `[${many(length / 1_800, () => '['.repeat(899) + ']'.repeat(899), ',')}]`],
]

const yamlShapes: readonly Shape[] = [
  ['one key over and over', (length) => 'a: 1\n'.repeat(length / 5)],
  ['every key twice', (length) => many(length / 24, (index) => `k${index}: 1\nk${index}: 2`, '\n')],
  ['a flow map', (length) => `{${many(length / 12, (index) => `k${index}: 1`, ', ')}}`],
  ['keys without values in a flow map', (length) => `{${'? a, '.repeat(length / 5)}}`],
  ['question marks', (length) => `${'? '.repeat(length / 2)}1`],
  ['dashes', (length) => `${'- '.repeat(length / 2)}1`],
  ['brackets', (length) => '['.repeat(length)],
  ['quotes', (length) => '"'.repeat(length)],
  ['empty lines in a literal', (length) => `a: |\n${'\n'.repeat(length)}`],
  ['a folded text', (length) => `a: >\n${'  x\n'.repeat(length / 4)}`],
  ['a plain text of many lines', (length) => `a: x\n${'  x\n'.repeat(length / 4)}`],
  ['a long number', (length) => `a: ${'1'.repeat(length)}`],
  ['comments', (length) => `${'# x\n'.repeat(length / 4)}a: 1`],
  ['comments behind items', (length) => '- 1 # x\n'.repeat(length / 8)],
  ['anchors and aliases', (length) => many(length / 20, (index) => `- &a${index} 1\n- *a${index}`, '\n')],
  ['merged maps', (length) => `a: &a {x: 1}\n${many(length / 20, (index) => `k${index}: {<<: *a}`, '\n')}`],
  ['documents', (length) => '---\na: 1\n'.repeat(length / 9)],
  ['empty documents', (length) => '---\n'.repeat(length / 4)],
  ['spaces', (length) => `a:${' '.repeat(length)}1`],
]

describe('decoding takes time in proportion to the text', () => {
  for (const [title, text] of jsonShapes) {
    test(`JSON: ${title}`, () => {
      assertLinear(title, 100_000, (length) => decodeJson(Buffer.from(text(length))).problems.findDuplicates())
    })
  }
  for (const [title, text] of yamlShapes) {
    test(`YAML: ${title}`, () => {
      assertLinear(title, 50_000, (length) => readOrRefuse(text(length)))
    })
  }
})

function readOrRefuse(text: string): void {
  try {
    readYaml(text)
  } catch (thrown) {
    assert.ok(thrown instanceof StatusError && !(thrown.cause instanceof RangeError), String(thrown))
  }
}

test('at most 100 repeated fields are named, and a long name by its beginning', () => {
  const pairs = many(1_000, (index) => `"k${index}":1,"k${index}":2`, ',')
  assert.equal(decodeJson(Buffer.from(`{${pairs}}`)).problems.findDuplicates().length, 100)
  const yaml = many(1_000, (index) => `k${index}: 1\nk${index}: 2`, '\n')
  assert.equal(readYaml(yaml).duplicates.length, 100)
  const long = `{"${'x'.repeat(1_000_000)}":{"a":1,"a":2}}`
  const [named = ''] = decodeJson(Buffer.from(long)).problems.findDuplicates()
  assert.ok(named.length < 2_000, `${named.length} characters`)
})

test('a JSON text that nests more than 1,000 levels is refused before it is parsed', () => {
  assert.throws(() => decodeJson(Buffer.from(`${'['.repeat(1_001)}${']'.repeat(1_001)}`)), StatusError)
})
