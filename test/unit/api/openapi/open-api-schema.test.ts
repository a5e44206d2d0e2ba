import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SharedTypes, toOpenApiSchema } from '../../../../src/api/openapi/open-api-schema.ts'
import { builtInSchema } from '../../../../src/api/schema/built-in-schema.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'

describe('a schema as OpenAPI', () => {
  const rows: readonly [string, Schema, JsonObject][] = [
    [
      'what is false or empty is left out',
      { type: 'string', nullable: false, format: '', enum: [] },
      { type: 'string' },
    ],
    [
      'what is true or not empty stays',
      { type: 'string', nullable: true, format: 'date' },
      { type: 'string', nullable: true, format: 'date' },
    ],
    [
      'zeros say something',
      { type: 'integer', minimum: 0, maxLength: 0 },
      { type: 'integer', minimum: 0, maxLength: 0 },
    ],
    ['empty defaults say something', { type: 'boolean', default: false }, { type: 'boolean', default: false }],
    [
      'a property of any value is not the same as none',
      { type: 'object', properties: { not: {} }, required: [] },
      { type: 'object', properties: { not: {} } },
    ],
    [
      'an integer or a string has both spellings of that',
      { intOrString: true },
      { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
    ],
    [
      'unknown fields are kept in both vocabularies',
      { type: 'object', preserveUnknownFields: true },
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, 'x-platform-preserve-unknown-fields': true },
    ],
    [
      'lists tell how they merge',
      {
        type: 'array',
        items: { type: 'object' },
        listType: 'map',
        listMapKeys: ['name'],
        patchStrategy: ['merge', 'retainKeys'],
      },
      {
        type: 'array',
        items: { type: 'object' },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        'x-kubernetes-patch-strategy': 'merge,retainKeys',
      },
    ],
  ]
  for (const [title, schema, expected] of rows) {
    test(title, () => assert.deepEqual(toOpenApiSchema(schema, new SharedTypes('platform')), expected))
  }

  test('types that several kinds share stand once and are referred to; a default stands beside the reference', () => {
    const shared = new SharedTypes('platform')
    const { typeName: _, ...pod } = builtInSchema('', 'v1', 'Pod')
    const { properties } = toOpenApiSchema(pod, shared) as { properties: Record<string, unknown> }
    assert.deepEqual(properties['spec'], {
      description: 'What is wanted of a Pod.',
      allOf: [{ $ref: '#/components/schemas/core.v1.PodSpec' }],
    })
    assert.deepEqual(properties['metadata'], {
      description: 'The metadata that every stored object has.',
      default: {},
      allOf: [{ $ref: '#/components/schemas/meta.v1.ObjectMeta' }],
    })
    const text = JSON.stringify(shared.all())
    for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/([^"]+)/g)) {
      assert.ok(Object.hasOwn(shared.all(), name), name)
    }
  })
})
