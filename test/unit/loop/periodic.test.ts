import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Periodic } from '../../../src/loop/periodic.ts'
import { until } from '../../helpers/until.ts'

const within = (ms: number) => ({ signal: AbortSignal.timeout(ms) })

test('The job runs again after each end, and a slow run delays the next instead of overlapping.', async () => {
  let current = 0
  let runs = 0
  const enough = Promise.withResolvers<void>()
  const periodic = new Periodic(
    async () => {
      current += 1
      assert.equal(current, 1)
      await setTimeout(5)
      current -= 1
      runs += 1
      if (runs === 3) enough.resolve()
    },
    { intervalMs: 1, firstAfterMs: 0, onError: (error) => enough.reject(error) },
  )
  periodic.start()
  periodic.start()
  await enough.promise
  await periodic.stop(within(5000))
})

test('A failed run is reported and does not end the loop.', async () => {
  let failures = 0
  const twice = Promise.withResolvers<void>()
  const periodic = new Periodic(() => Promise.reject(new Error('no')), {
    intervalMs: 1,
    onError: () => {
      failures += 1
      if (failures === 2) twice.resolve()
    },
  })
  periodic.start()
  await twice.promise
  await periodic.stop(within(5000))
})

test('Stop ends a long wait, and aborts the running job without calling that an error.', async () => {
  const idle = new Periodic(async () => {}, { intervalMs: 60_000, onError: () => {} })
  idle.start()
  await idle.stop(within(5000))

  const begun = Promise.withResolvers<void>()
  const busy = new Periodic(
    ({ signal }) => {
      begun.resolve()
      return setTimeout(60_000, undefined, { signal })
    },
    { intervalMs: 1, onError: () => assert.fail('an abort is not an error') },
  )
  busy.start()
  await begun.promise
  await busy.stop(within(5000))
})

test('a run that is asked for soon begins at once, and after the one under way', async () => {
  let runs = 0
  let release = Promise.withResolvers<void>()
  const periodic = new Periodic(
    async () => {
      runs += 1
      await release.promise
    },
    { intervalMs: 3_600_000, firstAfterMs: 3_600_000, onError: () => {} },
  )
  periodic.start()
  periodic.runSoon()
  await until('the first run', () => runs === 1)
  periodic.runSoon()
  const first = release
  release = Promise.withResolvers()
  first.resolve()
  await until('the second run', () => runs === 2)
  release.resolve()
  await periodic.stop({ signal: AbortSignal.timeout(5000) })
  assert.equal(runs, 2)
})
