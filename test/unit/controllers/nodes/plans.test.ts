import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Heartbeats } from '../../../../src/controllers/nodes/heartbeats.ts'
import { conditionsOfLost, taintsOf } from '../../../../src/controllers/nodes/plan-node.ts'
import { notReadyWrites, planEviction } from '../../../../src/controllers/nodes/plan-pods.ts'
import { type Node, nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { type Pod, podSchema } from '../../../../src/controllers/objects/pod.ts'
import { createDialect } from '../../../../src/model/dialect.ts'

const names = createDialect('kubernetes').taints
const now = '2026-11-22T12:00:00Z'
const nowMs = Date.parse(now)

function nodeOf(spec: object, conditions: readonly object[] = []): Node {
  return nodeSchema.parse({ metadata: { name: 'n1', uid: 'u', resourceVersion: '1' }, spec, status: { conditions } })
}

function podOf(name: string, tolerations: unknown, more: object = {}): Pod {
  const status = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T11:00:00Z' }] }
  const metadata = { name, namespace: 'default', uid: name, resourceVersion: '7', ...more }
  return podSchema.parse({ metadata, spec: { nodeName: 'n1', tolerations }, status })
}

test('a node is silent from its last sign of life on, whatever its clock says', () => {
  const heartbeats = new Heartbeats()
  assert.equal(heartbeats.silentMs('n1', 'a', 1000), 0)
  assert.equal(heartbeats.silentMs('n1', 'a', 4000), 3000)
  assert.equal(heartbeats.silentMs('n1', 'b', 5000), 0)
  heartbeats.forget('n1')
  assert.equal(heartbeats.silentMs('n1', 'b', 9000), 0)
})

describe('the conditions of a lost node', () => {
  test('become Unknown where the agent reported them; others stay', () => {
    const node = nodeOf({}, [
      { type: 'Ready', status: 'True', lastTransitionTime: 'earlier' },
      { type: 'DiskPressure', status: 'False' },
      { type: 'Foreign', status: 'True' },
    ])
    const conditions = conditionsOfLost(node, nowMs)
    assert.deepEqual(conditions.map(({ type, status, reason }) => [type, status, reason]).sort(), [
      ['DiskPressure', 'Unknown', 'NodeStatusUnknown'],
      ['Foreign', 'True', ''],
      ['Ready', 'Unknown', 'NodeStatusUnknown'],
    ])
    const again = nodeOf({}, [...conditions])
    assert.equal(conditionsOfLost(again, nowMs + 5000), again.status.conditions)
  })

  test('say so when there never were any', () => {
    const [ready, ...others] = conditionsOfLost(nodeOf({}), nowMs)
    assert.deepEqual([ready?.type, ready?.status, ready?.reason], ['Ready', 'Unknown', 'NodeStatusNeverUpdated'])
    assert.equal(others.length, 0)
  })
})

describe('taints follow conditions', () => {
  const foreign = { key: 'example.com/own', effect: 'NoSchedule', value: 'x' }
  const table: readonly { title: string; spec: object; conditions: readonly object[]; taints: readonly unknown[] }[] = [
    { title: 'none for a ready node', spec: {}, conditions: [{ type: 'Ready', status: 'True' }], taints: [] },
    { title: 'none for a node that has reported nothing yet', spec: {}, conditions: [], taints: [] },
    {
      title: 'unreachable, twice, when the state is unknown',
      spec: { taints: [foreign] },
      conditions: [{ type: 'Ready', status: 'Unknown' }],
      taints: [
        ['example.com/own', 'NoSchedule', undefined],
        ['node.kubernetes.io/unreachable', 'NoSchedule', now],
        ['node.kubernetes.io/unreachable', 'NoExecute', now],
      ],
    },
    {
      title: 'not-ready instead of unreachable when the agent is back and says so',
      spec: { taints: [{ key: names.unreachable, effect: 'NoExecute', timeAdded: 'earlier' }] },
      conditions: [{ type: 'Ready', status: 'False' }],
      taints: [
        ['node.kubernetes.io/not-ready', 'NoSchedule', now],
        ['node.kubernetes.io/not-ready', 'NoExecute', now],
      ],
    },
    {
      title: 'one for each pressure, and for a node that is closed',
      spec: { unschedulable: true },
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable', 'Ready'].map((type) => ({
        type,
        status: 'True',
      })),
      taints: ['unschedulable', 'memory-pressure', 'disk-pressure', 'pid-pressure', 'network-unavailable'].map(
        (key) => [`node.kubernetes.io/${key}`, 'NoSchedule', now],
      ),
    },
    {
      title: 'gone when the cause is; the time of one that stays, too, and one that lacks it gets it',
      spec: {
        taints: [
          { key: names.unschedulable, effect: 'NoSchedule' },
          { key: 'example.com/old', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' },
          { key: 'example.com/new', effect: 'NoExecute' },
        ],
      },
      conditions: [{ type: 'Ready', status: 'True' }],
      taints: [
        ['example.com/old', 'NoExecute', '2026-01-01T00:00:00Z'],
        ['example.com/new', 'NoExecute', now],
      ],
    },
  ]
  for (const { title, spec, conditions, taints } of table) {
    test(title, () => {
      const result = taintsOf(nodeOf(spec, conditions), names, nowMs)
      assert.deepEqual(
        result.map(({ key, effect, timeAdded }) => [key, effect, timeAdded ?? undefined]),
        taints,
      )
      const settled = nodeOf({ ...spec, taints: result }, conditions)
      assert.equal(taintsOf(settled, names, nowMs + 9000), settled.spec.taints, 'a second pass changes nothing')
    })
  }
})

