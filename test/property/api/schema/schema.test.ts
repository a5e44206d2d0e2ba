import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parseJson } from '../../../../src/api/exact-json.ts'
import { parseSchema } from '../../../../src/api/schema/parse-schema.ts'
import { dropNulls, fillDefaults, prune } from '../../../../src/api/schema/prune.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import { checkStructural } from '../../../../src/api/schema/structural.ts'
import { Validator } from '../../../../src/api/schema/validate.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'metadata', '0')

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1.5, '', 'text'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.uniqueArray(fc.tuple(key, tie('json')), { maxLength: 4, selector: ([name]) => name }).map(Object.fromEntries),
  ),
}))

const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constant<Schema>({ type: 'string' }),
    fc.record(
      {
        type: fc.constantFrom('object' as const, 'array' as const, 'string' as const, 'number' as const),
        properties: fc
          .uniqueArray(fc.tuple(key, tie('schema')), { maxLength: 3, selector: ([name]) => name })
          .map((entries) => Object.fromEntries(entries)),
        additionalProperties: tie('schema'),
        items: tie('schema'),
        default: json,
        nullable: fc.boolean(),
        preserveUnknownFields: fc.boolean(),
        embeddedResource: fc.boolean(),
        required: fc.array(key, { maxLength: 2 }),
        enum: fc.array(json, { maxLength: 2 }),
        pattern: fc.constantFrom('a', '(', '^$'),
        maxLength: fc.nat(3),
        listType: fc.constantFrom('set' as const, 'map' as const),
        listMapKeys: fc.array(key, { maxLength: 2 }),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
        not: tie('schema'),
      },
      { requiredKeys: [] },
    ),
  ),
}))

const runs = { numRuns: 300 }

test('pruning twice is pruning once', () => {
  const once = (shape: Schema, value: Json) => prune(shape, value).value
  fc.assert(
    fc.property(schema, json, (shape, value) => isDeepStrictEqual(once(shape, once(shape, value)), once(shape, value))),
    runs,
  )
})

test('what is left after pruning has nothing unknown', () => {
  fc.assert(
    fc.property(schema, json, (shape, value) => prune(shape, prune(shape, value).value).unknown.length === 0),
    runs,
  )
})

test('dropping nulls and filling defaults twice is doing it once', () => {
  const settle = (shape: Schema, value: Json) => fillDefaults(shape, dropNulls(shape, value))
  fc.assert(
    fc.property(schema, json, (shape, value) =>
      isDeepStrictEqual(settle(shape, settle(shape, value)), settle(shape, value)),
    ),
    runs,
  )
})

test('validation answers for any JSON against any schema', () => {
  fc.assert(
    fc.property(schema, json, (shape, value) => Array.isArray(new Validator(shape).validate(value, 'x'))),
    runs,
  )
})

test('any JSON can be read as a schema, and is judged', () => {
  fc.assert(
    fc.property(json, (raw) => Array.isArray(checkStructural(parseSchema(raw, 'S').schema, 'S').structure)),
    runs,
  )
})

test('numbers of any length come back as they were written', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)
  fc.assert(
    fc.property(digits, (text) => JSON.stringify(parseJson(`{"n":${text}}`)) === `{"n":${text}}`),
    runs,
  )
})
