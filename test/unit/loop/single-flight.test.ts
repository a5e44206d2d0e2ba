import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { Backoff } from '../../../src/loop/backoff.ts'
import { type Job, SingleFlight, type SingleFlightOptions } from '../../../src/loop/single-flight.ts'

const within = (ms: number) => ({ signal: AbortSignal.timeout(ms) })

/** A job whose runs begin and end when the test says so. */
class StepwiseJob {
  runs = 0
  #begun = Promise.withResolvers<void>()
  #end = Promise.withResolvers<void>()

  run: Job = async () => {
    this.runs += 1
    this.#begun.resolve()
    await this.#end.promise
  }

  /** Resolves in the middle of the next run. */
  async begun(): Promise<void> {
    await this.#begun.promise
    this.#begun = Promise.withResolvers()
  }

  /** Ends the run and lets all that follows from it happen, as far as it needs no timer. */
  async end(error?: Error): Promise<void> {
    const ended = this.#end
    this.#end = Promise.withResolvers()
    if (error === undefined) ended.resolve()
    else ended.reject(error)
    for (let turn = 0; turn < 3; turn += 1) await setImmediate()
  }
}

function flightOf(job: Job, changes: Partial<SingleFlightOptions> = {}): SingleFlight {
  return new SingleFlight(job, {
    backoff: new Backoff({ baseMs: 5, maxMs: 5, jitter: 0 }),
    onError: (error) => assert.fail(String(error)),
    ...changes,
  })
}

test('A burst of requests is one run, and requests during a run bring exactly one more.', async () => {
  const job = new StepwiseJob()
  const flight = flightOf(job.run)
  flight.request()
  flight.request()
  await job.begun()
  flight.request()
  flight.request()
  assert.equal(job.runs, 1, 'runs do not overlap')
  await job.end()
  await job.begun()
  await job.end()
  assert.equal(job.runs, 2)
})

test('An idle flight runs again when asked again.', async () => {
  const job = new StepwiseJob()
  const flight = flightOf(job.run)
  for (const expected of [1, 2, 3]) {
    flight.request()
    await job.begun()
    await job.end()
    assert.equal(job.runs, expected)
  }
})

test('A failed run is retried until it succeeds, and each failure is reported with its delay.', async () => {
  const failures: (readonly [message: string, retryInMs: number])[] = []
  const job = new StepwiseJob()
  const flight = flightOf(job.run, {
    onError: (error, retryInMs) => failures.push([(error as Error).message, retryInMs]),
  })
  flight.request()
  for (const reason of ['first', 'second']) {
    await job.begun()
    await job.end(new Error(reason))
  }
  await job.begun()
  await job.end()
  assert.equal(job.runs, 3)
  assert.deepEqual(failures, [
    ['first', 5],
    ['second', 5],
  ])
})

test('Two runs start at least the minimum gap apart.', async () => {
  const starts: number[] = []
  const second = Promise.withResolvers<void>()
  const flight: SingleFlight = flightOf(
    async () => {
      starts.push(performance.now())
      if (starts.length === 1) flight.request()
      else second.resolve()
    },
    { minGapMs: 40 },
  )
  flight.request()
  await second.promise
  const gapMs = (starts[1] ?? 0) - (starts[0] ?? 0)
  assert.ok(gapMs >= 38, `${gapMs} ms apart`)
})

test('Stop waits for the running job, drops what is pending, and nothing runs after it.', async () => {
  const job = new StepwiseJob()
  const flight = flightOf(job.run)
  flight.request()
  await job.begun()
  flight.request()
  let isStopped = false
  const stopped = flight.stop(within(5000)).then(() => {
    isStopped = true
  })
  await setTimeout(10)
  assert.equal(isStopped, false)
  await job.end()
  await stopped
  flight.request()
  await job.end()
  assert.equal(job.runs, 1)
})

test('A stop that runs out of time aborts the job and says so.', async () => {
  const begun = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<unknown>()
  const flight = flightOf(async ({ signal }) => {
    signal.addEventListener('abort', () => aborted.resolve(signal.reason))
    begun.resolve()
    await aborted.promise
  })
  flight.request()
  await begun.promise
  await assert.rejects(flight.stop(within(10)), { name: 'TimeoutError' })
  assert.equal(((await aborted.promise) as Error).name, 'TimeoutError')
})

test('Stop during a backoff does not wait for the retry.', async () => {
  const failed = Promise.withResolvers<void>()
  const flight = flightOf(() => Promise.reject(new Error('refused')), {
    backoff: new Backoff({ baseMs: 60_000, maxMs: 60_000 }),
    onError: () => failed.resolve(),
  })
  flight.request()
  await failed.promise
  await flight.stop(within(5000))
})

test('An urgent request does not wait for the gap that others wait for, and the gap may follow from the last run.', async () => {
  let runs = 0
  const lastRuns: number[] = []
  const minGapMs = (lastRunMs: number) => {
    lastRuns.push(lastRunMs)
    return runs === 0 ? 0 : 3_600_000
  }
  const flight = flightOf(
    async () => {
      runs += 1
    },
    { minGapMs },
  )
  flight.request()
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  flight.request()
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  assert.equal(runs, 1)
  flight.request({ urgent: true })
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  assert.equal(runs, 2)
  assert.ok(lastRuns.every((ms) => ms >= 0))
  await flight.stop(within(1000))
})
