import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { customSchema } from '../../../../src/api/openapi/custom-schema.ts'
import { SharedTypes, toOpenApiSchema } from '../../../../src/api/openapi/open-api-schema.ts'
import { configMaps } from '../../../../src/api/resources/config-maps.ts'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'

/** What Kubernetes 1.34 publishes of a field, in OpenAPI v3 and in v2. */
type Row = readonly [what: string, stated: JsonObject, version3: JsonObject, version2: JsonObject]

const integerOrString = [{ type: 'integer' }, { type: 'string' }]
const open = { 'x-kubernetes-preserve-unknown-fields': true }
const kept = (what: string, stated: JsonObject): Row => [what, stated, stated, stated]

const rows: readonly Row[] = [
  kept('a plain field', { type: 'string', title: 't', description: 'd', pattern: '^a*$', minLength: 0, maxLength: 5 }),
  kept('bounds', { type: 'number', minimum: 0.5, exclusiveMinimum: true, maximum: 10, multipleOf: 0.5 }),
  kept('a list that merges by key', {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  }),
  kept('any property', { type: 'object', additionalProperties: true }),
  kept('a rule', { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 0', message: 'm' }] }),
  ['a default', { type: 'integer', default: 0 }, { type: 'integer', default: 0 }, { type: 'integer' }],
  [
    'an integer or a string',
    { 'x-kubernetes-int-or-string': true },
    { anyOf: integerOrString, 'x-kubernetes-int-or-string': true },
    { 'x-kubernetes-int-or-string': true },
  ],
  [
    'an integer or a string that says so itself',
    { anyOf: integerOrString, 'x-kubernetes-int-or-string': true },
    { anyOf: integerOrString, 'x-kubernetes-int-or-string': true },
    { 'x-kubernetes-int-or-string': true },
  ],
  [
    'alternatives',
    { type: 'object', oneOf: [{ required: ['a'] }], not: { required: ['b'] }, allOf: [{ minProperties: 1 }] },
    { type: 'object', oneOf: [{ required: ['a'] }], not: { required: ['b'] }, allOf: [{ minProperties: 1 }] },
    { type: 'object' },
  ],
  [
    'an object that may be null',
    { type: 'object', nullable: true, properties: { a: { type: 'string' } } },
    { type: 'object', nullable: true, properties: { a: { type: 'string' } } },
    {},
  ],
  [
    'a field that must be there and may be null',
    {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'string', nullable: true }, b: { type: 'string' } },
    },
    {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'string', nullable: true }, b: { type: 'string' } },
    },
    { type: 'object', required: ['b'], properties: { a: {}, b: { type: 'string' } } },
  ],
  [
    'an object with further fields',
    { type: 'object', ...open, properties: { a: { type: 'string' } } },
    { type: 'object', ...open, properties: { a: { type: 'string' } } },
    open,
  ],
]

function publish(stated: Json, version: 2 | 3): JsonObject {
  const { schema } = parseSchema({ type: 'object', properties: { field: stated } }, '')
  const published = customSchema({ ...configMaps(), isCustom: true, schema }, version)
  const { properties } = toOpenApiSchema(published, new SharedTypes('kubernetes')) as { properties: JsonObject }
  return properties['field'] as JsonObject
}

/** Version 2 leaves more out when it is written: `version-2.ts`. */
const leftToVersion2 = ['anyOf', 'default']

describe('the schema of a custom resource', () => {
  for (const [what, stated, version3, version2] of rows)
    test(`publishes ${what} as Kubernetes does`, () => {
      assert.deepEqual(publish(stated, 3), version3)
      const found = Object.entries(publish(stated, 2)).filter(([keyword]) => !leftToVersion2.includes(keyword))
      assert.deepEqual(Object.fromEntries(found), version2)
    })

  test('gives an embedded object the fields of every object, which version 2 leaves out where any field goes', () => {
    const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true, required: ['spec'] }
    const names = (schema: JsonObject) => Object.keys(schema['properties'] as JsonObject)
    for (const version of [2, 3] as const) {
      const published = publish({ ...embedded, properties: { spec: { type: 'string' } } }, version)
      assert.deepEqual(names(published), ['spec', 'apiVersion', 'kind', 'metadata'])
      assert.deepEqual(published['required'], ['spec', 'kind', 'apiVersion'])
    }
    assert.deepEqual(names(publish({ ...embedded, ...open }, 3)), ['apiVersion', 'kind', 'metadata'])
    const { required: _, ...rest } = publish({ ...embedded, ...open }, 2)
    assert.deepEqual(rest, { 'x-kubernetes-embedded-resource': true, ...open })
  })
})
