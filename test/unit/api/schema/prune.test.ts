import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dropNulls, fillDefaults, prune } from '../../../../src/api/schema/prune.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const text: Schema = { type: 'string' }

describe('pruning', () => {
  const rows: readonly [title: string, schema: Schema, value: Json, expected: Json, unknown: readonly string[]][] = [
    ['drops what is not declared', { properties: { a: text } }, { a: '1', b: 2 }, { a: '1' }, ['b']],
    ['drops everything where nothing is declared', {}, { a: { b: 1 } }, {}, ['a']],
    [
      'keeps the keys of additionalProperties: true and prunes inside',
      { additionalProperties: {} },
      { a: { b: 1 }, c: 2 },
      { a: {}, c: 2 },
      ['a.b'],
    ],
    ['reaches into lists', { items: { properties: { a: text } } }, [{ a: '1', b: 2 }], [{ a: '1' }], ['[0].b']],
    [
      'keeps unknown fields where the schema says so, and prunes the declared ones beside them',
      { preserveUnknownFields: true, properties: { a: { type: 'object' } } },
      { a: { b: 1 }, c: { d: 1 } },
      { a: {}, c: { d: 1 } },
      ['a.b'],
    ],
    [
      'keeps apiVersion, kind and metadata of an embedded object',
      { embeddedResource: true },
      { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: {} },
      { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' } },
      ['spec'],
    ],
    [
      'keeps objects in lists of any depth where any JSON is allowed',
      { properties: { any: { preserveUnknownFields: true } } },
      { any: [{ a: 1 }, [{ b: [{ c: 2 }] }]] },
      { any: [{ a: 1 }, [{ b: [{ c: 2 }] }]] },
      [],
    ],
    [
      'keeps lists inside items that allow any JSON',
      { items: { preserveUnknownFields: true } },
      [[{ a: 1 }], { b: [{ c: 2 }] }],
      [[{ a: 1 }], { b: [{ c: 2 }] }],
      [],
    ],
    [
      'keeps undeclared fields of the items of a list that preserves them, and prunes declared ones',
      { preserveUnknownFields: true, items: { properties: { a: { type: 'object' } } } },
      [{ a: { gone: 1 }, z: [{ b: 1 }] }],
      [{ a: {}, z: [{ b: 1 }] }],
      ['[0].a.gone'],
    ],
    [
      'reports an unknown field in the metadata of an embedded object',
      { embeddedResource: true, preserveUnknownFields: true },
      { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', bad: 1 }, spec: [{ a: 1 }] },
      { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: [{ a: 1 }] },
      ['metadata.bad'],
    ],
    ['does not take the prototype for a declaration', { properties: {} }, { constructor: 1 }, {}, ['constructor']],
  ]
  for (const [title, schema, value, expected, unknown] of rows) {
    test(title, () => assert.deepEqual(prune(schema, value), { value: expected, unknown }))
  }

  test('answers the value itself where nothing is dropped', () => {
    const value = { a: '1' }
    assert.equal(prune({ properties: { a: text } }, value).value, value)
  })

  test('keeps a key named __proto__ where it is declared', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":2}') as Json
    const schema = { properties: JSON.parse('{"__proto__":{"preserveUnknownFields":true}}') as Record<string, Schema> }
    assert.equal(JSON.stringify(prune(schema, value).value), '{"__proto__":{"a":1}}')
  })
})

describe('defaults and nulls', () => {
  const rows: readonly [title: string, schema: Schema, value: Json, expected: Json][] = [
    ['an absent field takes its default', { properties: { a: { default: 1 } } }, {}, { a: 1 }],
    ['what is there stays', { properties: { a: { default: 1 } } }, { a: 0 }, { a: 0 }],
    ['a null becomes the default', { properties: { a: { default: 1 } } }, { a: null }, { a: 1 }],
    ['a null that is allowed stays', { properties: { a: { default: 1, nullable: true } } }, { a: null }, { a: null }],
    ['a null without default is dropped', { properties: { a: text } }, { a: null }, {}],
    ['a null in a list stays, for validation to refuse', { items: text }, [null], [null]],
    ['a null in a list becomes the default of the items', { items: { type: 'string', default: 'x' } }, [null], ['x']],
    [
      'a null among other fields becomes their default',
      { additionalProperties: { default: 3 } },
      { k: null },
      { k: 3 },
    ],
    [
      'a default gets the defaults of its own fields',
      { properties: { a: { default: {}, properties: { b: { default: 'x' } } } } },
      {},
      { a: { b: 'x' } },
    ],
    [
      'an object that is absent gets no defaults of its fields',
      { properties: { a: { properties: { b: { default: 1 } } } } },
      {},
      {},
    ],
  ]
  for (const [title, schema, value, expected] of rows) {
    test(title, () => assert.deepEqual(fillDefaults(schema, dropNulls(schema, value)), expected))
  }
})
