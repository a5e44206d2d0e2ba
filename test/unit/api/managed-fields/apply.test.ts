import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiDocument } from '../../../../src/api/document.ts'
import { type ApplyResult, applyConfiguration } from '../../../../src/api/managed-fields/apply.ts'
import { renderPath } from '../../../../src/api/managed-fields/fields-v1.ts'
import { trackUpdate } from '../../../../src/api/managed-fields/track-update.ts'
import { listOf, mapOf, object, type Schema, text } from '../../../../src/api/schema/schema.ts'
import { inOnePiece } from '../../../../src/loop/time-slice.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'

const container = object({
  name: text,
  image: text,
  env: { ...listOf(object({ name: text, value: text })), ...byName() },
})
const schema = object({
  apiVersion: text,
  kind: text,
  metadata: object({ name: text, labels: mapOf(text) }),
  spec: object({
    size: { type: 'integer' },
    sealed: { ...mapOf(text), mapType: 'atomic' },
    containers: { ...listOf(container), ...byName() },
  }),
})

function byName() {
  return { listType: 'map', listMapKeys: ['name'] } as const
}

const time = '2026-01-01T00:00:00Z'

function apply(live: ApiDocument | undefined, fields: JsonObject, manager: string, by: Schema = schema): ApplyResult {
  const applied = { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'w' }, ...fields }
  const writer = { manager, operation: 'Apply', apiVersion: 'v1', subresource: '' } as const
  return inOnePiece(applyConfiguration({ schema: by, live, applied, writer, part: 'all', time, isForced: false }))
}

function applied(live: ApiDocument | undefined, fields: JsonObject, manager: string): ApiDocument {
  const result = apply(live, fields, manager)
  assert.equal(result.kind, 'merged', JSON.stringify(result))
  return (result as ApplyResult & { kind: 'merged' }).document as ApiDocument
}

function updated(old: ApiDocument, spec: JsonObject, manager: string): ApiDocument {
  const next = { ...old, spec } as ApiDocument
  const writer = { manager, operation: 'Update', apiVersion: 'v1', subresource: '' } as const
  const managedFields =
    inOnePiece(trackUpdate({ schema, old, next, writer, part: 'all', time, requested: undefined })) ?? []
  return { ...next, metadata: { ...old.metadata, managedFields } }
}

function conflictsOf(result: ApplyResult): readonly string[] {
  return result.kind === 'conflicts' ? result.conflicts.map(({ path }) => renderPath(path)) : []
}

describe('a null in an applied configuration', () => {
  const base = applied(
    undefined,
    { metadata: { name: 'w', labels: { a: '1' } }, spec: { size: 1, sealed: { a: '1' } } },
    'one',
  )

  test('keeps the map that others have filled', () => {
    const next = applied(base, { metadata: { name: 'w', labels: null } }, 'two')
    assert.deepEqual(next.metadata.labels, { a: '1' })
  })

  test('keeps the list by keys that others have filled', () => {
    const live = applied(undefined, { spec: { containers: [{ name: 'a' }] } }, 'one')
    assert.deepEqual(applied(live, { spec: { containers: null } }, 'two')['spec'], { containers: [{ name: 'a' }] })
  })

  test('is a conflict where it would remove what another manager owns', () => {
    assert.deepEqual(conflictsOf(apply(base, { spec: { size: null } }, 'two')), ['.spec.size'])
    assert.deepEqual(conflictsOf(apply(base, { spec: { sealed: null } }, 'two')), ['.spec.sealed'])
  })

  test('removes what its own applier has set', () => {
    assert.equal(applied(base, { metadata: { name: 'w', labels: null } }, 'one').metadata.labels, null)
  })
})

test('labels that their only applier gives up go, and the name beside them stays', () => {
  const live = applied(undefined, { metadata: { name: 'w', labels: { a: '1' } } }, 'one')
  const { name, labels } = applied(live, {}, 'one').metadata
  assert.deepEqual([name, labels], ['w', undefined])
})

