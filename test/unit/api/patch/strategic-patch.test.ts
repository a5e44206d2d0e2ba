import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PatchError } from '../../../../src/api/patch/json-pointer.ts'
import { applyStrategicPatch } from '../../../../src/api/patch/strategic-patch.ts'
import { listOf, mapOf, object, type Schema, text } from '../../../../src/api/schema/schema.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const schema: Schema = object({
  labels: mapOf(text),
  rigid: { ...mapOf(text), patchStrategy: ['replace'] },
  items: {
    ...listOf(object({ name: text, value: text, tags: { ...listOf(text), patchStrategy: ['merge'] } })),
    patchMergeKey: 'name',
    patchStrategy: ['merge'],
  },
  tags: { ...listOf(text), patchStrategy: ['merge'] },
  args: listOf(text),
  volume: { ...object({ one: text, two: text }), patchStrategy: ['retainKeys'] },
})

const document = {
  labels: { a: '1', b: '2' },
  rigid: { a: '1' },
  items: [
    { name: 'x', value: '1', tags: ['p'] },
    { name: 'y', value: '2' },
    { name: 'z', value: '3' },
  ],
  tags: ['a', 'b', 'c'],
  args: ['one', 'two'],
  volume: { one: '1' },
}

describe('strategic merge patch', () => {
  const table: readonly (readonly [title: string, patch: Json, expected: object])[] = [
    ['a map merges, null removes', { labels: { a: null, c: '3' } }, { labels: { b: '2', c: '3' } }],
    ['a map that says replace is replaced', { rigid: { b: '2' } }, { rigid: { b: '2' } }],
    ['$patch replace replaces a map', { labels: { $patch: 'replace', z: '9' } }, { labels: { z: '9' } }],
    ['$patch delete empties a map', { labels: { $patch: 'delete' } }, { labels: {} }],
    ['$patch merge says what is done anyway', { labels: { $patch: 'merge', a: '9' } }, { labels: { a: '9', b: '2' } }],
    ['a list without strategy is replaced', { args: ['three'] }, { args: ['three'] }],
    ['null removes a list', { args: null }, { args: undefined }],
    [
      'an item merges by its key',
      { items: [{ name: 'y', value: '9' }] },
      { items: [document.items[0], { name: 'y', value: '9' }, document.items[2]] },
    ],
    // apimachinery's StrategicMergePatch gives the same order for these four.
    ['a new item comes first', { items: [{ name: 'n' }] }, { items: [{ name: 'n' }, ...document.items] }],
    [
      'a new item behind a known one stays behind it',
      { items: [{ name: 'y' }, { name: 'n' }] },
      { items: [document.items[0], document.items[1], { name: 'n' }, document.items[2]] },
    ],
    [
      'items come in the order of the patch',
      { items: [{ name: 'z' }, { name: 'x' }] },
      { items: [document.items[1], document.items[2], document.items[0]] },
    ],
    [
      'new items around a deleted one come first',
      { items: [{ name: 'n' }, { name: 'x', $patch: 'delete' }, { name: 'm' }] },
      { items: [{ name: 'n' }, { name: 'm' }, document.items[1], document.items[2]] },
    ],
    [
      '$patch delete removes an item',
      { items: [{ name: 'y', $patch: 'delete' }] },
      { items: [document.items[0], document.items[2]] },
    ],
    ['deleting an item that is not there is nothing', { items: [{ name: 'n', $patch: 'delete' }] }, {}],
    ['$patch replace replaces a list', { items: [{ name: 'n' }, { $patch: 'replace' }] }, { items: [{ name: 'n' }] }],
    [
      'lists within items merge too',
      { items: [{ name: 'x', tags: ['q'] }] },
      { items: [{ name: 'x', value: '1', tags: ['q', 'p'] }, ...document.items.slice(1)] },
    ],
    [
      'the order of items is set, others stay before those they stood before',
      { '$setElementOrder/items': [{ name: 'z' }, { name: 'x' }] },
      { items: [document.items[0], document.items[1], document.items[2]].toSorted((l, r) => order(l) - order(r)) },
    ],
    ['primitives are a union', { tags: ['b', 'd', 'd'] }, { tags: ['a', 'b', 'd', 'c'] }],
    ['$deleteFromPrimitiveList removes', { '$deleteFromPrimitiveList/tags': ['a', 'x'] }, { tags: ['b', 'c'] }],
    [
      'primitives are ordered',
      { '$setElementOrder/tags': ['d', 'c', 'b', 'a'], tags: ['d'] },
      { tags: ['d', 'c', 'b', 'a'] },
    ],
    ['$retainKeys drops the others', { volume: { $retainKeys: ['two'], two: '2' } }, { volume: { two: '2' } }],
    [
      'what meets nothing stands without directives',
      { fresh: { a: null, b: { $patch: 'replace', c: '1' } } },
      { fresh: { b: { c: '1' } } },
    ],
    ['an unknown directive of the map itself is dropped', { $other: 'x' }, {}],
  ]

  function order(item: { readonly name: string } | undefined): number {
    return ['y', 'z', 'x'].indexOf(item?.name ?? '')
  }

  for (const [title, patch, expected] of table) {
    test(title, () => {
      const result = JSON.parse(JSON.stringify(applyStrategicPatch(schema, document, patch)))
      assert.deepEqual(result, JSON.parse(JSON.stringify({ ...document, ...expected })))
    })
  }

  test('two live items with one key both stay', () => {
    const ports = { items: [{ name: 'dns', value: 'TCP' }, { name: 'dns', value: 'UDP' }, { name: 'x' }] }
    const result = applyStrategicPatch(schema, ports, {
      items: [{ name: 'x', value: '1' }],
      '$setElementOrder/items': [{ name: 'x' }],
    })
    assert.deepEqual(result, {
      items: [
        { name: 'dns', value: 'TCP' },
        { name: 'dns', value: 'UDP' },
        { name: 'x', value: '1' },
      ],
    })
  })

  const refused: readonly (readonly [patch: Json, message: RegExp])[] = [
    [[], /is an object/],
    [{ labels: { $patch: 'burn' } }, /unknown patch type: "burn"/],
    [{ items: [{ value: '1' }] }, /does not contain declared merge key: name/],
    [{ items: ['x'] }, /expected an object in a list that merges by key/],
    [{ items: [{ name: 'a', $patch: 'merge' }] }, /has no meaning for an item of a list/],
    [{ '$deleteFromPrimitiveList/tags': 'a' }, /must be a list/],
    [{ '$setElementOrder/items': ['x'] }, /expected an object/],
    [{ volume: { $retainKeys: ['one'], two: '2' } }, /\$retainKeys does not name "two"/],
  ]
  for (const [patch, message] of refused) {
    test(`${JSON.stringify(patch)} is refused`, () => {
      assert.throws(
        () => applyStrategicPatch(schema, document, patch),
        (thrown) => thrown instanceof PatchError && thrown.code === 'malformed' && message.test(thrown.message),
      )
    })
  }
})
