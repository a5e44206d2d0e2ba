import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInSchema } from '../../../../src/api/schema/built-in-schema.ts'
import { describeMessage } from '../../../../src/api/schema/describe.ts'
import descriptions from '../../../../src/api/schema/descriptions.json' with { type: 'json' }
import { kindTables } from '../../../../src/api/schema/kind-tables.ts'

test('every built-in kind says what it is', () => {
  const notKinds = ['meta.v1.DeleteOptions', 'meta.v1.ObjectMeta', 'meta.v1.Status']
  const silent = Object.values(kindTables.kinds).filter((name) => !notKinds.includes(name) && !describeMessage(name))
  assert.deepEqual(silent, [])
})

test('what is described is there', () => {
  const { '': common, ...messages } = descriptions
  const fieldsOf = (name: string) => kindTables.messages[name]?.fields.map((field) => field.name)
  for (const [name, texts] of Object.entries(messages)) {
    const known = fieldsOf(name)
    assert.ok(known, name)
    for (const field of Object.keys(texts)) assert.ok(field === '' || known.includes(field), `${name}.${field}`)
  }
  const everywhere = new Set([
    ...Object.keys(kindTables.messages).flatMap((name) => fieldsOf(name) ?? []),
    'apiVersion',
  ])
  assert.deepEqual(
    Object.keys(common).filter((field) => !everywhere.has(field)),
    [],
  )
})

test('a field is described where it stands, by its own words or those of its name', () => {
  const { properties = {} } = builtInSchema('', 'v1', 'Service')
  assert.match(String(properties['spec']?.properties?.['selector']?.description), /^Labels of the pods/)
  assert.equal(properties['status']?.description, 'What was found; controllers write it, users read it.')
  assert.match(String(properties['kind']?.description), /^The kind/)
})
