import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJson } from '../../../../src/api/exact-json.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import { Validator } from '../../../../src/api/schema/validate.ts'

/** The errors as a client reads them, for a value at `spec.x`. */
function problems(schema: Schema, value: string): string[] {
  const errors = new Validator(schema).validate(parseJson(value), 'spec.x')
  return errors.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)
}

const accepted: readonly [title: string, schema: Schema, value: string][] = [
  ['an integer where a number is wanted', { type: 'number' }, '1'],
  ['a whole number written as a decimal', { type: 'integer' }, '1.0'],
  ['an integer beyond 2^53', { type: 'integer', format: 'int64' }, '9223372036854775807'],
  ['null where it is allowed', { type: 'string', nullable: true }, 'null'],
  ['an unknown format', { type: 'string', format: 'colour' }, '"x"'],
  ['a pattern found anywhere', { type: 'string', pattern: 'b+' }, '"abbc"'],
  ['characters, not code units', { type: 'string', maxLength: 2 }, '"👍👍"'],
  ['text for int-or-string', { intOrString: true }, '"80%"'],
  ['a number for int-or-string', { intOrString: true }, '80'],
  ['one of several', { type: 'integer', oneOf: [{ minimum: 5 }, { maximum: 3 }] }, '7'],
  ['decimals that are multiples', { type: 'number', multipleOf: 0.1 }, '0.3'],
  ['anything without a schema', {}, '{"a":[1,null]}'],
  ['a set of different items', { type: 'array', listType: 'set' }, '[1,"1",{"a":1}]'],
  ['equal items in an atomic list', { type: 'array' }, '[1,1]'],
  ['a date-time with an offset', { type: 'string', format: 'date-time' }, '"2026-02-28T23:59:60+02:00"'],
  ['the field constructor where it is not declared', { type: 'object', properties: {} }, '{"constructor":1}'],
]

describe('a value is accepted', () => {
  for (const [title, schema, value] of accepted) {
    test(title, () => assert.deepEqual(problems(schema, value), []))
  }
})

const notInteger =
  'FieldValueTypeInvalid spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"'

