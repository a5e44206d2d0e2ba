import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { isJsonObject } from '../../../../src/api/document.ts'
import { PatchError } from '../../../../src/api/patch/json-pointer.ts'
import { applyStrategicPatch } from '../../../../src/api/patch/strategic-patch.ts'
import { listOf, mapOf, object, type Schema, text } from '../../../../src/api/schema/schema.ts'
import type { Json, JsonObject } from '../../../../src/model/api-object.ts'

const tags: Schema = { ...listOf(text), patchStrategy: ['merge'] }
const item: Schema = object({ name: text, value: text, tags })
const schema: Schema = object({
  labels: mapOf(text),
  items: { ...listOf(item), patchMergeKey: 'name', patchStrategy: ['merge'] },
  tags,
  args: listOf(text),
})

const word = fc.constantFrom('a', 'b', 'c', 'd')
const wordSet = fc.uniqueArray(word)
const partial = (shape: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(shape, { requiredKeys: ['name'].filter((key) => key in shape), noNullPrototype: true })
const items = fc.uniqueArray(partial({ name: word, value: word, tags: wordSet }), { selector: ({ name }) => name })
const documents = partial({
  labels: fc.dictionary(word, word, { noNullPrototype: true }),
  items,
  tags: wordSet,
  args: fc.array(word),
}) as fc.Arbitrary<JsonObject>

/** What kubectl would send to get from one document to the other. */
function diffMaps(of: Schema | undefined, from: JsonObject, to: JsonObject): JsonObject {
  const patch: [string, Json][] = []
  for (const key of Object.keys({ ...from, ...to })) {
    const [before, after] = [from[key], to[key]]
    if (isDeepStrictEqual(before, after)) continue
    const below = of?.properties?.[key]
    if (after === undefined) patch.push([key, null])
    else if (isJsonObject(before) && isJsonObject(after)) patch.push([key, diffMaps(below, before, after)])
    else if (below?.patchStrategy?.includes('merge') && Array.isArray(before))
      patch.push(...diffLists(below, key, before, after as Json[]))
    else patch.push([key, after])
  }
  return Object.fromEntries(patch)
}

function diffLists(of: Schema, key: string, from: readonly Json[], to: readonly Json[]): [string, Json][] {
  const name = of.patchMergeKey
  if (name === undefined) {
    return [
      [`$deleteFromPrimitiveList/${key}`, from.filter((value) => !to.includes(value))],
      [key, to.filter((value) => !from.includes(value))],
      [`$setElementOrder/${key}`, to],
    ]
  }
  const find = (list: readonly Json[], other: JsonObject) =>
    (list as readonly JsonObject[]).find((candidate) => candidate[name] === other[name])
  const changed = (to as readonly JsonObject[]).map((after) => ({
    ...diffMaps(of.items, find(from, after) ?? {}, after),
    [name]: after[name],
  }))
  const removed = (from as readonly JsonObject[])
    .filter((before) => find(to, before) === undefined)
    .map((before) => ({ [name]: before[name], $patch: 'delete' }))
  return [
    [key, [...changed, ...removed] as Json],
    [`$setElementOrder/${key}`, (to as readonly JsonObject[]).map((after) => ({ [name]: after[name] })) as Json],
  ]
}

describe('strategic merge patch', () => {
  test('the patch of a difference gives the target', () => {
    fc.assert(
      fc.property(documents, documents, (from, to) => {
        assert.deepEqual(applyStrategicPatch(schema, from, diffMaps(schema, from, to)), to)
      }),
    )
  })

  test('an empty patch changes nothing', () => {
    fc.assert(
      fc.property(documents, (document) => assert.deepEqual(applyStrategicPatch(schema, document, {}), document)),
    )
  })

  test('any JSON gives a document or a PatchError', () => {
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(
        fc.constantFrom('items', 'tags', 'labels', '$patch', '$retainKeys', '$setElementOrder/items', '__proto__'),
        fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(fc.constantFrom('name', '$patch', 'tags'), fc.jsonValue()))),
      ),
    )
    fc.assert(
      fc.property(documents, hostile, (document, patch) => {
        try {
          assert.ok(isJsonObject(applyStrategicPatch(schema, document, patch as Json)))
        } catch (thrown) {
          assert.ok(thrown instanceof PatchError, String(thrown))
        }
      }),
    )
  })
})
