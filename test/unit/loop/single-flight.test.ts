import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SingleFlight } from '../../../src/loop/single-flight.ts'

test('Callers that ask for one key while its job runs share its result, a failure included.', async () => {
  const flights = new SingleFlight<string>()
  const jobs: PromiseWithResolvers<string>[] = []
  const ask = (key: string) =>
    flights.run(key, () => {
      const job = Promise.withResolvers<string>()
      jobs.push(job)
      return job.promise
    })
  const first = ask('a')
  assert.equal(ask('a'), first)
  const other = ask('b')
  assert.equal(jobs.length, 2)
  jobs[1]?.reject(new Error('refused'))
  await assert.rejects(other, { message: 'refused' })
  jobs[0]?.resolve('one')
  assert.equal(await first, 'one')
})

test('A key whose job has ended, well or not, gets a job of its own again.', async () => {
  const flights = new SingleFlight<number>()
  let runs = 0
  const job = async () => {
    runs += 1
    return runs
  }
  assert.equal(await flights.run('a', job), 1)
  await assert.rejects(flights.run('b', () => Promise.reject(new Error('refused'))))
  assert.equal(await flights.run('a', job), 2)
  assert.equal(await flights.run('b', job), 3)
})
