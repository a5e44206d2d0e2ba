import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backoff } from '../../../src/loop/backoff.ts'

test('Delays double up to the maximum and start again after a reset.', () => {
  const backoff = new Backoff({ baseMs: 100, maxMs: 500, jitter: 0 })
  assert.deepEqual(
    Array.from({ length: 5 }, () => backoff.nextDelayMs()),
    [100, 200, 400, 500, 500],
  )
  backoff.reset()
  assert.equal(backoff.nextDelayMs(), 100)
})

test('Jitter takes away at most its share of the delay.', () => {
  const lucky = new Backoff({ baseMs: 100, maxMs: 100, jitter: 0.5, random: () => 0.999 })
  const unlucky = new Backoff({ baseMs: 100, maxMs: 100, jitter: 0.5, random: () => 0 })
  assert.ok(lucky.nextDelayMs() >= 50)
  assert.equal(unlucky.nextDelayMs(), 100)
})

test('A very long row of failures still gives the maximum.', () => {
  const backoff = new Backoff({ baseMs: 1, maxMs: 1000, jitter: 0 })
  for (let count = 0; count < 2000; count += 1) backoff.nextDelayMs()
  assert.equal(backoff.nextDelayMs(), 1000)
})
