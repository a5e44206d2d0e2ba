import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withoutManagedFields } from '../../../../src/api/resources/without-managed-fields.ts'

const managedFields = [{ manager: 'a "]}\\', fieldsV1: { 'k:{"port":80}': { '.': {} } } }, { manager: 'b' }]

/** The text with what `expected` of it should be. */
function check(object: { metadata: object; [field: string]: unknown }, expected: object): void {
  assert.deepEqual(JSON.parse(withoutManagedFields(JSON.stringify(object))), expected)
}

describe('an object without its managed fields', () => {
  it('keeps everything else, wherever they stand in its metadata', () => {
    const labels = { 'app"]}': 'x\\' }
    const spec = { text: 'grüße }]"' }
    const expected = { kind: 'A', metadata: { resourceVersion: '7', labels }, spec }
    check({ kind: 'A', metadata: { resourceVersion: '7', labels, managedFields }, spec }, expected)
    check({ kind: 'A', metadata: { resourceVersion: '7', managedFields, labels }, spec }, expected)
    check({ kind: 'A', metadata: { resourceVersion: '7', labels }, spec }, expected)
  })

  it('keeps those of a template, and texts that look like them', () => {
    const template = { metadata: { name: 'x', managedFields } }
    const annotations = { note: ',"managedFields":[1]', managedFields: 'no list' }
    const owners = [{ name: 'o', managedFields: [1] }]
    const kept = { resourceVersion: '7', annotations, ownerReferences: owners }
    check({ metadata: { ...kept, managedFields }, spec: { template } }, { metadata: kept, spec: { template } })
    check({ metadata: kept, spec: { template } }, { metadata: kept, spec: { template } })
  })

  it('of a text in another form is that text', () => {
    for (const text of ['', '{}', '{"metadata":{"managedFields":[1]}}', '{"metadata":{"a":"'])
      assert.equal(withoutManagedFields(text), text)
  })
})