describe('a list item that its applier gives up', () => {
  const [a, b] = [
    { name: 'a', image: 'a:1' },
    { name: 'b', image: 'b:1' },
  ]
  const live = applied(undefined, { spec: { containers: [a, b] } }, 'one')

  test('goes whole where another manager has changed a field and no manager owns the item', () => {
    const touched = updated(live, { containers: [a, { ...b, image: 'b:2' }] }, 'editor')
    const next = applied(touched, { spec: { containers: [a] } }, 'one')
    assert.deepEqual(next['spec'], { containers: [a] })
    const managers = (next.metadata['managedFields'] as JsonObject[]).map(({ manager }) => manager)
    assert.deepEqual(managers, ['one'])
  })

  test('stays with its key and the fields of another applier', () => {
    const shared = applied(live, { spec: { containers: [{ name: 'b', env: [{ name: 'X', value: '1' }] }] } }, 'two')
    const next = applied(shared, { spec: { containers: [a] } }, 'one')
    assert.deepEqual(next['spec'], { containers: [a, { name: 'b', env: [{ name: 'X', value: '1' }] }] })
  })

  test('that another manager has added stays', () => {
    const more = updated(live, { containers: [a, b, { name: 'c' }] }, 'editor')
    assert.deepEqual(applied(more, { spec: { containers: [a] } }, 'one')['spec'], { containers: [a, { name: 'c' }] })
  })
})

describe('a list item that stands twice', () => {
  const env = (...values: string[]) => values.map((value) => ({ name: 'X', value }))
  const one = applied(undefined, { spec: { containers: [{ name: 'a', env: env('1') }] } }, 'one')
  const twice = updated(one, { containers: [{ name: 'a', env: env('1', '2') }] }, 'editor')

  test('stays as it is when its former applier gives it up', () => {
    const next = applied(twice, { spec: { containers: [{ name: 'a' }] } }, 'one')
    assert.deepEqual(next['spec'], { containers: [{ name: 'a', env: env('1', '2') }] })
  })

  test('belongs with all its fields to the manager that drops one of the two', () => {
    const single = updated(twice, { containers: [{ name: 'a', env: env('1') }] }, 'cleaner')
    const entries = single.metadata['managedFields'] as JsonObject[]
    const fields = JSON.stringify(entries.find(({ manager }) => manager === 'cleaner'))
    assert.match(fields, /"f:env":\{"k:\{\\"name\\":\\"X\\"\}":\{"\.":\{\},"f:name":\{\},"f:value":\{\}\}\}/)
    assert.deepEqual(conflictsOf(apply(single, { spec: { containers: [{ name: 'a', env: env('3') }] } }, 'one')), [
      '.spec.containers[name="a"].env[name="X"].value',
    ])
  })

  test('becomes the applied item, which conflicts with the manager that made it two', () => {
    const result = apply(twice, { spec: { containers: [{ name: 'a', env: env('1') }] } }, 'one')
    assert.deepEqual(conflictsOf(result), ['.spec.containers[name="a"].env[name="X"]'])
  })
})

test('a list that has become atomic since belongs whole to each manager that owned items of it', () => {
  const live = applied(undefined, { spec: { containers: [{ name: 'a' }] } }, 'one')
  const both = applied(live, { spec: { containers: [{ name: 'b' }] } }, 'two')
  const spec = object({ containers: { ...listOf(container), listType: 'atomic' } })
  const atomic = object({ ...schema.properties, spec })
  const result = apply(both, { spec: { containers: [{ name: 'a' }] } }, 'one', atomic)
  assert.deepEqual(conflictsOf(result), ['.spec.containers'])
  const same = apply(both, { spec: { containers: [{ name: 'a' }, { name: 'b' }] } }, 'three', atomic)
  assert.equal(same.kind, 'merged')
  const entries = (same as ApplyResult & { kind: 'merged' }).document['metadata'] as JsonObject
  const fields = (entries['managedFields'] as JsonObject[]).map(({ fieldsV1 }) => fieldsV1)
  assert.deepEqual(fields, Array(3).fill({ 'f:spec': { 'f:containers': {} } }))
})