describe('evictions', () => {
  const taint = (key: string, timeAdded: string | undefined = now) =>
    ({ key, value: '', effect: 'NoExecute', timeAdded }) as const
  const evict = (taints: readonly ReturnType<typeof taint>[], pods: readonly Pod[], later = 0, heedsTrouble = true) => {
    const plan = planEviction({ taints, pods, heedsTrouble, names, nowMs: nowMs + later })
    return { evicted: plan.evicted.map(({ metadata }) => metadata.name), againInMs: plan.againInMs }
  }
  const exists = (key: string, tolerationSeconds?: number) => ({ key, operator: 'Exists', tolerationSeconds })
  const pods = [
    podOf('silent', undefined),
    podOf('patient', [exists(names.unreachable, 600)]),
    podOf('hasty', [exists(names.unreachable, 10), exists(names.unreachable)]),
    podOf('faithful', [exists(names.unreachable)]),
    podOf('leaving', [], { deletionTimestamp: now }),
    podOf('garbled', 'no list'),
  ]

  test('a pod of an unreachable node stays as long as it tolerates that, 300 s when it does not say', () => {
    const taints = [taint(names.unreachable)]
    assert.deepEqual(evict(taints, pods), { evicted: [], againInMs: 10_000 })
    assert.deepEqual(evict(taints, pods, 10_000), { evicted: ['hasty'], againInMs: 290_000 })
    assert.deepEqual(evict(taints, pods, 300_000), { evicted: ['silent', 'hasty', 'garbled'], againInMs: 300_000 })
    assert.deepEqual(evict(taints, pods, 600_000), {
      evicted: ['silent', 'patient', 'hasty', 'garbled'],
      againInMs: undefined,
    })
  })

  test('no pod is evicted while no node is healthy, except for taints of other kinds', () => {
    assert.deepEqual(evict([taint(names.unreachable)], pods, 900_000, false), { evicted: [], againInMs: undefined })
    assert.deepEqual(evict([taint('example.com/away')], pods.slice(0, 1), 0, false).evicted, ['silent'])
  })

  test('taints of other kinds drive away at once what does not tolerate them', () => {
    const mixed = [
      podOf('any', [{ operator: 'Exists' }]),
      podOf('a-while', [exists('example.com/away', 5)]),
      podOf('none', []),
    ]
    assert.deepEqual(evict([taint('example.com/away')], mixed), { evicted: ['none'], againInMs: 5000 })
  })
})

test('ready pods of a lost node become not ready, on that very version', () => {
  const [write, ...others] = notReadyWrites([podOf('a', [])], nowMs)
  assert.equal(others.length, 0)
  assert.deepEqual(write, {
    verb: 'patch',
    target: { resource: { group: '', version: 'v1', resource: 'pods' }, name: 'a', namespace: 'default' },
    subresource: 'status',
    patch: {
      metadata: { uid: 'a', resourceVersion: '7' },
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'NodeNotReady',
            message: 'the node cannot be reached',
            lastTransitionTime: now,
          },
        ],
      },
    },
  })
})
