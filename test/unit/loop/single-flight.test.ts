import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Backoff } from '../../../src/loop/backoff.ts'
import { SingleFlight } from '../../../src/loop/single-flight.ts'

const quick = () => new Backoff({ baseMs: 5, maxMs: 5, jitter: 0 })
const never = () => assert.fail('no error expected')
const soon = () => ({ signal: AbortSignal.timeout(1000) })

test('A burst of requests is one run, and a request during a run brings one more.', async () => {
  let runs = 0
  const flight = new SingleFlight(
    async () => {
      runs += 1
      await setTimeout(10)
    },
    { backoff: quick(), onError: never },
  )
  flight.request()
  flight.request()
  await setTimeout(5)
  assert.equal(runs, 1)
  flight.request()
  flight.request()
  await setTimeout(40)
  assert.equal(runs, 2)
  flight.request()
  await setTimeout(20)
  assert.equal(runs, 3)
})

test('Runs never overlap, however many requests come.', async () => {
  let current = 0
  let most = 0
  const flight = new SingleFlight(
    async () => {
      current += 1
      most = Math.max(most, current)
      await setTimeout(1)
      current -= 1
    },
    { backoff: quick(), onError: never },
  )
  for (let count = 0; count < 20; count += 1) {
    flight.request()
    await setTimeout(1)
  }
  await flight.stop(soon())
  assert.equal(most, 1)
})

test('A failed run is retried until it succeeds, and each failure is reported with its delay.', async () => {
  const delays: number[] = []
  let runs = 0
  const done = Promise.withResolvers<void>()
  const flight = new SingleFlight(
    async () => {
      runs += 1
      if (runs < 3) throw new Error('busy')
      done.resolve()
    },
    { backoff: quick(), onError: (_error, retryInMs) => delays.push(retryInMs) },
  )
  flight.request()
  await done.promise
  assert.equal(runs, 3)
  assert.deepEqual(delays, [5, 5])
})

test('Two runs start at least the minimum gap apart.', async () => {
  const starts: number[] = []
  const flight = new SingleFlight(
    async () => {
      starts.push(performance.now())
    },
    { backoff: quick(), minGapMs: 40, onError: never },
  )
  flight.request()
  await setTimeout(5)
  flight.request()
  await setTimeout(80)
  const [first = 0, second = 0] = starts
  assert.equal(starts.length, 2)
  assert.ok(second - first >= 38, `${second - first} ms apart`)
})

test('Stop waits for the running job, drops what is pending, and nothing runs after it.', async () => {
  let runs = 0
  let finished = false
  const flight = new SingleFlight(
    async () => {
      runs += 1
      await setTimeout(20)
      finished = true
    },
    { backoff: quick(), onError: never },
  )
  flight.request()
  await setTimeout(5)
  flight.request()
  await flight.stop(soon())
  assert.ok(finished)
  flight.request()
  await setTimeout(10)
  assert.equal(runs, 1)
})

test('A stop that runs out of time aborts the job and says so.', async () => {
  let reason: unknown
  const flight = new SingleFlight(
    ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          resolve()
        })
      }),
    { backoff: quick(), onError: never },
  )
  flight.request()
  await setTimeout(5)
  await assert.rejects(flight.stop({ signal: AbortSignal.timeout(10) }), { name: 'TimeoutError' })
  assert.equal((reason as Error).name, 'TimeoutError')
})

test('Stop during a backoff returns at once.', async () => {
  const flight = new SingleFlight(() => Promise.reject(new Error('refused')), {
    backoff: new Backoff({ baseMs: 60_000, maxMs: 60_000 }),
    onError: () => {},
  })
  flight.request()
  await setTimeout(5)
  await flight.stop({ signal: AbortSignal.timeout(100) })
})
