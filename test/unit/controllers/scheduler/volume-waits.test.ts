import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VolumeWaits } from '../../../../src/controllers/scheduler/volume-waits.ts'

test('a pod that waits for its volumes keeps its place for the timeout, has none for ten seconds, and may wait again', () => {
  const waits = new VolumeWaits(600_000)
  assert.equal(waits.nextInMs(0), undefined)
  waits.note('a', 1_000)
  waits.note('a', 500_000)
  assert.equal(waits.isOver('a', 600_999), false)
  assert.equal(waits.nextInMs(600_000), 1_000)
  assert.equal(waits.isOver('a', 601_000), true)
  assert.equal(waits.nextInMs(601_000), 10_000)
  assert.equal(waits.isOver('a', 610_999), true)
  assert.equal(waits.isOver('a', 611_000), false)
  waits.note('a', 611_000)
  assert.equal(waits.nextInMs(611_000), 600_000)
  assert.equal(waits.nextInMs(1_300_000), 1, 'an end that no pass has seen is due now')
})

test('pods that do not wait any more are forgotten, and the first of the others counts', () => {
  const waits = new VolumeWaits(1_000)
  for (const [index, uid] of ['a', 'b', 'c'].entries()) waits.note(uid, index * 100)
  waits.keep(new Set(['b', 'c']))
  assert.equal(waits.nextInMs(200), 900)
  assert.equal(waits.isOver('a', 5_000), false)
  waits.keep(new Set())
  assert.equal(waits.nextInMs(200), undefined)
})
