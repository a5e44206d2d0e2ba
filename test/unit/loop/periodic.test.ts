import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Periodic } from '../../../src/loop/periodic.ts'

test('The job runs again after each end, and a slow run delays the next instead of overlapping.', async () => {
  let current = 0
  let runs = 0
  const periodic = new Periodic(
    async () => {
      current += 1
      assert.equal(current, 1)
      await setTimeout(8)
      current -= 1
      runs += 1
    },
    { intervalMs: 2, firstAfterMs: 0, onError: (error) => assert.fail(String(error)) },
  )
  periodic.start()
  await setTimeout(60)
  await periodic.stop({ signal: AbortSignal.timeout(1000) })
  assert.ok(runs >= 2 && runs <= 6, `${runs} runs`)
})

test('A failed run is reported and does not end the loop.', async () => {
  const errors: unknown[] = []
  const periodic = new Periodic(() => Promise.reject(new Error('no')), {
    intervalMs: 2,
    onError: (error) => errors.push(error),
  })
  periodic.start()
  await setTimeout(40)
  await periodic.stop({ signal: AbortSignal.timeout(1000) })
  assert.ok(errors.length >= 2)
})

test('Stop ends a long wait at once and aborts the running job.', async () => {
  const idle = new Periodic(async () => {}, { intervalMs: 60_000, onError: () => {} })
  idle.start()
  await idle.stop({ signal: AbortSignal.timeout(100) })

  const busy = new Periodic(({ signal }) => setTimeout(60_000, undefined, { signal }), {
    intervalMs: 1,
    onError: () => assert.fail('an abort is not an error'),
  })
  busy.start()
  await setTimeout(10)
  await busy.stop({ signal: AbortSignal.timeout(100) })
})
