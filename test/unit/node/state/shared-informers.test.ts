import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WireObject } from '../../../../src/client/index.ts'
import { networksOf } from '../../../../src/node/dns/sources/sources.ts'
import { readNamespace } from '../../../../src/node/policy/read-namespace.ts'
import { parseNode } from '../../../../src/node/routes/nodes.ts'
import { reduceNamespace, reduceNode } from '../../../../src/node/state/shared-informers.ts'

const annotation = 'ingress.example.org/addresses'
const node = {
  metadata: {
    name: 'n1',
    uid: 'u1',
    resourceVersion: '7',
    creationTimestamp: '2026-11-28T10:00:00Z',
    annotations: { [annotation]: '192.0.2.1', other: 'x'.repeat(1_000) },
    labels: { zone: 'a' },
  },
  spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'], taints: [{ key: 'a' }] },
  status: {
    addresses: [
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'Hostname', address: 'n1' },
    ],
    conditions: [
      { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-28T10:00:00Z' },
      { type: 'DiskPressure', status: 'False' },
    ],
    images: [{ names: ['x'.repeat(1_000)] }],
  },
}

describe('what is kept of a Node', () => {
  const reduced = reduceNode(node, annotation)

  it('says the same to DNS and to the routes as the whole', () => {
    assert.deepEqual(networksOf(reduced as WireObject), networksOf(node))
    assert.equal(networksOf(node).length, 3)
    assert.deepEqual(parseNode(reduced), parseNode(node))
    assert.notEqual(parseNode(node)?.createdAtMs, Number.POSITIVE_INFINITY)
  })

  it('has the annotation of Ingress addresses and the condition Ready, and little else', () => {
    const { metadata, status } = reduced as typeof node
    assert.deepEqual(metadata.annotations, { [annotation]: '192.0.2.1' })
    assert.deepEqual(status.conditions, [{ type: 'Ready', status: 'True' }])
    assert.ok(JSON.stringify(reduced).length < 500, JSON.stringify(reduced))
  })

  it('is judged by its readers where fields are of the wrong type', () => {
    const odd = { metadata: { ...node.metadata, annotations: 'text' }, spec: { podCIDRs: 'text' }, status: [] }
    const kept = reduceNode(odd, annotation)
    assert.deepEqual(networksOf(kept as WireObject), [])
    assert.equal(parseNode(kept), undefined)
  })
})

describe('what is kept of a Namespace', () => {
  it('says the same to policies as the whole', () => {
    for (const labels of [{ a: 'b' }, undefined, 'text', { a: 5 }]) {
      const whole = { metadata: { name: 'n1', resourceVersion: '3', annotations: { long: 'x' }, labels }, spec: {} }
      const reduced = reduceNamespace(whole)
      assert.deepEqual(readNamespace(reduced), readNamespace(whole))
      assert.ok(!JSON.stringify(reduced).includes('long'))
    }
  })
})
