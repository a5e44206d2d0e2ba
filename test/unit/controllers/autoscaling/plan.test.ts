import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { History } from '../../../../src/controllers/autoscaling/behavior.ts'
import {
  afterFailedRescale,
  afterRescale,
  conditionsAfter,
  type Plan,
  planScaling,
  statusAfter,
} from '../../../../src/controllers/autoscaling/plan.ts'
import { autoscalerOf, nowMs, situationOf } from '../../../helpers/autoscaling.ts'

const busy = (pods: number) => Array.from({ length: pods }, () => 100)
const idle = (pods: number) => Array.from({ length: pods }, () => 0)
const reasonOf = ({ conditions }: Plan, type: string) => conditions.findLast((each) => each.type === type)?.reason

/** Recommendations as seconds ago and replicas; changes as seconds ago and difference. */
function past(recommended: readonly [number, number][], changed: readonly [number, number][] = []): History {
  return {
    recommendations: recommended.map(([ago, replicas]) => ({ replicas, atMs: nowMs - ago * 1000 })),
    changes: changed.map(([ago, change]) => ({ change, atMs: nowMs - ago * 1000 })),
  }
}

const rules = (fields: object) => ({
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
  stabilizationWindowSeconds: 0,
  ...fields,
})
const behavior = (up: object, down: object = {}) => ({ behavior: { scaleUp: rules(up), scaleDown: rules(down) } })
const policy = (type: string, value: number, periodSeconds = 60) => ({ type, value, periodSeconds })

