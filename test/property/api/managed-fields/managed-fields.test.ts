import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ApiDocument } from '../../../../src/api/document.ts'
import { type ApplyResult, applyConfiguration } from '../../../../src/api/managed-fields/apply.ts'
import { compareFields } from '../../../../src/api/managed-fields/compare.ts'
import { extractFields } from '../../../../src/api/managed-fields/extract.ts'
import {
  differenceOf,
  type FieldSet,
  fieldSet,
  intersectionOf,
  isEmptySet,
  isSameSet,
  unionOf,
} from '../../../../src/api/managed-fields/field-set.ts'
import { decodeFields, encodeFields } from '../../../../src/api/managed-fields/fields-v1.ts'
import { decodeEntries } from '../../../../src/api/managed-fields/managed-entry.ts'
import { trackUpdate } from '../../../../src/api/managed-fields/track-update.ts'
import { inOnePiece } from '../../../../src/loop/time-slice.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'
import { widgetSchema as schema, widgets } from '../../../helpers/field-schemas.ts'

const steps = fc.constantFrom('f:a', 'f:b', 'k:{"x":1}', 'v:"a"', 'i:0')
const { sets } = fc.letrec<{ sets: FieldSet }>((tie) => ({
  sets: fc
    .tuple(
      fc.boolean(),
      fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(fc.tuple(steps, tie('sets')), { maxLength: 3 })),
    )
    .map(([isMember, children]) => fieldSet(isMember, children as [string, FieldSet][])),
}))

function assertSame(left: FieldSet, right: FieldSet): void {
  assert.ok(
    isSameSet(left, right),
    `${JSON.stringify(encodeFields(left))} is not ${JSON.stringify(encodeFields(right))}`,
  )
}

function apply(live: ApiDocument | undefined, applied: JsonObject, manager: string, isForced = false): ApplyResult {
  const writer = { manager, operation: 'Apply', apiVersion: 'v1', subresource: '' } as const
  return inOnePiece(
    applyConfiguration({ schema, live, applied, writer, part: 'all', time: '2026-01-01T00:00:00Z', isForced }),
  )
}

function applied(result: ApplyResult): ApiDocument {
  assert.equal(result.kind, 'merged')
  return (result as ApplyResult & { kind: 'merged' }).document as ApiDocument
}

function fieldsOf(document: ApiDocument, manager: string): FieldSet {
  const entry = decodeEntries(document.metadata['managedFields'])?.find((other) => other.manager === manager)
  return entry?.fields ?? fieldSet(false, [])
}

describe('sets of field paths', () => {
  test('union, intersection and difference keep the laws of sets', () => {
    fc.assert(
      fc.property(sets, sets, sets, (a, b, c) => {
        assertSame(unionOf(a, b), unionOf(b, a))
        assertSame(unionOf(a, unionOf(b, c)), unionOf(unionOf(a, b), c))
        assertSame(intersectionOf(a, b), intersectionOf(b, a))
        assertSame(unionOf(a, a), a)
        assertSame(intersectionOf(a, unionOf(a, b)), a)
        assertSame(differenceOf(a, unionOf(b, c)), differenceOf(differenceOf(a, b), c))
        assertSame(unionOf(differenceOf(a, b), intersectionOf(a, b)), a)
        assert.ok(isEmptySet(intersectionOf(differenceOf(a, b), b)))
      }),
    )
  })

  test('FieldsV1 reads back as it was written', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const below = fieldSet(false, set.children)
        const read = decodeFields(JSON.parse(JSON.stringify(encodeFields(below))) as Json)
        assert.ok(read)
        assertSame(read, below)
      }),
    )
  })
})

describe('comparing', () => {
  test('a state equals itself, and what is added one way is removed the other', () => {
    fc.assert(
      fc.property(widgets, widgets, (left, right) => {
        const same = compareFields(schema, left, structuredClone(left))
        assert.ok(isEmptySet(same.changed) && isEmptySet(same.removed))
        const there = compareFields(schema, left, right)
        const back = compareFields(schema, right, left)
        assert.ok(isEmptySet(differenceOf(there.removed, back.changed)))
      }),
    )
  })

  test('no JSON at all makes it, or the extraction, throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        compareFields(schema, left as Json, right as Json)
        compareFields(schema, { spec: { ports: left as Json, tags: right as Json } }, { spec: right as Json })
        extractFields(schema, { spec: { ports: left as Json, options: right as Json } })
        decodeEntries(left as Json)
      }),
    )
  })
})

