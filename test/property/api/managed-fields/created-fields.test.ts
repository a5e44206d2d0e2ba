import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ApiDocument } from '../../../../src/api/document.ts'
import { compareFields } from '../../../../src/api/managed-fields/compare.ts'
import { createdFields } from '../../../../src/api/managed-fields/created-fields.ts'
import { encodeFields } from '../../../../src/api/managed-fields/fields-v1.ts'
import { ownableFields, type WrittenPart } from '../../../../src/api/managed-fields/ownable.ts'
import { builtInSchema } from '../../../../src/api/schema/built-in-schema.ts'
import type { Schema } from '../../../../src/api/schema/schema.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'
import { widgetSchema, widgets } from '../../../helpers/field-schemas.ts'
import { fullObjects } from '../../../helpers/kinds/full-objects.ts'

const parts: readonly WrittenPart[] = ['all', 'all-but-status', 'metadata-and-status', 'status']

/** Asserts that the fields are, in the same order, those of the difference to an object without fields. */
function assertAsCompared(schema: Schema, document: JsonObject): void {
  for (const part of parts) {
    const compared = encodeFields(ownableFields(compareFields(schema, {}, document).changed, part))
    const created = createdFields(schema, document as ApiDocument, part)
    assert.equal(JSON.stringify(created), JSON.stringify(compared), part)
  }
}

describe('the fields of a new object', () => {
  test('are those of a comparison with an object without fields', () => {
    fc.assert(fc.property(widgets, (widget) => assertAsCompared(widgetSchema, widget)))
  })

  test('are those of a comparison for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (first, second, metadata) => {
        const [left, right] = [first as Json, second as Json]
        const spec = { ports: left, tags: right, options: left, free: right }
        assertAsCompared(widgetSchema, { kind: 'Widget', metadata: metadata as Json, spec, status: left })
        assertAsCompared(widgetSchema, { spec: { ports: [left, left, right], tags: [right, right, left] } })
      }),
    )
  })

  for (const { kind, path, body, status } of fullObjects.filter(({ isAction }) => isAction !== true))
    test(`are those of a comparison for a full ${kind} at ${path}`, () => {
      const [root, ...segments] = path.split('/').slice(1)
      const [group = '', version = ''] = root === 'api' ? ['', segments[0]] : segments
      const metadata = { ...(body['metadata'] as JsonObject), uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
      // What follows an underscore tells objects of one kind apart.
      assertAsCompared(builtInSchema(group, version, kind.replace(/_.*$/, '')), {
        ...body,
        metadata,
        ...(status && { status }),
      })
    })
})