const refused: readonly [title: string, schema: Schema, value: string, ...problems: string[]][] = [
  ['an integer above int64', { type: 'integer', format: 'int64' }, '9223372036854775808', notInteger],
  ['an integer below int64', { type: 'integer' }, '-9223372036854775809', notInteger],

  [
    'another type',
    { type: 'integer' },
    '"a"',
    'FieldValueTypeInvalid spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"',
  ],
  [
    'null where it is not allowed',
    { type: 'string' },
    'null',
    'FieldValueTypeInvalid spec.x: Invalid value: "null": spec.x in body must be of type string: "null"',
  ],
  [
    'a truth for int-or-string',
    { intOrString: true },
    'true',
    'FieldValueTypeInvalid spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
  ],
  [
    'a value that is not in the list',
    { type: 'string', enum: ['s', 'm'] },
    '"x"',
    'FieldValueNotSupported spec.x: Unsupported value: "x": supported values: "s", "m"',
  ],
  [
    'a number above the maximum',
    { type: 'integer', maximum: 10 },
    '11',
    'FieldValueInvalid spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10',
  ],
  [
    'a number at the exclusive maximum',
    { type: 'integer', maximum: 10, exclusiveMaximum: true },
    '10',
    'FieldValueInvalid spec.x: Invalid value: 10: spec.x in body should be less than 10',
  ],
  [
    'a number at the exclusive minimum, a bound of its own',
    { type: 'number', exclusiveMinimum: 0 },
    '0',
    'FieldValueInvalid spec.x: Invalid value: 0: spec.x in body should be greater than 0',
  ],
  [
    'a number that is no multiple',
    { type: 'integer', multipleOf: 5 },
    '7',
    'FieldValueInvalid spec.x: Invalid value: 7: spec.x in body should be a multiple of 5',
  ],
  [
    'an int32 out of range',
    { type: 'integer', format: 'int32' },
    '3000000000',
    'FieldValueTypeInvalid spec.x: Invalid value: 3000000000: spec.x in body must be of type int32: 3000000000',
  ],
  [
    'a text that does not match',
    { type: 'string', pattern: '^a$' },
    '"b"',
    `FieldValueInvalid spec.x: Invalid value: "b": spec.x in body should match '^a$'`,
  ],
  [
    'a text that is too short',
    { type: 'string', minLength: 3 },
    '"👍👍"',
    'FieldValueInvalid spec.x: Invalid value: "👍👍": spec.x in body should be at least 3 chars long',
  ],
  [
    'a text that is too long',
    { type: 'string', maxLength: 2 },
    '"abc"',
    'FieldValueTooLong spec.x: Too long: may not be more than 2 bytes',
  ],
  [
    'a day that does not exist',
    { type: 'string', format: 'date' },
    '"2026-02-30"',
    'FieldValueTypeInvalid spec.x: Invalid value: "2026-02-30": spec.x in body must be of type date: "2026-02-30"',
  ],
  [
    'too many items',
    { type: 'array', maxItems: 1 },
    '[1,2]',
    'FieldValueTooMany spec.x: Too many: 2: must have at most 1 items',
  ],
  [
    'too few items',
    { type: 'array', minItems: 1 },
    '[]',
    'FieldValueInvalid spec.x: Invalid value: 0: spec.x in body should have at least 1 items',
  ],
  [
    'an item of another type',
    { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
    '[{"a":"x"},{"a":1}]',
    'FieldValueTypeInvalid spec.x[1].a: Invalid value: "integer": spec.x[1].a in body must be of type string: "integer"',
  ],
  ['a missing field', { type: 'object', required: ['a'] }, '{}', 'FieldValueRequired spec.x.a: Required value'],
  [
    'a field that only the prototype has',
    { type: 'object', required: ['toString'] },
    '{}',
    'FieldValueRequired spec.x.toString: Required value',
  ],
  [
    'an item twice in a set',
    { type: 'array', listType: 'set' },
    '[{"a":1,"b":2},{"b":2,"a":1}]',
    'FieldValueDuplicate spec.x[1]: Duplicate value: {"b":2,"a":1}',
  ],
  [
    'a key twice in a list that is a map',
    { type: 'array', listType: 'map', listMapKeys: ['name'] },
    '[{"name":"a","v":1},{"name":"a","v":2}]',
    'FieldValueDuplicate spec.x[1]: Duplicate value: {"name":"a"}',
  ],
  [
    'none of several',
    { type: 'integer', oneOf: [{ minimum: 5 }, { minimum: 6 }] },
    '1',
    'FieldValueInvalid spec.x: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid',
    'FieldValueInvalid spec.x: Invalid value: 1: spec.x in body should be greater than or equal to 5',
  ],
  [
    'two of several',
    { type: 'integer', oneOf: [{ minimum: 5 }, { minimum: 6 }] },
    '7',
    'FieldValueInvalid spec.x: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  ],
  [
    'what is excluded',
    { type: 'string', not: { enum: ['a'] } },
    '"a"',
    'FieldValueInvalid spec.x: Invalid value: "": "spec.x" must not validate the schema (not)',
  ],
  [
    'an embedded object without its kind',
    { type: 'object', embeddedResource: true, preserveUnknownFields: true },
    '{"apiVersion":"v1"}',
    'FieldValueRequired spec.x.kind: Required value',
  ],
]

describe('a value is refused', () => {
  for (const [title, schema, value, ...expected] of refused) {
    test(title, () => assert.deepEqual(problems(schema, value), expected))
  }
})

test('a pattern made to stall backtracking engines is answered at once', () => {
  const startedMs = performance.now()
  const schema: Schema = { type: 'string', pattern: '^(a+)+$' }
  assert.equal(problems(schema, JSON.stringify(`${'a'.repeat(5_000)}b`)).length, 1)
  assert.ok(performance.now() - startedMs < 2_000)
})

test('a list of 100,000 wrong items gets a hundred errors', () => {
  const value = JSON.stringify(new Array(100_000).fill('x'))
  assert.equal(problems({ type: 'array', items: { type: 'integer' } }, value).length, 100)
})
