import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { parseWireObject, wireObjectSchema } from '../../../src/client/wire-object.ts'

const texts = fc.constantFrom('web', '', '0', '17', '017', '-1', '1.5', '99999999999999999999')
const maybe = fc.oneof({ weight: 4, arbitrary: texts }, fc.constantFrom(undefined, null, 5, {}))
const metadata = fc.record(
  { name: maybe, namespace: maybe, uid: maybe, resourceVersion: maybe, labels: fc.anything() },
  { requiredKeys: [] },
)
const objects = fc.oneof(fc.anything(), fc.record({ metadata: fc.oneof(metadata, fc.anything()) }))

it('an object is sound when the schema takes it, and stays as it is', () => {
  let sound = 0
  fc.assert(
    fc.property(objects, (json) => {
      const parsed = parseWireObject(json)
      assert.equal(parsed.kind, wireObjectSchema.safeParse(json).success ? 'sound' : 'unsound')
      if (parsed.kind === 'unsound') return
      sound += 1
      assert.equal(parsed.object, json)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(sound > 20)
})