describe('the plan of an autoscaler', () => {
  test('grows above the target and says why', () => {
    const plan = planScaling(situationOf(busy(3)))
    assert.equal(plan.desiredReplicas, 6)
    assert.equal(plan.rescaleReason, 'cpu resource utilization (percentage of request) above target')
    assert.deepEqual(
      ['AbleToScale', 'ScalingActive', 'ScalingLimited'].map((type) => reasonOf(plan, type)),
      ['ReadyForNewScale', 'ValidMetricFound', 'DesiredWithinRange'],
    )
    assert.deepEqual(plan.currentMetrics, [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '100m' } } },
    ])
  })

  test('grows to the maximum, and without a behavior to twice the size or 4 at once', () => {
    const full = planScaling(situationOf(busy(8)))
    assert.deepEqual([full.desiredReplicas, reasonOf(full, 'ScalingLimited')], [10, 'TooManyReplicas'])
    const one = planScaling(situationOf([900]))
    assert.deepEqual([one.desiredReplicas, reasonOf(one, 'ScalingLimited')], [4, 'ScaleUpLimit'])
  })

  test('does not shrink while a recommendation of the last five minutes was higher', () => {
    const wait = planScaling(situationOf(idle(5), {}, { history: past([[200, 5]]) }))
    assert.deepEqual([wait.desiredReplicas, reasonOf(wait, 'AbleToScale')], [5, 'ScaleDownStabilized'])
    const go = planScaling(situationOf(idle(5), {}, { history: past([[301, 5]]) }))
    assert.deepEqual([go.desiredReplicas, reasonOf(go, 'ScalingLimited')], [1, 'TooFewReplicas'])
    assert.equal(go.rescaleReason, 'All metrics below target')
    assert.equal(go.history.recommendations.length, 1)
  })

  test('does not shrink at its first pass: a new leader knows no recommendations', () => {
    assert.equal(planScaling(situationOf(idle(5))).desiredReplicas, 5)
  })

  test('goes into its range without any figures', () => {
    const over = planScaling(situationOf(busy(12)))
    assert.deepEqual(
      [over.desiredReplicas, over.rescaleReason],
      [10, 'Current number of replicas above Spec.MaxReplicas'],
    )
    const under = planScaling(situationOf(idle(1), { minReplicas: 2 }))
    assert.deepEqual(
      [under.desiredReplicas, under.rescaleReason],
      [2, 'Current number of replicas below Spec.MinReplicas'],
    )
  })

  test('leaves a target of zero replicas alone', () => {
    const plan = planScaling(situationOf([]))
    assert.deepEqual([plan.rescaleReason, reasonOf(plan, 'ScalingActive')], [undefined, 'ScalingDisabled'])
  })

  test('takes the metric that asks for the most', () => {
    const metrics = [30, 90].map((averageUtilization) => ({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    }))
    assert.equal(planScaling(situationOf([90, 90], { metrics })).desiredReplicas, 4)
  })

  for (const [type, field, reason] of [
    ['Pods', 'pods', 'FailedGetPodsMetric'],
    ['Object', 'object', 'FailedGetObjectMetric'],
    ['External', 'external', 'FailedGetExternalMetric'],
  ] as const)
    test(`refuses a metric of type ${type} in words, and does nothing by it alone`, () => {
      const metrics = [{ type, [field]: { metric: { name: 'hits' } } }]
      const plan = planScaling(situationOf(busy(2), { metrics }))
      assert.deepEqual([plan.rescaleReason, reasonOf(plan, 'ScalingActive')], [undefined, reason])
      assert.match(plan.events[0]?.message ?? '', /^unable to get metric hits: \w+ metrics need \w+\.metrics\.k8s\.io/)
      assert.equal(plan.events[1]?.reason, 'FailedComputeMetricsReplicas')
    })

  test('with one metric unknown grows by the others and never shrinks', () => {
    const target = { type: 'Utilization', averageUtilization: 50 }
    const metrics = [
      { type: 'Pods', pods: { metric: { name: 'hits' } } },
      { type: 'Resource', resource: { name: 'cpu', target } },
    ]
    const up = planScaling(situationOf(busy(2), { metrics }))
    assert.deepEqual([up.desiredReplicas, reasonOf(up, 'ScalingActive')], [4, 'ValidMetricFound'])
    const down = planScaling(situationOf(idle(2), { metrics }))
    assert.deepEqual([down.rescaleReason, reasonOf(down, 'ScalingActive')], [undefined, 'FailedGetPodsMetric'])
  })

  test('names the reason when there are no figures at all', () => {
    const usage = { kind: 'unknown', why: 'unable to fetch metrics from resource metrics API: x' } as const
    const plan = planScaling(situationOf(busy(2), {}, { usage }))
    assert.equal(reasonOf(plan, 'ScalingActive'), 'FailedGetResourceMetric')
    assert.equal(
      plan.events[0]?.message,
      'failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: x',
    )
    assert.deepEqual(plan.currentMetrics, [{ type: '' }])
  })

  test('does nothing while its pods have another autoscaler', () => {
    const selectorProblem = { type: 'Warning', reason: 'AmbiguousSelector', message: 'two' } as const
    const plan = planScaling(situationOf(busy(2), {}, { selectorProblem }))
    assert.deepEqual([plan.rescaleReason, reasonOf(plan, 'ScalingActive')], [undefined, 'AmbiguousSelector'])
  })
})

