import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOnePiece, inSlices, type Stages, TimeSlice } from '../../../src/loop/time-slice.ts'

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

function* countTo(last: number): Stages<number> {
  for (let number = 1; number < last; number++) yield
  return last
}

test('stages give their result in one piece and in slices, and others have their turn where a slice is spent', async () => {
  assert.equal(inOnePiece(countTo(3)), 3)
  const turns: string[] = []
  setImmediate(() => turns.push('other'))
  const counted = inSlices(countTo(3), new TimeSlice(0)).then(() => turns.push('counted'))
  await counted
  assert.deepEqual(turns, ['other', 'counted'])
  assert.equal(await inSlices(countTo(3), new TimeSlice(60_000)), 3)
})

test('a slice with time left is not waited for', () => {
  assert.equal(new TimeSlice(60_000).whenSpent(), undefined)
})
