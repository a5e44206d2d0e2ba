import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import { checkStructural } from '../../../../src/api/schema/structural.ts'
import type { Json } from '../../../../src/model/api-object.ts'

function problems(raw: Json): string[] {
  const { schema, errors } = parseSchema(raw, 'S')
  const { structure, rules } = checkStructural(schema, 'S')
  return [...errors, ...structure, ...rules].map(({ field, message }) => `${field}: ${message}`)
}

const setOf = (items: Json): Json => ({ type: 'array', 'x-kubernetes-list-type': 'set', items })
const mapOf = (items: Json, ...keys: string[]): Json => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items,
})
const keyed = (key: Json): Json => ({ type: 'object', required: ['k'], properties: { k: key } })
const embedded = (metadata: Json): Json =>
  field({ type: 'object', 'x-kubernetes-embedded-resource': true, properties: { metadata } })

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
    'additionalProperties true beside named fields, and false alone': {
      type: 'object',
      properties: {
        open: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
        closed: { type: 'object', additionalProperties: false },
      },
    },
    'fields that only allOf, anyOf, oneOf or not below the root name': field({
      type: 'object',
      properties: { a: { type: 'string' } },
      anyOf: [{ properties: { z: { minLength: 1 } } }, { allOf: [{ not: { properties: { y: { enum: ['b'] } } } }] }],
    }),
    'a type beside int-or-string': field({ type: 'string', 'x-kubernetes-int-or-string': true }),
    'a set of atomic maps and a set of lists': {
      type: 'object',
      properties: {
        maps: setOf({ type: 'object', 'x-kubernetes-map-type': 'atomic' }),
        lists: setOf({ type: 'array', items: { type: 'string' } }),
      },
    },
    'a default that is null': field({ type: 'string', default: null }),
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
    field({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } }),
    'S.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
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
    'S.properties[x].default: Invalid value: "string":  in body must be of type integer: "string"',
  ],
  [
    'a default with fields that would be pruned',
    field({ type: 'object', properties: {}, default: { a: 1 } }),
    'S.properties[x].default: Invalid value: {"a":1}: must not have unknown fields',
  ],
  [
    'an unknown type',
    field({ type: 'integers' }),
    'S.properties[x].type: Unsupported value: "integers": supported values: "array", "boolean", "integer", "number", "object", "string"',
    'S.properties[x].type: Required value: must not be empty for specified object fields',
  ],
  [
    'a set of maps that are merged',
    field(setOf({ type: 'object' })),
    'S.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
  ],
  [
    'a set of sets',
    field(setOf(setOf({ type: 'string' }))),
    'S.properties[x].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
  ],
  [
    'a set of values that can be null',
    field(setOf({ type: 'string', nullable: true })),
    'S.properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set',
  ],
  [
    'a key that can be null',
    field(mapOf(keyed({ type: 'string', nullable: true }), 'k')),
    'S.properties[x].items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
  ],
  [
    'a key that is an object',
    field(mapOf(keyed({ type: 'object' }), 'k')),
    'S.properties[x].items.properties[k].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
  ],
  [
    'a key that stands twice',
    field(mapOf(keyed({ type: 'string' }), 'k', 'k')),
    'S.properties[x].x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries',
  ],
  [
    'a key that is no field',
    field(mapOf(keyed({ type: 'string' }), 'z')),
    'S.properties[x].x-kubernetes-list-map-keys: Invalid value: ["z"]: entries must all be names of item properties',
  ],
  [
    'no keys',
    field(mapOf(keyed({ type: 'string' }))),
    'S.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
  ],
  [
    'a map type of a text',
    field({ type: 'string', 'x-kubernetes-map-type': 'atomic' }),
    'S.properties[x].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
  ],
  [
    'additional properties at the root',
    { type: 'object', additionalProperties: { type: 'string' } },
    'S.additionalProperties: Forbidden: must not be used at the root',
  ],
  [
    'a default in the metadata of the root',
    {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'x' } } } },
    },
    'S.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata',
  ],
  [
    'a kind that is a number',
    { type: 'object', properties: { kind: { type: 'integer' } } },
    'S.properties[kind].type: Invalid value: "integer": must be string',
  ],
  [
    'an embedded resource inside metadata',
    embedded({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
    'S.properties[x].properties[metadata].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta',
  ],
  [
    'a list type inside anyOf',
    {
      ...(field({ type: 'array', items: { type: 'string' } }) as object),
      anyOf: [{ 'x-kubernetes-list-type': 'set' }],
    },
    'S.anyOf[0].x-kubernetes-list-type: Forbidden: must be undefined to be structural',
    'S.anyOf[0].type: Required value: must be array if x-kubernetes-list-type is specified',
  ],
  [
    'rules inside allOf and not',
    {
      ...(field({ type: 'string' }) as object),
      allOf: [{ 'x-kubernetes-validations': [{ rule: 'true' }] }],
      not: { properties: { x: { 'x-kubernetes-validations': [{ rule: 'true' }] } } },
    },
    'S.allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural',
    'S.not.properties[x].x-kubernetes-validations: Forbidden: must be empty to be structural',
  ],
  [
    'int-or-string that keeps unknown fields',
    field({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true }),
    'S.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
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

test('what has no effect brings a warning: unknown formats, unknown keywords', () => {
  const { warnings } = parseSchema(
    {
      type: 'object',
      properties: { a: { type: 'string', format: 'colour', titel: '' } },
    },
    'S',
  )
  assert.deepEqual(warnings, [
    'S.properties[a].format: unrecognized format "colour"',
    'unknown field "S.properties[a].titel"',
  ])
})
