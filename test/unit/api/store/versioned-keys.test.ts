import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VersionedKeys } from '../../../../src/api/store/versioned-keys.ts'

function withKeys(...keys: readonly string[]): VersionedKeys {
  const all = new VersionedKeys()
  for (const [index, key] of keys.entries()) {
    const revision = index + 1
    const entry = { key, value: '{}', createRevision: revision, revision }
    all.apply({ revision, events: [{ kind: 'put', entry, previous: undefined }] })
  }
  return all
}

const keysIn = (keys: VersionedKeys, prefix: string, revision = 100) =>
  keys.range(prefix, revision, {}).entries.map(({ key }) => key)

test('a range has the keys of its prefix, however many slashes key and prefix have', () => {
  const pod = '/registry/pods/default/web'
  const custom = '/registry/example.com/widgets/default/w'
  const keys = withKeys(pod, custom, '/registry', 'plain', '/')
  for (const prefix of ['/registry/pods/', '/registry/pods/default/', '/registry/pods/default/web', '/registry/pods/d'])
    assert.deepEqual(keysIn(keys, prefix), [pod], prefix)
  for (const prefix of ['/registry/example.com/', '/registry/example.com/widgets/', '/registry/example.com/widgets/d'])
    assert.deepEqual(keysIn(keys, prefix), [custom], prefix)
  assert.deepEqual(keysIn(keys, '/registry/'), [custom, pod])
  assert.deepEqual(keysIn(keys, '/r'), ['/registry', custom, pod])
  assert.deepEqual(keysIn(keys, ''), ['/', '/registry', custom, pod, 'plain'])
  for (const prefix of ['/registry/pods/other/', '/registry/services/', '/registry/pod/', '/other/'])
    assert.deepEqual(keysIn(keys, prefix), [], prefix)
})

test('a collection whose last key is deleted is still read at earlier revisions, until they are forgotten', () => {
  const key = '/registry/pods/default/web'
  const keys = withKeys(key)
  const previous = { key, value: '{}', createRevision: 1, revision: 1 }
  keys.apply({ revision: 2, events: [{ kind: 'delete', key, revision: 2, previous }] })
  assert.deepEqual([keysIn(keys, '/registry/pods/', 1), keysIn(keys, '/registry/pods/')], [[key], []])
  keys.compact(key, 2)
  assert.deepEqual(keysIn(keys, '/registry/pods/', 1), [])
  const again = { key, value: '{}', createRevision: 3, revision: 3 }
  keys.apply({ revision: 3, events: [{ kind: 'put', entry: again, previous: undefined }] })
  assert.deepEqual(keysIn(keys, '/registry/pods/'), [key])
})