describe('server-side apply', () => {
  test('what was applied is there and owned, and applying it again changes nothing', () => {
    fc.assert(
      fc.property(widgets, (config) => {
        const created = applied(apply(undefined, config, 'one'))
        assert.ok(isEmptySet(compareFields(schema, { ...config, metadata: created.metadata }, created).changed))
        assert.deepEqual(applied(apply(created, config, 'one')), created)
      }),
    )
  })

  test('a later configuration of the only applier is what remains', () => {
    fc.assert(
      fc.property(widgets, widgets, (first, second) => {
        const created = applied(apply(undefined, first, 'one'))
        const changed = applied(apply(created, second, 'one'))
        assertSame(fieldsOf(changed, 'one'), fieldsOf(applied(apply(undefined, second, 'one')), 'one'))
        const gone = differenceOf(extractFields(schema, changed), extractFields(schema, second))
        const own = intersectionOf(gone, extractFields(schema, first))
        const kept = differenceOf(own, extractFields(schema, { metadata: changed.metadata }))
        assert.ok(isEmptySet(kept), JSON.stringify(encodeFields(kept)))
      }),
    )
  })

  test('appliers of other fields never conflict, and neither loses anything', () => {
    const one = fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 1, max: 9 }))
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), (items) => {
        const config = (prefix: string, offset: number): JsonObject => ({
          spec: {
            options: Object.fromEntries(items.map(([key, value]) => [`${prefix}${key}`, String(value)])),
            tags: [...new Set(items.map(([key]) => `${prefix}${key}`))],
            ports: [...new Set(items.map(([, value]) => value + offset))].map((port) => ({ port, name: prefix })),
          },
        })
        const base = applied(
          apply(undefined, { apiVersion: 'v1', kind: 'Widget', metadata: {}, ...config('x', 0) }, 'one'),
        )
        const both = applied(apply(base, config('y', 100), 'two'))
        assertSame(fieldsOf(both, 'one'), fieldsOf(base, 'one'))
        const { changed } = compareFields(schema, both, applied(apply(both, config('x', 0), 'one')))
        assert.ok(
          isEmptySet(
            differenceOf(changed, fieldSet(false, [['f:metadata', changed.children.get('f:metadata') ?? changed]])),
          ),
        )
      }),
    )
  })

  test('no manager owns a field that another one has changed, and a forced apply always succeeds', () => {
    fc.assert(
      fc.property(widgets, widgets, (first, second) => {
        const created = applied(apply(undefined, first, 'one'))
        const forced = applied(apply(created, second, 'two', true))
        const { changed } = compareFields(schema, created, { ...forced, metadata: created.metadata })
        assert.ok(isEmptySet(intersectionOf(fieldsOf(forced, 'one'), changed)))
      }),
    )
  })
})

describe('tracking updates', () => {
  test('every field of a created object has its creator, and later writers take what they change', () => {
    fc.assert(
      fc.property(widgets, widgets, (first, second) => {
        const track = (old: ApiDocument | undefined, next: JsonObject, manager: string): ApiDocument => {
          const document = { ...next, metadata: { name: 'w' } } as unknown as ApiDocument
          const writer = { manager, operation: 'Update', apiVersion: 'v1', subresource: '' } as const
          const update = {
            schema,
            old,
            next: document,
            writer,
            part: 'all',
            time: 'now',
            requested: undefined,
          } as const
          return { ...document, metadata: { name: 'w', managedFields: inOnePiece(trackUpdate(update)) ?? [] } }
        }
        const created = track(undefined, first, 'one')
        fc.pre(!isEmptySet(fieldsOf(created, 'one')))
        const changed = track(created, second, 'two')
        const { changed: taken, removed } = compareFields(schema, first, second)
        assertSame(fieldsOf(changed, 'two'), taken)
        assertSame(fieldsOf(changed, 'one'), differenceOf(differenceOf(fieldsOf(created, 'one'), taken), removed))
      }),
    )
  })
})
