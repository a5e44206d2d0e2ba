import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

test('History that holds more than it may is forgotten by half at once, and who replays it slowly is ended.', async () => {
  const store = openMemoryStore({ log: silentLogger, maxHistoryLength: 100_000 })
  let revision = 0
  const put = async () => {
    const value = 'x'.repeat(1_000)
    const result = await store.commit([{ kind: 'put', key: '/a/1', value, expectedRevision: revision }])
    revision = result.kind === 'committed' ? result.revision : assert.fail()
  }
  await put()
  let behind = 0
  const live: number[] = []
  const never = new Promise<void>(() => {})
  const onBehind = () => {
    behind++
  }
  store.watch('/a/', 1, () => never, { onBehind })
  store.watch('/a/', revision, (events) => {
    for (const event of events) if (event.kind === 'put') live.push(event.entry.revision)
  })
  for (let count = 0; count < 100; count++) await put()
  await until('it is forgotten', () => store.compactRevision === revision - 50)
  assert.equal(behind, 1)
  for (let count = 0; count < 49; count++) await put()
  assert.equal(store.compactRevision, revision - 99)
  assert.equal(live.length, 149)
  assert.equal((await store.range('/a/')).entries.length, 1)
  await store.close()
})
