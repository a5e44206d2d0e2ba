import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import { checkStructural } from '../../../../src/api/schema/structural.ts'
import type { Json } from '../../../../src/model/api-object.ts'

function problems(raw: Json): string[] {
  const { schema, errors } = parseSchema(raw, 'S')
  return [...errors, ...checkStructural(schema, 'S')].map(({ field, message }) => `${field}: ${message}`)
}

const field = (schema: Json): Json => ({ type: 'object', properties: { x: schema } })

describe('a schema is accepted', () => {
  const schemas: Readonly<Record<string, Json>> = {
    'int-or-string with its alternatives': field({
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
    }),
    'unknown fields kept, in either spelling': field({
      type: 'object',
      properties: {
        a: { 'x-platform-preserve-unknown-fields': true },
        b: { 'x-kubernetes-preserve-unknown-fields': true },
      },
    }),
    'value rules for declared fields': {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { properties: { b: { minLength: 1 } } }],
    },
    'a list by key': field({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    }),
    'the false and empty values of generators': field({
      type: 'string',
      nullable: false,
      format: '',
      uniqueItems: false,
    }),
  }
  for (const [title, schema] of Object.entries(schemas)) test(title, () => assert.deepEqual(problems(schema), []))
})

const refused: readonly [title: string, schema: Json, ...problems: string[]][] = [
  ['no type at the root', {}, 'S.type: Required value: must not be empty at the root'],
  ['another type at the root', { type: 'string' }, 'S.type: Invalid value: "string": must be object at the root'],
  [
    'a field without a type',
    field({ minimum: 1 }),
    'S.properties[x].type: Required value: must not be empty for specified object fields',
  ],
  ['an array without items', field({ type: 'array' }), 'S.properties[x].items: Required value: must be specified'],
  [
    'named and other fields at once',
    field({ type: 'object', properties: {}, additionalProperties: { type: 'string' } }),
    'S.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ],
  [
    'additionalProperties: false',
    field({ type: 'object', additionalProperties: false }),
    'S.properties[x].additionalProperties: Forbidden: additionalProperties cannot be set to false',
  ],
  [
    'unique items',
    field({ type: 'array', items: { type: 'string' }, uniqueItems: true }),
    'S.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
  ],
  ['a reference', field({ type: 'object', $ref: '#/x' }), 'S.properties[x].$ref: Forbidden: $ref is not supported'],
  [
    'a type inside allOf',
    { type: 'object', properties: { a: { type: 'string' } }, allOf: [{ properties: { a: { type: 'string' } } }] },
    'S.allOf[0].properties[a].type: Forbidden: must be empty to be structural',
  ],
  [
    'a field that is only named inside anyOf',
    { type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] },
    'S.properties[a]: Required value: because it is defined in S.anyOf[0].properties[a]',
  ],
  [
    'rules for metadata',
    { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
    'S.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ],
  [
    'a look-ahead',
    field({ type: 'string', pattern: '(?=a)' }),
    'S.properties[x].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  ],
  [
    'a default of another type',
    field({ type: 'integer', default: 'a' }),
    'S.properties[x].default: Invalid value: "string": S.properties[x].default in body must be of type integer: "string"',
  ],
  [
    'a default with fields that would be pruned',
    field({ type: 'object', properties: {}, default: { a: 1 } }),
    'S.properties[x].default: Invalid value: {"a":1}: must not have fields that the schema does not specify',
  ],
  [
    'a type nobody knows',
    field({ type: 'integers' }),
    'S.properties[x].type: Unsupported value: "integers": supported values: "object", "array", "string", "integer", "number", "boolean"',
    'S.properties[x].type: Required value: must not be empty for specified object fields',
  ],
  [
    'a schema that is a text',
    field('string'),
    'S.properties[x]: Invalid value: "string": must be a schema object',
    'S.properties[x].type: Required value: must not be empty for specified object fields',
  ],
]

describe('a schema is refused', () => {
  for (const [title, schema, ...expected] of refused) test(title, () => assert.deepEqual(problems(schema), expected))
})

test('what has no effect is told: CEL rules, unknown formats, unknown keywords', () => {
  const { warnings } = parseSchema(
    {
      type: 'object',
      'x-kubernetes-validations': [],
      properties: { a: { type: 'string', format: 'colour', titel: '' } },
    },
    'S',
  )
  assert.deepEqual(warnings, [
    'S.x-kubernetes-validations: validation rules (CEL) are kept, and this server does not evaluate them',
    'S.properties[a].format: unrecognized format "colour"',
    'unknown field "S.properties[a].titel"',
  ])
})
