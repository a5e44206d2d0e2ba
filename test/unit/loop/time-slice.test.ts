import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeSlice } from '../../../src/loop/time-slice.ts'

async function work(name: string, pauses: number, log: string[]): Promise<void> {
  const slice = new TimeSlice(0)
  for (let step = 0; step < pauses; step++) {
    await slice.pause()
    log.push(name)
  }
}

test('of several that work in slices one goes on a turn, each after the others', async () => {
  const log: string[] = []
  let isRunning = true
  const eachTurn = (): void => {
    log.push('turn')
    if (isRunning) setImmediate(eachTurn)
  }
  const works = Promise.all([work('a', 3, log), work('b', 3, log), work('c', 2, log)])
  setImmediate(eachTurn)
  await works
  isRunning = false
  assert.deepEqual(
    log.filter((entry) => entry !== 'turn'),
    ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b'],
  )
  const together = log.filter((entry, index) => entry !== 'turn' && index > 0 && log[index - 1] !== 'turn')
  assert.deepEqual(together, [])
})

test('a slice is spent after its budget and fresh after a pause', async () => {
  const slice = new TimeSlice(1)
  while (!slice.spent);
  await slice.pause()
  assert.equal(new TimeSlice(60_000).spent, false)
})
