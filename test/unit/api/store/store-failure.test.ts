import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EmbeddedStore } from '../../../../src/api/store/embedded-store.ts'
import { forgetfulJournal, type Journal } from '../../../../src/api/store/journal.ts'
import { StoreError } from '../../../../src/api/store/store-error.ts'
import { StoreState } from '../../../../src/api/store/store-state.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

/** A disk with room for so many groups of commits. */
function createSmallJournal(groups: number): Journal {
  let left = groups
  return {
    ...forgetfulJournal,
    append: async () => {
      left--
      if (left < 0) throw new Error('database or disk is full')
    },
    compact: async () => {
      throw new Error('database or disk is full')
    },
  }
}

const put = (key: string) => [{ kind: 'put', key, value: '1', expectedRevision: 0 } as const]

it('A store whose disk refuses rejects what waits, shows none of it, and reads on.', async () => {
  const { log, lines } = createRecordingLogger()
  const store = new EmbeddedStore(createSmallJournal(1), new StoreState(1, 0), { log })
  await store.commit(put('/a'))
  const seen: unknown[] = []
  store.watch('/', 2, (events) => seen.push(events))
  const outcomes = await Promise.allSettled([
    store.commit(put('/b')),
    store.commit([...put('/c'), ...put('/d')]),
    store.commit(put('/b')),
  ])
  for (const outcome of outcomes) {
    assert.equal(outcome.status, 'rejected')
    assert.equal(outcome.reason.code, 'store-failed')
    assert.match(outcome.reason.message, /only reads from now on: database or disk is full/)
  }
  assert.equal(store.failure?.code, 'store-failed')
  assert.equal(store.revision, 2)
  assert.deepEqual(
    (await store.range('/')).entries.map(({ key }) => key),
    ['/a'],
  )
  assert.deepEqual(seen, [])
  await assert.rejects(store.commit(put('/e')), { code: 'store-failed' })
  assert.equal(lines.length, 1)
  await store.close()
})

it('A commit that waits behind the failing one is rejected too.', async () => {
  const { log } = createRecordingLogger()
  const store = new EmbeddedStore(createSmallJournal(0), new StoreState(1, 0), { log })
  const first = store.commit(put('/a'))
  const second = Promise.resolve()
    .then(() => Promise.resolve())
    .then(() => store.commit(put('/b')))
  await assert.rejects(first, { code: 'store-failed' })
  await assert.rejects(second, { code: 'store-failed' })
})

it('A compaction that fails harms nothing else.', async () => {
  const { log } = createRecordingLogger()
  const store = new EmbeddedStore(createSmallJournal(2), new StoreState(1, 0), { log })
  await store.commit(put('/a'))
  await assert.rejects(store.compact(2), { code: 'compaction-failed' })
  assert.equal(store.compactRevision, 0)
  assert.deepEqual(await store.commit(put('/b')), { kind: 'committed', revision: 3 })
})

it('A store without space takes writes again by itself, and gives out the revisions of the rejected writes.', async () => {
  const { log, lines } = createRecordingLogger()
  const noSpace = new StoreError('store-full', 'no space is left')
  let isFull = true
  const requireSpace = async () => {
    if (isFull) throw noSpace
  }
  const recovered: number[] = []
  const recover = async (revision: number) => {
    recovered.push(revision)
    await requireSpace()
  }
  const journal = { ...forgetfulJournal, append: requireSpace, recover }
  const store = new EmbeddedStore(journal, new StoreState(1, 0), { log, recoveryIntervalMs: 1 })
  await assert.rejects(store.commit(put('/a')), noSpace)
  await until('it tried again', () => recovered.length > 0)
  assert.equal(store.failure, noSpace)
  await assert.rejects(store.commit(put('/a')), noSpace)
  isFull = false
  await until('it takes writes', () => store.failure === undefined)
  assert.deepEqual(await store.commit(put('/b')), { kind: 'committed', revision: 2 })
  assert.deepEqual(new Set(recovered), new Set([1]))
  assert.deepEqual(lines, ['error no space is left', 'info there is space again: the store takes writes'])
  await store.close()
})

it('A store whose database holds an unknown commit after it was full stays closed to writes.', async () => {
  const { log } = createRecordingLogger()
  const full: Journal = {
    ...forgetfulJournal,
    append: async () => Promise.reject(new StoreError('store-full', 'no space is left')),
    recover: async () => Promise.reject(new StoreError('store-failed', 'it holds revision 2, expected 1')),
  }
  const store = new EmbeddedStore(full, new StoreState(1, 0), { log, recoveryIntervalMs: 1 })
  await assert.rejects(store.commit(put('/a')), { code: 'store-full' })
  await until('it gave up', () => store.failure?.code === 'store-failed')
  await assert.rejects(store.commit(put('/a')), { code: 'store-failed', message: /expected 1/ })
})
