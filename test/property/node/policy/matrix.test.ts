import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ipFamily, ipToBigInt } from '../../../../src/model/ip.ts'
import { policyEffect } from '../../../../src/node/policy/effect.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { type MatrixPart, type PolicyMatrix, policyMatrix } from '../../../../src/node/policy/matrix.ts'
import type { Reach } from '../../../../src/node/policy/reach.ts'
import type { Flow, FlowEnd } from '../../../../src/node/policy/verdict.ts'
import { anyCluster, anyFlow, anyPolicy } from '../../../helpers/arbitrary-policies.ts'
import { type ClusterObjects, clusterOf } from '../../../helpers/policy-cluster.ts'

type Objects = Required<ClusterObjects>

const manyFlows = fc.array(anyFlow, { minLength: 10, maxLength: 40 })

function judge(objects: Objects, flow: Flow): boolean {
  return new PolicyEvaluator(clusterOf(objects), { judges: 'everywhere' }).judge(flow).isAllowed
}

function podAt({ address }: FlowEnd, { pods }: Objects) {
  return pods.find(({ ips }) => address !== undefined && ips.includes(address))
}

function holdsFlow(reach: readonly Reach[], { protocol, port, source: { address } }: Flow): boolean {
  assert.ok(address !== undefined)
  const family = ipFamily(address)
  const ports = (reach.find((each) => each.family === family) ?? reach.find((each) => each.family === undefined))?.ports
  assert.ok(ports !== undefined, 'each family has its ports')
  if (typeof ports === 'string') return ports === 'all'
  return ports.some((span) => span.protocol === protocol && span.first <= port && port <= span.last)
}

/** The one part that has the peer: a pod by its group, an address by its span. */
function partOf<Part extends Pick<MatrixPart, 'groups' | 'addresses'>>(
  parts: readonly Part[],
  peer: FlowEnd,
  { groups }: Pick<PolicyMatrix, 'groups'>,
  objects: Objects,
): Part | undefined {
  const pod = podAt(peer, objects)
  const holdsAddress = ({ addresses }: Part) =>
    addresses.some(({ family, first, last }) => {
      const { address } = peer
      if (address === undefined || ipFamily(address) !== family) return false
      return ipToBigInt(first) <= ipToBigInt(address) && ipToBigInt(address) <= ipToBigInt(last)
    })
  const found = parts.filter((part) =>
    pod === undefined ? holdsAddress(part) : part.groups.some((id) => groups[id]?.pods.includes(pod.key)),
  )
  assert.ok(found.length <= 1, 'a peer stands in one part')
  return found[0]
}

function isItself({ source, destination }: Flow, objects: Objects): boolean {
  return podAt(source, objects) !== undefined && podAt(source, objects) === podAt(destination, objects)
}

describe('the matrix of a namespace', () => {
  it('says of every flow from and to its pods what the evaluator says', () => {
    fc.assert(
      fc.property(anyCluster, manyFlows, (objects, flows) => {
        const matrix = policyMatrix(clusterOf(objects), 'x')
        for (const flow of flows.filter((each) => !isItself(each, objects))) {
          for (const [own, peer, side] of [
            [flow.destination, flow.source, 'from'],
            [flow.source, flow.destination, 'to'],
          ] as const) {
            const pod = podAt(own, objects)
            if (pod?.namespace !== 'x') continue
            const row = matrix.rows.find(({ group }) => matrix.groups[group]?.pods.includes(pod.key))
            const part = partOf(row?.[side] ?? [], peer, matrix, objects)
            assert.ok(part !== undefined, 'every peer stands in a part')
            assert.equal(holdsFlow(part.reach, flow), judge(objects, flow))
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('has every pod of the cluster in one group, and a row for each group of the namespace', () => {
    fc.assert(
      fc.property(anyCluster, (objects) => {
        const { groups, rows } = policyMatrix(clusterOf(objects), 'y')
        assert.deepEqual(groups.flatMap(({ pods }) => pods).sort(), objects.pods.map(({ key }) => key).sort())
        assert.deepEqual(
          rows.map(({ group }) => group),
          groups.filter(({ namespace }) => namespace === 'y').map(({ id }) => id),
        )
      }),
    )
  })
})

describe('the effect of policies', () => {
  it('is for every flow the difference of the verdicts before and after', () => {
    fc.assert(
      fc.property(
        anyCluster,
        fc.uniqueArray(anyPolicy, { selector: ({ key }) => key, maxLength: 3 }),
        manyFlows,
        (objects, applied, flows) => {
          const effect = policyEffect(clusterOf(objects), applied)
          const kept = objects.policies.filter(({ key }) => !applied.some((policy) => policy.key === key))
          const after = { ...objects, policies: [...kept, ...applied] }
          for (const flow of flows.filter((each) => !isItself(each, objects))) {
            const parts = (
              [
                ['from', flow.destination, flow.source],
                ['to', flow.source, flow.destination],
              ] as const
            ).flatMap(([side, own, peer]) => {
              const key = podAt(own, objects)?.key
              const row = effect.rows.find(({ group }) => key !== undefined && effect.groups[group]?.pods.includes(key))
              return partOf(row?.[side] ?? [], peer, effect, objects) ?? []
            })
            const verdicts = [judge(objects, flow), judge(after, flow)]
            if (verdicts[0] !== verdicts[1]) assert.ok(parts.length > 0, 'a flow that changes is in a row')
            for (const part of parts)
              assert.deepEqual([holdsFlow(part.before, flow), holdsFlow(part.after, flow)], verdicts)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('is nothing where policies are replaced by themselves', () => {
    fc.assert(
      fc.property(anyCluster, (objects) => {
        assert.deepEqual(policyEffect(clusterOf(objects), objects.policies).rows, [])
      }),
    )
  })
})
