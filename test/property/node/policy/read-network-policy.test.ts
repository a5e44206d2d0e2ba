import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { readNamespace } from '../../../../src/node/policy/read-namespace.ts'
import { readNetworkPolicy } from '../../../../src/node/policy/read-network-policy.ts'
import { readPolicyPod } from '../../../../src/node/policy/read-policy-pod.ts'
import { anyCluster, anyFlow, anyPolicy } from '../../../helpers/arbitrary-policies.ts'
import { countValues, damageValue } from '../../../helpers/damaged-values.ts'
import { clusterOf } from '../../../helpers/policy-cluster.ts'
import { toPolicyObject } from '../../../helpers/policy-objects.ts'

describe('the reader of policies', () => {
  it('reads every policy as it was written, without a problem', () => {
    fc.assert(
      fc.property(
        anyPolicy.filter(({ ingress, egress }) => ingress !== undefined || egress !== undefined),
        (policy) => {
          const { value, problems } = readNetworkPolicy(toPolicyObject(policy))
          assert.deepEqual(problems, [])
          assert.deepEqual(value, structuredClone(policy))
        },
      ),
    )
  })

  it('allows no flow by a damaged policy that the whole one denies', () => {
    // None of them can stand anywhere in a policy.
    const anyDamage = fc.constantFrom<unknown>(true, -1, 'a b', { a: 1 }, [true], [[]])
    const manyFlows = fc.array(anyFlow, { minLength: 20, maxLength: 60 })
    fc.assert(
      fc.property(anyCluster, anyPolicy, fc.nat(), anyDamage, manyFlows, (objects, policy, seed, damage, flows) => {
        const { metadata, spec } = toPolicyObject(policy)
        const whole = readNetworkPolicy({ metadata, spec }).value
        const { value: damaged, problems } = readNetworkPolicy({
          metadata,
          spec: damageValue(spec, seed % countValues(spec), damage),
        })
        assert.ok(whole !== undefined && damaged !== undefined)
        assert.ok(problems.length > 0)
        const evaluatorOf = (added: typeof whole) =>
          new PolicyEvaluator(clusterOf({ ...objects, policies: [added] }), { judges: 'everywhere' })
        const [before, after] = [evaluatorOf(whole), evaluatorOf(damaged)]
        for (const flow of flows) {
          if (after.judge(flow).isAllowed) assert.equal(before.judge(flow).isAllowed, true)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('throws for no value, and neither do those of pods and namespaces', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (metadata, spec) => {
        for (const json of [metadata, { metadata, spec }, { metadata: { namespace: 'x', name: 'p' }, spec }]) {
          readNetworkPolicy(json)
          readPolicyPod(json, 'n1')
          readNamespace(json)
        }
      }),
    )
  })
})
