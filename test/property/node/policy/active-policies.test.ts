import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ActivePolicies } from '../../../../src/node/policy/active-policies.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { clusterOf } from '../../../helpers/policy-cluster.ts'
import { anyHistory, changesBetween, nothing } from '../../../helpers/policy-histories.ts'

describe('the active policies', () => {
  test('after each change they isolate the local pods that the evaluator isolates, and need what a fresh start needs', () => {
    fc.assert(
      fc.property(anyHistory, (clusters) => {
        const stepwise = new ActivePolicies()
        let before = nothing
        for (const cluster of clusters) {
          stepwise.take(changesBetween(before, cluster))
          before = cluster
          const evaluator = new PolicyEvaluator(clusterOf(cluster), { judges: 'this-node' })
          for (const pod of cluster.pods.filter(({ isLocal, isUnknown }) => isLocal && isUnknown !== true))
            for (const direction of ['ingress', 'egress'] as const)
              assert.deepEqual(
                stepwise.isolating(pod.key, direction),
                evaluator.isolatingPolicies(pod, direction).map(({ key }) => key),
              )
          const fresh = new ActivePolicies()
          fresh.take(changesBetween(nothing, cluster))
          assert.deepEqual(stepwise.remotePods, fresh.remotePods)
        }
      }),
      { numRuns: 200 },
    )
  })
})
