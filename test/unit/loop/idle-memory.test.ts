import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleMemory } from '../../../src/loop/idle-memory.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { until } from '../../helpers/until.ts'

const deadlineMs = 30_000

test('garbage goes when nothing happens and there is enough of it, and not while there is work', async (t) => {
  let heapBytes = 200
  let activeMs = 0
  let perLookMs = 5
  let looks = 0
  let collections = 0
  const memory = new IdleMemory({
    heapBytes: () => heapBytes,
    activeMs: () => {
      looks += 1
      activeMs += perLookMs
      return activeMs
    },
    collect: () => {
      collections += 1
      heapBytes = 100
    },
    log: silentLogger,
    lookMs: 2,
  })
  const someLooks = (): Promise<void> => {
    const enough = looks + 5
    return until('it has looked a few times', () => looks >= enough, deadlineMs)
  }
  await memory.start()
  t.after(() => memory.stop({ signal: AbortSignal.timeout(deadlineMs) }))
  await someLooks()
  assert.equal(collections, 0, 'there is work')
  perLookMs = 0
  await until('the work is done', () => collections === 1, deadlineMs)
  heapBytes = 110
  await someLooks()
  assert.equal(collections, 1, 'too little came to stop for it')
  heapBytes = 200
  await until('there is enough again', () => collections === 2, deadlineMs)
})

test('a collection waits while changes come that cost little, but not for ever', async (t) => {
  let [heapBytes, collections, looks, isWorking] = [200, 0, 0, true]
  const memory = new IdleMemory({
    heapBytes: () => heapBytes,
    activeMs: () => {
      looks += 1
      return 0
    },
    collect: () => {
      collections += 1
      heapBytes = 100
    },
    isWorking: () => isWorking,
    longestWaitMs: 300,
    lookMs: 2,
  })
  await memory.start()
  t.after(() => memory.stop({ signal: AbortSignal.timeout(deadlineMs) }))
  const startedMs = performance.now()
  await until('it has waited long enough', () => collections === 1, deadlineMs)
  assert.ok(performance.now() - startedMs >= 290 && looks > 2)
  isWorking = false
  heapBytes = 200
  await until('no change comes', () => collections === 2, deadlineMs)
})

test('pages are returned after a collection and again while the thread rests, without another collection', async (t) => {
  let [heapBytes, collections, returns, isWorking] = [200, 0, 0, false]
  const memory = new IdleMemory({
    heapBytes: () => heapBytes,
    activeMs: () => 0,
    collect: () => {
      collections += 1
      heapBytes = 100
    },
    returnPages: () => {
      returns += 1
    },
    isWorking: () => isWorking,
    lookMs: 2,
    returnEveryMs: 10,
  })
  await memory.start()
  t.after(() => memory.stop({ signal: AbortSignal.timeout(deadlineMs) }))
  await until('pages have been returned several times', () => returns >= 3, deadlineMs)
  assert.equal(collections, 1)
  isWorking = true
  const before = returns
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(returns <= before + 1, 'changes do not wait for pages')
})