describe('a behavior', () => {
  const sized = (pods: number, spec: object, history: History, cpu: number) =>
    planScaling(
      situationOf(
        Array.from({ length: pods }, () => cpu),
        { maxReplicas: 100, ...spec },
        { history },
      ),
    )

  test('waits with a scale up for the lowest recommendation of its window', () => {
    const spec = behavior({ stabilizationWindowSeconds: 60 })
    const plan = sized(4, spec, past([[30, 5]]), 100)
    assert.deepEqual([plan.desiredReplicas, reasonOf(plan, 'AbleToScale')], [5, 'ScaleUpStabilized'])
    assert.equal(sized(4, spec, past([[61, 5]]), 100).desiredReplicas, 8)
  })

  test('allows so many pods or so much percent in a period, counted from its start', () => {
    const two = behavior({ policies: [policy('Pods', 2)] })
    assert.equal(sized(4, two, past([[90, 4]]), 100).desiredReplicas, 6)
    const after = sized(6, two, past([[90, 6]], [[30, 2]]), 100)
    assert.deepEqual([after.desiredReplicas, reasonOf(after, 'ScalingLimited')], [6, 'ScaleUpLimit'])
    assert.equal(sized(6, two, past([[90, 6]], [[61, 2]]), 100).desiredReplicas, 8)
    assert.equal(sized(5, behavior({ policies: [policy('Percent', 10)] }), past([[90, 5]]), 100).desiredReplicas, 6)
    const half = behavior({}, { policies: [policy('Percent', 50)] })
    const down = sized(8, half, past([[90, 8]]), 0)
    assert.deepEqual([down.desiredReplicas, reasonOf(down, 'ScalingLimited')], [4, 'ScaleDownLimit'])
  })

  test('takes the policy of the largest change, of the smallest, or none', () => {
    const policies = [policy('Pods', 1), policy('Percent', 50)]
    const sizes = ['Max', 'Min', 'Disabled'].map((selectPolicy) => {
      const spec = behavior({ selectPolicy, policies }, { selectPolicy, policies })
      return [100, 0].map((cpu) => sized(8, spec, past([[90, 8]]), cpu).desiredReplicas)
    })
    assert.deepEqual(sizes, [
      [12, 4],
      [9, 7],
      [8, 8],
    ])
  })

  test('has the window of the settings for a scale down that names none, and its own tolerance', () => {
    const spec = behavior({ tolerance: '500m' }, { stabilizationWindowSeconds: undefined })
    assert.equal(sized(4, spec, past([[200, 4]]), 0).desiredReplicas, 4)
    assert.equal(sized(4, spec, past([[301, 4]]), 0).desiredReplicas, 1)
    assert.equal(sized(4, spec, past([[301, 4]]), 70).desiredReplicas, 4)
  })
})

describe('the status after a plan', () => {
  const conditions = [
    { type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound', message: 'm', lastTransitionTime: 'before' },
  ]

  test('has the size, the time of a change, and conditions in one order whose time is that of their status', () => {
    const plan = afterRescale(planScaling(situationOf(busy(2))), nowMs)
    const status = statusAfter(autoscalerOf({}, { conditions }), plan, nowMs)
    assert.deepEqual([status.currentReplicas, status.desiredReplicas], [2, 4])
    assert.equal(status.lastScaleTime, '2026-01-01T12:00:00Z')
    assert.deepEqual(
      status.conditions.map(({ type, reason, lastTransitionTime }) => [type, reason, lastTransitionTime]),
      [
        ['AbleToScale', 'SucceededRescale', '2026-01-01T12:00:00Z'],
        ['ScalingActive', 'ValidMetricFound', 'before'],
        ['ScalingLimited', 'DesiredWithinRange', '2026-01-01T12:00:00Z'],
      ],
    )
    assert.equal(plan.events.at(-1)?.message, `New size: 4; reason: ${plan.rescaleReason}`)
    assert.deepEqual(plan.history.changes, [{ change: 2, atMs: nowMs }])
  })

  test('of a size that could not be written has no time of a change', () => {
    const plan = afterFailedRescale(planScaling(situationOf(busy(2))), 'no')
    const status = statusAfter(autoscalerOf({}), plan, nowMs)
    assert.equal(status.lastScaleTime, null)
    assert.deepEqual([status.conditions[0]?.status, status.conditions[0]?.reason], ['False', 'FailedUpdateScale'])
    assert.deepEqual(plan.history.changes, [])
  })

  test('is the same object of conditions in value if nothing changed', () => {
    const { conditions: changes } = planScaling(situationOf([50]))
    const first = conditionsAfter([], changes, nowMs)
    assert.deepEqual(conditionsAfter(first, changes, nowMs + 5000), first)
  })
})
