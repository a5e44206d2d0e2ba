import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import { Validator } from '../../../../src/api/schema/validate.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const short: Schema = { type: 'string', maxLength: 1 }
const text: Schema = { type: 'string' }
const byKey: Schema = {
  type: 'array',
  listType: 'map',
  listMapKeys: ['k'],
  items: { type: 'object', properties: { k: text, v: short } },
}

/** The decisions of kube-apiserver 1.34 after a definition became stricter: which fields an update from `old` to `value` is refused for. */
const rows: readonly [title: string, schema: Schema, old: Json, value: Json, refused: readonly string[]][] = [
  [
    'an unchanged field beside a changed one',
    { properties: { a: short, b: text } },
    { a: 'xx', b: '1' },
    { a: 'xx', b: '2' },
    [],
  ],
  ['another invalid value', { properties: { a: short } }, { a: 'xx' }, { a: 'yy' }, ['a']],
  ['an invalid value that is new', { properties: { a: short } }, {}, { a: 'xx' }, ['a']],
  [
    'a field that became required, while another changes',
    { required: ['m'], properties: { b: text } },
    { b: '1' },
    { b: '2' },
    ['m'],
  ],
  [
    'a field that became required, while nothing changes',
    { required: ['m'], properties: { b: text } },
    { b: '1' },
    { b: '1' },
    [],
  ],
  ['an unchanged value of a map', { additionalProperties: short }, { a: 'xx', b: '1' }, { a: 'xx', b: '2' }, []],
  [
    'an item with its key elsewhere in the list',
    byKey,
    [{ k: 'a', v: 'xx' }],
    [
      { k: 'b', v: '1' },
      { k: 'a', v: 'xx' },
    ],
    [],
  ],
  ['an unchanged field of an item', byKey, [{ k: 'a', v: 'xx' }], [{ k: 'a', v: 'xx', n: 1 }], []],
  ['an item of another key', byKey, [{ k: 'a', v: 'xx' }], [{ k: 'b', v: 'xx' }], ['[0].v']],
  ['an item of an atomic list that changes', { type: 'array', items: short }, ['xx', '1'], ['xx', '2'], ['[0]']],
  ['an item of an atomic list that does not', { type: 'array', items: short }, ['xx', '1'], ['xx', '1'], []],
  ['a set that held an item twice', { type: 'array', listType: 'set', items: text }, ['a', 'a'], ['a', 'a', 'b'], []],
  ['a set that gets an item twice', { type: 'array', listType: 'set', items: text }, ['a'], ['a', 'a'], ['[1]']],
  [
    'a composition that an unchanged field breaks, while another changes',
    { properties: { a: text, b: text }, anyOf: [{ properties: { a: { enum: ['good'] } } }] },
    { a: 'bad', b: '1' },
    { a: 'bad', b: '2' },
    ['', 'a'],
  ],
  ['a type that has changed', { properties: { a: text, b: text } }, { a: 1, b: '1' }, { a: 1, b: '2' }, []],
]

describe('an update after a schema became stricter', () => {
  for (const [title, schema, old, value, refused] of rows) {
    test(`${title} is ${refused.length === 0 ? 'accepted' : 'refused'}`, () => {
      const errors = new Validator(schema).validate(value, '', old)
      assert.deepEqual(
        errors.map(({ field }) => field),
        refused,
      )
    })
  }

  test('compares a deep value in linear time', () => {
    const nest = (leaf: Json) => Array.from({ length: 900 }).reduce<Json>((value) => ({ a: value, n: 'xx' }), leaf)
    const schema: Record<string, Schema> = {}
    const node: Schema = { properties: schema }
    Object.assign(schema, { a: node, n: short, big: { type: 'array' } })
    const big = Array.from({ length: 50_000 }, (_, index) => index)
    const startedMs = performance.now()
    const errors = new Validator(node).validate(nest({ big, n: '1' }), '', nest({ big: [...big], n: '2' }))
    assert.deepEqual(errors, [])
    assert.ok(performance.now() - startedMs < 2_000)
  })
})
