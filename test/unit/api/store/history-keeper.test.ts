import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HistoryKeeper, planCompaction } from '../../../../src/api/store/history-keeper.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'

const policy = { minAgeMs: 1000, minRevisions: 10 }

it('History is forgotten only when it is both old enough and far enough behind.', () => {
  const marks = [
    { revision: 50, atMs: 0 },
    { revision: 80, atMs: 500 },
    { revision: 99, atMs: 900 },
  ]
  assert.equal(planCompaction(marks, { revision: 100, atMs: 999 }, policy), undefined, 'nothing is old enough')
  assert.equal(planCompaction(marks, { revision: 100, atMs: 1000 }, policy), 50)
  assert.equal(planCompaction(marks, { revision: 100, atMs: 1600 }, policy), 80)
  assert.equal(planCompaction(marks, { revision: 100, atMs: 9000 }, policy), 90, 'the newest ten are kept however old')
  assert.equal(planCompaction(marks, { revision: 9, atMs: 9000 }, policy), undefined)
  assert.equal(planCompaction([], { revision: 100, atMs: 9000 }, policy), undefined)
})

it('The keeper compacts the store as time goes on, and survives a store that refuses.', async () => {
  const { log, lines } = createRecordingLogger()
  const store = openMemoryStore({ log })
  const keeper = new HistoryKeeper(store, log, policy)
  for (let index = 0; index < 30; index++) {
    await store.commit([{ kind: 'put', key: `/a/${index}`, value: '1', expectedRevision: 0 }])
  }
  await keeper.tidy(0)
  await keeper.tidy(999)
  assert.equal(store.compactRevision, 0)
  await keeper.tidy(1000)
  assert.equal(store.compactRevision, 21)
  await keeper.tidy(5000)
  assert.equal(store.compactRevision, 21, 'nothing new to forget')
  await store.commit([{ kind: 'put', key: '/b', value: '1', expectedRevision: 0 }])
  await store.close()
  await keeper.tidy(6000)
  assert.deepEqual(lines, ['debug history compacted', 'warn history could not be compacted'])
})
