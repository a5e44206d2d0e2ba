import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { QueueMetrics } from '../../../../src/controllers/runtime/metrics.ts'
import { TokenBucket } from '../../../../src/controllers/runtime/token-bucket.ts'
import { type QueueTiming, type Rest, type Work, WorkQueue } from '../../../../src/controllers/runtime/work-queue.ts'
import { until } from '../../../helpers/until.ts'

const forever = { signal: new AbortController().signal }

const noMetrics: QueueMetrics = {
  countAdd: () => {},
  countRetry: () => {},
  observeWait: () => {},
  observeWork: () => {},
}

function createQueue(
  work: Work,
  { workers = 2, rest, timing }: { workers?: number; rest?: Rest; timing?: Partial<QueueTiming> } = {},
) {
  const failures: string[] = []
  const queue = new WorkQueue({
    workers,
    ...(rest && { rest }),
    work,
    onFailure: (key) => failures.push(key),
    createMetrics: () => noMetrics,
    timing: { backoffBaseMs: 5, backoffMaxMs: 20, ...timing },
  })
  return { queue, failures }
}

describe('a work queue', () => {
  test('works on a key once, however often it was added before', async () => {
    const worked: string[] = []
    const { queue } = createQueue(async (key) => void worked.push(key))
    for (let round = 0; round < 3; round++) for (const key of ['a', 'b']) queue.add(key)
    await until('the queue is idle', () => queue.isIdle)
    assert.deepEqual(worked, ['a', 'b'])
  })

  test('works on a key again when it was added during its work, and never twice at a time', async () => {
    let running = 0
    let runs = 0
    const { queue } = createQueue(
      async () => {
        assert.equal(++running, 1)
        if (++runs === 1) for (let i = 0; i < 5; i++) queue.add('a')
        await sleep(5)
        running -= 1
      },
      { workers: 4 },
    )
    queue.add('a')
    await until('the queue is idle', () => queue.isIdle)
    assert.equal(runs, 2)
  })

  test('has no more workers than it was given', async () => {
    let running = 0
    let most = 0
    const { queue } = createQueue(
      async () => {
        most = Math.max(most, ++running)
        await sleep(2)
        running -= 1
      },
      { workers: 3 },
    )
    for (let key = 0; key < 20; key++) queue.add(String(key))
    await until('the queue is idle', () => queue.isIdle)
    assert.equal(most, 3)
  })

  test('tries a failed key again until it succeeds, and then forgets that it failed', async () => {
    let runs = 0
    const { queue, failures } = createQueue(async () => {
      if (++runs < 4) throw new Error('not yet')
      return undefined
    })
    queue.add('a')
    await until('the queue is idle', () => queue.isIdle)
    assert.deepEqual(failures, ['a', 'a', 'a'])
    assert.equal(queue.failing, 0)
  })

  test('waits longer after each failure', async () => {
    const startsMs: number[] = []
    const { queue } = createQueue(
      async () => {
        startsMs.push(performance.now())
        if (startsMs.length < 4) throw new Error('not yet')
        return undefined
      },
      { timing: { backoffBaseMs: 20, backoffMaxMs: 1000 } },
    )
    queue.add('a')
    await until('the queue is idle', () => queue.isIdle)
    const [first = 0, , , last = 0] = startsMs
    assert.ok(last - first >= 10 + 20 + 40 - 3, `${last - first} ms`)
  })

  test('brings a key back after the time its work asked for, an add brings it sooner', async () => {
    let runs = 0
    const { queue } = createQueue(async () => (++runs === 1 ? { againInMs: 60_000 } : undefined))
    queue.add('a')
    await until('the first run is done', () => runs === 1)
    await sleep(5)
    assert.equal(queue.isIdle, false)
    queue.add('a')
    await until('the queue is idle', () => queue.isIdle)
    assert.equal(runs, 2)
  })

  test('of two delays the earlier holds', async () => {
    let runs = 0
    const { queue } = createQueue(async () => {
      runs += 1
      return undefined
    })
    queue.addAfter('a', 60_000)
    queue.addAfter('a', 1)
    queue.addAfter('a', 60_000)
    await until('the queue is idle', () => queue.isIdle)
    assert.equal(runs, 1)
  })

  test('lets a key rest after long work; other keys do not wait for that', async () => {
    const runs: string[] = []
    const work: Work = async (key) => {
      runs.push(key)
      if (key === 'large') await sleep(20)
      return undefined
    }
    const { queue } = createQueue(work, { workers: 1, rest: { factor: 1_000_000, maxMs: 60_000 } })
    queue.add('large')
    await until('the queue is idle, as nothing came in that rest', () => queue.isIdle)
    queue.add('large')
    queue.add('small')
    await until('the other key is worked on', () => runs.includes('small'))
    assert.deepEqual(runs, ['large', 'small'])
    assert.equal(queue.isIdle, false)
    await queue.stop(forever)
  })

  test('a key rests by the time that its work says it was busy', async () => {
    const runs: string[] = []
    const work: Work = async (key) => {
      runs.push(key)
      if (key === 'waits') await sleep(20)
      return { busyMs: key === 'waits' ? 0 : 20 }
    }
    const { queue } = createQueue(work, { rest: { factor: 1_000_000, maxMs: 60_000 } })
    for (const key of ['waits', 'works']) queue.add(key)
    await until('both were worked on', () => queue.isIdle)
    for (const key of ['waits', 'works']) queue.add(key)
    await until('one is worked on again', () => runs.length === 3)
    assert.deepEqual(runs, ['waits', 'works', 'waits'])
    assert.equal(queue.isIdle, false)
    await queue.stop(forever)
  })

  test('what is added during work and the rest after it is one more run', async () => {
    let runs = 0
    const { queue } = createQueue(
      async () => {
        runs += 1
        await sleep(20)
        return undefined
      },
      { rest: { factor: 1_000_000, maxMs: 50 } },
    )
    queue.add('a')
    await until('it is worked on', () => runs === 1)
    queue.add('a')
    queue.add('a')
    await until('the queue is idle', () => queue.isIdle)
    assert.equal(runs, 2)
  })

  test('stop lets running work finish and takes nothing more', async () => {
    const done: string[] = []
    const { queue } = createQueue(
      async (key) => {
        await sleep(10)
        done.push(key)
        return undefined
      },
      { workers: 1 },
    )
    queue.add('a')
    queue.add('b')
    await sleep(3)
    await queue.stop(forever)
    queue.add('c')
    queue.addAfter('d', 1)
    await sleep(5)
    assert.deepEqual(done, ['a'])
  })

  test('stop with a signal that has aborted ends running work at once', async () => {
    let reason: unknown
    const { queue } = createQueue(async (_, { signal }) => {
      await sleep(60_000, undefined, { signal }).catch(() => {})
      reason = signal.reason
      return undefined
    })
    queue.add('a')
    await sleep(5)
    await queue.stop({ signal: AbortSignal.abort('lost') })
    await until('the work has ended', () => reason !== undefined)
    assert.equal(reason, 'lost')
  })
})

describe('a token bucket', () => {
  test('lets the burst through at once and the rest at its rate', () => {
    let nowMs = 0
    const bucket = new TokenBucket({ perSecond: 10, burst: 2, nowMs: () => nowMs })
    assert.deepEqual([bucket.reserve(), bucket.reserve(), bucket.reserve(), bucket.reserve()], [0, 0, 100, 200])
    nowMs = 1000
    assert.equal(bucket.reserve(), 0)
  })
})
