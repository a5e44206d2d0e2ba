import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { VerifySchedule } from '../../../../src/node/rules/verify-schedule.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

function startSchedule(t: TestContext, during: (schedule: VerifySchedule) => number) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const seen = { count: 0 }
  const schedule: VerifySchedule = new VerifySchedule({
    flavour: 'nft',
    isWatched: () => true,
    log: silentLogger,
    verify: async () => {
      seen.count += 1
      return { readMs: during(schedule) }
    },
  })
  schedule.start()
  const wait = async (ms: number) => {
    t.mock.timers.tick(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { schedule, seen, wait }
}

describe('the next comparison of a watched table', () => {
  test('comes half an hour after one that was made in peace', async (t) => {
    const { schedule, seen, wait } = startSchedule(t, () => 1)
    schedule.soon()
    await wait(1_000)
    assert.equal(seen.count, 1)
    await wait(30 * 60_000 - 1)
    assert.equal(seen.count, 1)
    await wait(1)
    assert.equal(seen.count, 2)
  })

  test('comes a second after one that asked for it while it ran', async (t) => {
    let overtaken = 1
    const { schedule, seen, wait } = startSchedule(t, (running) => {
      if (overtaken-- > 0) running.soon()
      return 1
    })
    schedule.soon()
    await wait(1_000)
    await wait(1_000)
    assert.equal(seen.count, 2)
    await wait(1_000)
    assert.equal(seen.count, 2)
  })

  test('comes 30 seconds after one that failed', async (t) => {
    let failing = 1
    const { schedule, seen, wait } = startSchedule(t, () => {
      if (failing-- > 0) throw new Error('the lock is held')
      return 1
    })
    schedule.soon()
    await wait(1_000)
    await wait(29_999)
    assert.equal(seen.count, 1)
    await wait(1)
    assert.equal(seen.count, 2)
  })

  test('leaves 50 times what reading took also where it is asked for early', async (t) => {
    const { schedule, seen, wait } = startSchedule(t, (running) => {
      running.soon()
      return 100
    })
    schedule.soon()
    await wait(1_000)
    await wait(4_999)
    assert.equal(seen.count, 1)
    await wait(1)
    assert.equal(seen.count, 2)
  })
})
