import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PageCounts } from '../../../src/api/store/page-counts.ts'
import { VersionedKeys } from '../../../src/api/store/versioned-keys.ts'

const prefix = '/registry/pods/'
const keys = Array.from({ length: 12 }, (_, index) => `${prefix}${index < 6 ? 'a' : 'b'}/p${index}`)

/** A commit that puts or deletes a key, or a question: how many stand after a key at a revision. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), key: fc.constantFrom(...keys) }),
  fc.record({ kind: fc.constant('delete' as const), key: fc.constantFrom(...keys) }),
  fc.record({
    kind: fc.constant('count' as const),
    after: fc.constantFrom(undefined, ...keys, `${prefix}a/p0/`, `${prefix}z`, ''),
    within: fc.constantFrom(prefix, `${prefix}a/`, `${prefix}b/`),
    ago: fc.nat({ max: 4 }),
  }),
)

/** Commits a put, or the deletion of a key that is there, as of `revision`; whether there was anything to commit. */
function commit(all: VersionedKeys, kind: 'put' | 'delete', key: string, revision: number): boolean {
  const previous = all.get(key)
  if (kind === 'put') {
    const entry = { key, value: '{}', createRevision: previous?.createRevision ?? revision, revision }
    all.apply({ revision, events: [{ kind: 'put', entry, previous }] })
  } else if (previous !== undefined) all.apply({ revision, events: [{ kind: 'delete', key, revision, previous }] })
  return kind === 'put' || previous !== undefined
}

test('a count is the number of entries of the range, whatever was counted before and has changed since', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const all = new VersionedKeys()
      let revision = 1
      for (const each of steps) {
        if (each.kind === 'count') {
          const at = Math.max(1, revision - each.ago)
          const after = each.after === undefined ? {} : { after: each.after }
          const { entries } = all.range(each.within, at, after)
          assert.equal(all.count(each.within, at, each.after), entries.length)
        } else if (commit(all, each.kind, each.key, revision + 1)) revision += 1
      }
    }),
  )
})

test('a page counts on from the nearest one before it, of the same range and revision', () => {
  const counts = new PageCounts()
  counts.add(prefix, 7, { after: 'b', count: 20 })
  counts.add(prefix, 7, { after: 'd', count: 10 })
  assert.deepEqual(counts.nearest(prefix, 7, 'd'), { after: 'd', count: 10 })
  assert.deepEqual(counts.nearest(prefix, 7, 'e'), { after: 'd', count: 10 })
  assert.deepEqual(counts.nearest(prefix, 7, 'c'), { after: 'b', count: 20 })
  assert.equal(counts.nearest(prefix, 7, 'a'), undefined)
  assert.equal(counts.nearest(prefix, 8, 'e'), undefined)
  assert.equal(counts.nearest(`${prefix}a/`, 7, 'e'), undefined)
})

test('lists and pages are forgotten when there are many, those unused for longest first', () => {
  const counts = new PageCounts()
  counts.add(prefix, 0, { after: 'a', count: 1 })
  for (let revision = 1; revision < 64; revision++) counts.add(prefix, revision, { after: 'a', count: 1 })
  counts.add(prefix, 0, { after: 'b', count: 1 })
  counts.add(prefix, 64, { after: 'a', count: 1 })
  assert.equal(counts.nearest(prefix, 1, 'a'), undefined)
  assert.deepEqual(counts.nearest(prefix, 0, 'a'), { after: 'a', count: 1 })
  for (let page = 0; page < 255; page++) counts.add(prefix, 0, { after: `c${page}`, count: 1 })
  assert.equal(counts.nearest(prefix, 0, 'a'), undefined)
  assert.deepEqual(counts.nearest(prefix, 0, 'b'), { after: 'b', count: 1 })
})
