import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { podSchema } from '../../../../../src/controllers/objects/pod.ts'
import { extendStreak, noStreak, waitAfterFailures } from '../../../../../src/controllers/workloads/job/backoff.ts'
import { jobSchema } from '../../../../../src/controllers/workloads/job/shapes.ts'
import { createDialect } from '../../../../../src/model/dialect.ts'

const names = createDialect('kubernetes').jobs
const job = jobSchema.parse({ metadata: { name: 'j', uid: 'job' }, spec: { template: {} } })
const pod = (uid: string, phase: string, seconds: number) =>
  podSchema.parse({
    metadata: { name: uid, uid, finalizers: [names.trackingFinalizer], creationTimestamp: '2026-01-01T00:00:00Z' },
    status: {
      phase,
      containerStatuses: [{ name: 'c', state: { terminated: { finishedAt: new Date(seconds * 1000).toISOString() } } }],
    },
  })

describe('the failures of a Job in a row', () => {
  test('are counted once each, with the time of the last', () => {
    const first = extendStreak(noStreak, job, [pod('a', 'Failed', 1)], names)
    const second = extendStreak(first, job, [pod('a', 'Failed', 1), pod('b', 'Failed', 5)], names)
    assert.deepEqual([first.failures, second.failures, second.lastFailureMs], [1, 2, 5000])
    assert.deepEqual(extendStreak(second, job, [pod('b', 'Failed', 5)], names).failures, 2)
  })

  test('begin again after a success', () => {
    const before = extendStreak(noStreak, job, [pod('a', 'Failed', 1)], names)
    const pods = [pod('a', 'Failed', 1), pod('b', 'Failed', 2), pod('c', 'Succeeded', 3), pod('d', 'Failed', 4)]
    assert.equal(extendStreak(before, job, pods, names).failures, 1)
    assert.equal(extendStreak(before, job, pods.slice(0, 3), names).failures, 0)
  })

  test('make the next Pod wait 10 s, 20 s, 40 s, at most 10 minutes', () => {
    const waits = [0, 1, 2, 3, 7, 60].map((failures) => waitAfterFailures(failures, 0, 0) / 1000)
    assert.deepEqual(waits, [0, 10, 20, 40, 600, 600])
    assert.equal(waitAfterFailures(1, 0, 4_000), 6_000)
    assert.equal(waitAfterFailures(1, 0, 11_000), 0)
  })
})
