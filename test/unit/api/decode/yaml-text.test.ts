import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readYaml } from '../../../../src/api/decode/yaml-text.ts'
import { StatusError } from '../../../../src/api/status.ts'

/** What Go's YAML reader, which Kubernetes uses, makes of each text. */
const values: readonly (readonly [title: string, yaml: string, json: string])[] = [
  ['words that mean yes and no', 'a: yes\nb: off\nc: "yes"\ny: 1', '{"a":true,"b":false,"c":"yes","true":1}'],
  ['an octal number', 'mode: 0644', '{"mode":420}'],
  ['octal, hexadecimal, binary and grouped numbers', '[0o17, 0xff, 0b101, 1_000, -07]', '[15,255,5,1000,-7]'],
  ['a number with a zero in front that is not octal', '[08, 1:30]', '[8,"1:30"]'],
  ['a number beyond 2^53', 'a: 12345678901234567890', '{"a":12345678901234567890}'],
  ['numbers with fractions', '[1.5, 1e3, .5, 1.]', '[1.5,1000,0.5,1]'],
  ['what JSON cannot say', '[.nan, .inf]', '[null,null]'],
  ['a date, which stays a text', 'a: 2001-12-14', '{"a":"2001-12-14"}'],
  ['merged keys', 'a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}', '{"a":{"x":1,"z":2},"b":{"x":1,"z":3}}'],
  ['keys that are no texts', '1: a\ntrue: b\nnull: c', '{"1":"a","true":"b","null":"c"}'],
  ['a prototype', '__proto__: {a: 1}', '{"__proto__":{"a":1}}'],
  ['nothing', '', 'null'],
  ['empty documents around one', '---\n---\na: 1\n---\n', '{"a":1}'],
  ['a document that ends', 'a: 1\n...\n', '{"a":1}'],
  ['a comment alone', '# nothing', 'null'],
]

const refused: readonly (readonly [title: string, yaml: string, problem: RegExp])[] = [
  ['two documents', 'a: 1\n---\nb: 2', /YAML: it holds more than one document/],
  ['an alias of nothing', 'a: *b', /YAML: line 1: unidentified alias "b"/],
  ['an alias within its own node', 'a: &a [*a]', /an alias stands inside its own anchor/],
  ['nesting', '['.repeat(1_001), /nesting exceeded maxDepth/],
  ['a tag that only some program knows', 'a: !secret b', /YAML: line 1: unknown scalar tag/],
  ['a key that is a list', '[a]: b', /complex keys/],
  ['bad indentation', 'a: 1\n  b: 2', /YAML: line 2: /],
]

describe('a YAML text becomes JSON', () => {
  for (const [title, yaml, json] of values) test(title, () => assert.equal(readYaml(yaml).json, json))
})

describe('a YAML text is refused in one line', () => {
  for (const [title, yaml, problem] of refused) {
    test(title, () => {
      assert.throws(
        () => readYaml(yaml),
        (thrown) => thrown instanceof StatusError && problem.test(thrown.message) && !thrown.message.includes('\n'),
      )
    })
  }
})

test('a key that stands twice is named with its line, once in each place', () => {
  const { duplicates } = readYaml('a: 1\nb:\n  - c: 1\n    c: 2\n"a": 3\nd: {e: 1, e: 2}\n? f\n: 1\nf: 2\n')
  assert.deepEqual(duplicates, [
    'line 4: key "c" already set in map',
    'line 5: key "a" already set in map',
    'line 6: key "e" already set in map',
    'line 9: key "f" already set in map',
  ])
})
