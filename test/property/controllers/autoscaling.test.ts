import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noHistory } from '../../../src/controllers/autoscaling/behavior.ts'
import { afterRescale, type Plan, planScaling } from '../../../src/controllers/autoscaling/plan.ts'
import { nowMs, situationOf } from '../../helpers/autoscaling.ts'

const cpu = fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined })
const policies = fc.array(
  fc.record({
    type: fc.constantFrom('Pods', 'Percent'),
    value: fc.integer({ min: 1, max: 200 }),
    periodSeconds: fc.integer({ min: 1, max: 120 }),
  }),
  { minLength: 1, maxLength: 3 },
)
const rules = fc.record({
  stabilizationWindowSeconds: fc.integer({ min: 0, max: 300 }),
  selectPolicy: fc.constantFrom('Min', 'Max', 'Disabled'),
  policies,
})
const behavior = fc.option(fc.record({ scaleUp: rules, scaleDown: rules }), { nil: undefined })
const range = fc.record({ least: fc.integer({ min: 1, max: 8 }), more: fc.integer({ min: 0, max: 12 }) })

interface Given {
  readonly scaleUp: { readonly selectPolicy: string }
  readonly scaleDown: { readonly selectPolicy: string }
}

function assertDirection(given: Given | undefined, change: number): void {
  if (given?.scaleUp.selectPolicy === 'Disabled') assert.ok(change <= 0)
  if (given?.scaleDown.selectPolicy === 'Disabled') assert.ok(change >= 0)
}

test('Over any load the size stays in its range once it is there, and a disabled direction is never taken', () => {
  const steps = fc.array(fc.tuple(fc.array(cpu, { minLength: 20, maxLength: 20 }), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 12,
  })
  fc.assert(
    fc.property(range, behavior, steps, ({ least, more }, given, loads) => {
      const spec = { minReplicas: least, maxReplicas: least + more, ...(given && { behavior: given }) }
      let history = noHistory
      let size = least
      let atMs = nowMs
      for (const [load, seconds] of loads) {
        atMs += seconds * 1000
        const situation = situationOf(load.slice(0, size), spec, { history, nowMs: atMs })
        const plan: Plan = planScaling(situation)
        assert.deepEqual(planScaling(situation), plan, 'the plan is pure')
        const next = plan.rescaleReason === undefined ? size : plan.desiredReplicas
        assert.ok(next >= least && next <= least + more, `${next} is not from ${least} to ${least + more}`)
        assertDirection(given, next - size)
        history = (plan.rescaleReason === undefined ? plan : afterRescale(plan, atMs)).history
        size = next
      }
    }),
    { numRuns: 300 },
  )
})

test('More use never asks for fewer replicas', () => {
  const loads = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 8 })
  const size = (load: readonly number[]) => {
    const spec = {
      maxReplicas: 1000,
      behavior: {
        scaleUp: { policies: [{ type: 'Pods', value: 1000, periodSeconds: 1 }], stabilizationWindowSeconds: 0 },
        scaleDown: { policies: [{ type: 'Pods', value: 1000, periodSeconds: 1 }], stabilizationWindowSeconds: 0 },
      },
    }
    const plan = planScaling(situationOf(load, spec, { history: noHistory }))
    return plan.desiredReplicas
  }
  fc.assert(
    fc.property(loads, fc.integer({ min: 0, max: 200 }), (load, extra) => {
      assert.ok(size(load.map((each) => each + extra)) >= size(load))
    }),
    { numRuns: 300 },
  )
})
