import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import type { Endpoint } from '../../../../src/model/endpoint-slice.ts'
import { StateTraffic } from '../../../../src/node/pods/traffic.ts'
import type { NodeState } from '../../../../src/node/state/node-state.ts'
import { ipOf } from '../../../helpers/addresses.ts'

const pod = { uid: 'u-1', namespace: 'shop', name: 'web', hostNetwork: false, ips: [ipOf('10.244.0.7')] }
const service = 'shop/web' as ObjectKey

/** Creates a state of one Service with these endpoints, and two planes. */
function makeNode(endpoints: readonly Partial<Endpoint>[]) {
  let revision = 5
  let tell: (change: { readonly services: ReadonlySet<string> }) => void = () => {}
  const node = {
    get revision() {
      return revision
    },
    /** A step in which the Service changed. */
    set revision(next) {
      revision = next
      tell({ services: new Set([service]) })
    },
    synced: true,
    endpoints,
    planes: { proxy: 5, dns: 5 },
    looks: [] as string[],
  }
  const state = {
    get revision() {
      return node.revision
    },
    get synced() {
      return node.synced
    },
    subscribe: (listener: typeof tell) => {
      tell = listener
      return () => {}
    },
    service: () => ({}),
    serviceKeys: () => ['shop/first', service],
    slicesOf: (key: ObjectKey) => {
      node.looks.push(key)
      return key === service ? [{ endpoints: node.endpoints }] : []
    },
  } as unknown as NodeState
  const traffic = new StateTraffic(state, {
    isApplied: (revision) => Object.values(node.planes).every((each) => each >= revision),
  })
  return { node, isOut: () => traffic.isOut(pod) }
}

test('a pod is out of the rules after every plane has applied a state without a ready endpoint of it', () => {
  const ready = { address: ipOf('10.244.0.7'), ready: true }
  const { node, isOut } = makeNode([ready])
  assert.equal(isOut(), false)
  node.endpoints = [{ ...ready, ready: false }]
  node.revision = 6
  assert.equal(isOut(), false, 'no plane has that state')
  node.planes = { proxy: 6, dns: 5 }
  assert.equal(isOut(), false, 'one plane has not')
  // Later revisions follow; the first revision without the pod counts.
  node.revision = 9
  node.planes = { proxy: 6, dns: 6 }
  assert.equal(isOut(), true)
})

test('an endpoint is found by the name of its pod too, and one that returns starts over', () => {
  const { node, isOut } = makeNode([])
  node.planes = { proxy: 4, dns: 5 }
  assert.equal(isOut(), false)
  node.endpoints = [{ address: ipOf('198.51.100.1'), ready: true, target: 'Pod shop/web' }]
  node.revision = 6
  node.planes = { proxy: 6, dns: 6 }
  assert.equal(isOut(), false)
  node.endpoints = []
  node.revision = 7
  assert.equal(isOut(), false)
  node.planes = { proxy: 7, dns: 7 }
  assert.equal(isOut(), true)
})

test('no pod is out of the rules before the first list of the API', () => {
  const { node, isOut } = makeNode([])
  node.synced = false
  assert.equal(isOut(), false)
})

test('one revision is searched once, and later only Services that had the pod or changed', () => {
  const { node, isOut } = makeNode([{ address: ipOf('10.244.0.7'), ready: true }])
  const looks = () => node.looks.splice(0)
  assert.deepEqual([isOut(), looks()], [false, ['shop/first', 'shop/web']])
  assert.deepEqual([isOut(), looks()], [false, []])
  node.revision = 6
  assert.deepEqual([isOut(), looks()], [false, ['shop/web']])
  node.endpoints = []
  node.revision = 7
  assert.deepEqual([isOut(), looks()], [false, ['shop/web']])
  node.planes = { proxy: 7, dns: 7 }
  assert.deepEqual([isOut(), looks()], [true, []])
})
