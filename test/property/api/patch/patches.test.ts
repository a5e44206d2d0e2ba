import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyJsonPatch } from '../../../../src/api/patch/json-patch.ts'
import { PatchError } from '../../../../src/api/patch/json-pointer.ts'
import { applyMergePatch } from '../../../../src/api/patch/merge-patch.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'

const key = fc.constantFrom('a', 'b', 'c/d', 'e~f', '', '__proto__', 'constructor', '0')
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<Json>(null, true, 0, 1, 'x', ''),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 3 }).map((entries): Json => Object.fromEntries(entries)),
  ),
}))
const pointer = fc
  .array(fc.oneof(key, fc.constantFrom('-', '1', '2')), { maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''))
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value: json }),
  fc.record({ op: fc.constant('remove'), path: pointer }),
  fc.record({ op: fc.constantFrom('copy', 'move'), from: pointer, path: pointer }),
)

const text = (value: unknown) => JSON.stringify(value)

test('a JSON patch changes neither the document nor any prototype, and fails only with a PatchError', () => {
  fc.assert(
    fc.property(json, fc.array(operation, { maxLength: 6 }), (document, patch) => {
      const [before, patchBefore] = [text(document), text(patch)]
      try {
        applyJsonPatch(document, patch as Json)
      } catch (thrown) {
        assert.ok(thrown instanceof PatchError, String(thrown))
      }
      assert.deepEqual([text(document), text(patch)], [before, patchBefore])
      assert.deepEqual(Object.keys(Object.prototype), [])
    }),
    { numRuns: 500 },
  )
})

test('what was added can be tested, and removing it gives the document back', () => {
  fc.assert(
    fc.property(json, json, (inner, value) => {
      const document = { list: [1, 2, 3], map: { inner } }
      for (const path of ['/list/1', '/map/new', '/map/__proto__']) {
        const added = applyJsonPatch(document, [{ op: 'add', path, value }])
        assert.equal(text(applyJsonPatch(added, [{ op: 'test', path, value }])), text(added))
        assert.equal(text(applyJsonPatch(added, [{ op: 'remove', path }])), text(document))
      }
    }),
  )
})

test('a move is a copy and a remove', () => {
  fc.assert(
    fc.property(json, (value) => {
      const document = { from: value, other: 1 }
      const moved = applyJsonPatch(document, [{ op: 'move', from: '/from', path: '/to' }])
      const copied = applyJsonPatch(document, [
        { op: 'copy', from: '/from', path: '/to' },
        { op: 'remove', path: '/from' },
      ])
      assert.equal(text(moved), text(copied))
    }),
  )
})

/** RFC 7386, appendix A. */
const mergeTable: readonly (readonly [target: Json, patch: Json, result: Json])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

test('a merge patch does what the table of the RFC says', () => {
  for (const [target, patch, result] of mergeTable) {
    assert.deepEqual(applyMergePatch(target, patch), result, text(patch))
  }
})

test('a merge patch applied twice is applied once, and leaves no null that it brought', () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const once = applyMergePatch(target, patch)
      assert.equal(text(applyMergePatch(once, patch)), text(once))
      assert.deepEqual(Object.keys(Object.prototype), [])
    }),
  )
})

test('the members that an object patch does not name stay', () => {
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), json)
  fc.assert(
    fc.property(object, object, (target, patch) => {
      const merged = applyMergePatch(target as JsonObject, patch as JsonObject) as JsonObject
      for (const name of Object.keys(target)) {
        if (!Object.hasOwn(patch, name)) assert.deepEqual(merged[name], target[name])
      }
    }),
  )
})
