import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUndeclaredFields } from '../../../../src/api/managed-fields/undeclared-fields.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'

const text: Schema = { type: 'string' }
const item: Schema = { type: 'object', properties: { name: text, port: { type: 'integer', default: 80 } } }
const schema: Schema = {
  type: 'object',
  properties: {
    named: { type: 'array', listType: 'map', listMapKeys: ['name', 'port'], items: item },
    plain: { type: 'array', items: item },
    open: { type: 'object', preserveUnknownFields: true, properties: { closed: item } },
    labels: { type: 'object', additionalProperties: text },
  },
}
const undeclared = (value: Parameters<typeof findUndeclaredFields>[1]) => findUndeclaredFields(schema, value)

test('a field is named by its path, items by their keys or their place', () => {
  assert.deepEqual(undeclared({ named: [{ name: 'a', x: 1 }], plain: [{ name: 'a' }, { x: 1 }] }), [
    '.named[name="a",port=80].x: field not declared in schema',
    '.plain[1].x: field not declared in schema',
  ])
})

test('of each object the first is named', () => {
  assert.deepEqual(undeclared({ x: 1, y: 2, plain: [{ x: 1, y: 2 }] }), [
    '.x: field not declared in schema',
    '.plain[0].x: field not declared in schema',
  ])
})

test('what is preserved is not looked at, what is declared in it is', () => {
  const open = { x: { y: [1] }, closed: { name: 'a', x: 1 } }
  assert.deepEqual(undeclared({ open, labels: { any: 'thing' } }), ['.open.closed.x: field not declared in schema'])
})

test('at most a hundred are named', () => {
  assert.equal(undeclared({ plain: Array.from({ length: 1_000 }, () => ({ x: 1 })) }).length, 100)
})
