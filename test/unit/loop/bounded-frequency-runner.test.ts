import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { Backoff } from '../../../src/loop/backoff.ts'
import {
  type BoundedFrequencyOptions,
  BoundedFrequencyRunner,
  type Job,
} from '../../../src/loop/bounded-frequency-runner.ts'

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

function runnerOf(job: Job, changes: Partial<BoundedFrequencyOptions> = {}): BoundedFrequencyRunner {
  return new BoundedFrequencyRunner(job, {
    backoff: new Backoff({ baseMs: 5, maxMs: 5, jitter: 0 }),
    onError: (error) => assert.fail(String(error)),
    ...changes,
  })
}

test('A burst of requests is one run, and requests during a run bring exactly one more.', async () => {
  const job = new StepwiseJob()
  const runner = runnerOf(job.run)
  runner.request()
  runner.request()
  await job.begun()
  runner.request()
  runner.request()
  assert.equal(job.runs, 1, 'runs do not overlap')
  await job.end()
  await job.begun()
  await job.end()
  assert.equal(job.runs, 2)
})

test('An idle runner runs again when asked again.', async () => {
  const job = new StepwiseJob()
  const runner = runnerOf(job.run)
  for (const expected of [1, 2, 3]) {
    runner.request()
    await job.begun()
    await job.end()
    assert.equal(job.runs, expected)
  }
})

test('A failed run is retried until it succeeds, and each failure is reported with its delay.', async () => {
  const failures: (readonly [message: string, retryInMs: number])[] = []
  const job = new StepwiseJob()
  const runner = runnerOf(job.run, {
    onError: (error, retryInMs) => failures.push([(error as Error).message, retryInMs]),
  })
  runner.request()
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
  let runs = 0
  const second = Promise.withResolvers<number>()
  const runner: BoundedFrequencyRunner = runnerOf(
    async () => {
      runs += 1
      if (runs === 1) runner.request()
      else second.resolve(performance.now())
    },
    { minGapMs: 40 },
  )
  // The runner takes the time of the first start itself, at the earliest now.
  const firstMs = performance.now()
  runner.request()
  const gapMs = (await second.promise) - firstMs
  assert.ok(gapMs >= 38, `${gapMs} ms apart`)
})

test('Stop waits for the running job, drops what is pending, and nothing runs after it.', async () => {
  const job = new StepwiseJob()
  const runner = runnerOf(job.run)
  runner.request()
  await job.begun()
  runner.request()
  let isStopped = false
  const stopped = runner.stop(within(5000)).then(() => {
    isStopped = true
  })
  await setTimeout(10)
  assert.equal(isStopped, false)
  await job.end()
  await stopped
  runner.request()
  await job.end()
  assert.equal(job.runs, 1)
})

test('A stop that runs out of time aborts the job and says so.', async () => {
  const begun = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<unknown>()
  const runner = runnerOf(async ({ signal }) => {
    signal.addEventListener('abort', () => aborted.resolve(signal.reason))
    begun.resolve()
    await aborted.promise
  })
  runner.request()
  await begun.promise
  await assert.rejects(runner.stop(within(10)), { name: 'TimeoutError' })
  assert.equal(((await aborted.promise) as Error).name, 'TimeoutError')
})

test('Stop during a backoff does not wait for the retry.', async () => {
  const failed = Promise.withResolvers<void>()
  const runner = runnerOf(() => Promise.reject(new Error('refused')), {
    backoff: new Backoff({ baseMs: 60_000, maxMs: 60_000 }),
    onError: () => failed.resolve(),
  })
  runner.request()
  await failed.promise
  await runner.stop(within(5000))
})

test('An urgent request does not wait for the gap that others wait for, and the gap may follow from the last run.', async () => {
  let runs = 0
  const lastRuns: number[] = []
  const minGapMs = (lastRunMs: number) => {
    lastRuns.push(lastRunMs)
    return runs === 0 ? 0 : 3_600_000
  }
  const runner = runnerOf(
    async () => {
      runs += 1
    },
    { minGapMs },
  )
  runner.request()
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  runner.request()
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  assert.equal(runs, 1)
  runner.request({ urgent: true })
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  assert.equal(runs, 2)
  assert.ok(lastRuns.every((ms) => ms >= 0))
  await runner.stop(within(1000))
})

test('a run that does not end is stuck after its time; a failing one is not, and neither is an idle runner', async () => {
  const job = new StepwiseJob()
  const options = { backoff: new Backoff({ baseMs: 1, maxMs: 1 }), onError: () => {}, stuckAfterMs: 20 }
  const runner = new BoundedFrequencyRunner(job.run, options)
  assert.equal(runner.findStuckRun(), undefined)
  runner.request()
  await job.begun()
  assert.equal(runner.findStuckRun(), undefined)
  await setTimeout(30)
  assert.match(runner.findStuckRun() ?? '', /^a sync has not ended for \d+ s$/)
  await job.end(new Error('refused'))
  assert.equal(runner.findStuckRun(), undefined)
  await job.begun()
  await job.end()
  await runner.stop(within(1000))
})
