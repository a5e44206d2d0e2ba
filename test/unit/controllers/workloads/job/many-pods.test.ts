import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { podSchema } from '../../../../../src/controllers/objects/pod.ts'
import { noStreak } from '../../../../../src/controllers/workloads/job/backoff.ts'
import { planPods } from '../../../../../src/controllers/workloads/job/plan.ts'
import { jobSchema } from '../../../../../src/controllers/workloads/job/shapes.ts'
import { jobNames } from '../../../../../src/model/job-names.ts'
import { assertLinear } from '../../../../helpers/growth.ts'

const names = jobNames('batch.kubernetes.io', 'batch.kubernetes.io')
const [uid, creationTimestamp] = ['job-uid', '2026-01-01T00:00:00Z']
const template = { metadata: { labels: { app: 'sum' } }, spec: {} }

/** An Indexed Job with a running Pod for each of these indexes. */
function viewOf(completions: number, indexes: readonly number[]) {
  const metadata = { namespace: 'default', resourceVersion: '1', creationTimestamp }
  const job = jobSchema.parse({
    metadata: { ...metadata, name: 'sum', uid },
    spec: {
      completionMode: 'Indexed',
      completions,
      parallelism: completions,
      backoffLimit: 6,
      selector: { matchLabels: { app: 'sum' } },
      template,
    },
    status: {},
  })
  const pods = indexes.map((index, place) =>
    podSchema.parse({
      metadata: {
        ...metadata,
        name: `sum-${place}`,
        uid: `pod-${place}`,
        labels: { app: 'sum' },
        finalizers: [names.trackingFinalizer],
        annotations: { [names.completionIndex]: String(index) },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'sum', uid, controller: true }],
      },
      spec: { nodeName: `node-${place % 50}`, containers: [] },
      status: { phase: 'Running' },
    }),
  )
  return { job, pods, names, nowMs: Date.parse(creationTimestamp) }
}

const planned = (view: ReturnType<typeof viewOf>) => planPods(view, noStreak).writes

describe('the Pods of an Indexed Job', () => {
  test('are kept where each index has one, and of doubles one goes, with its finalizer', () => {
    assert.deepEqual(planned(viewOf(3, [0, 1, 2])), [])
    const verbs = planned(viewOf(3, [0, 1, 1, 2])).map(({ verb }) => verb)
    assert.deepEqual(verbs, ['patch', 'delete'])
  })

  test('without an index of the Job go', () => {
    assert.deepEqual(
      planned(viewOf(2, [0, 1, 2])).map(({ verb }) => verb),
      ['patch', 'delete'],
    )
  })

  test('are planned in time proportional to their number', () => {
    const sizes = [750, 3_000]
    const views = new Map(
      sizes.map((count) => [
        count,
        viewOf(
          count,
          Array.from({ length: count }, (_, at) => at),
        ),
      ]),
    )
    assertLinear('pods', 750, (count) => {
      const view = views.get(count)
      assert.ok(view)
      assert.deepEqual(planned(view), [])
    })
  })
})
