import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { demandOf, loadNodes } from '../../../../src/controllers/scheduler/placed-pod.ts'
import { isMakingRoom, planPreemption } from '../../../../src/controllers/scheduler/preemption.ts'

interface Wish {
  readonly name: string
  readonly priority: number
  readonly cpu?: string
  readonly nodeName?: string
  readonly leaving?: true
  readonly [field: string]: unknown
}

function pod({ name, priority, cpu = '1', leaving, ...spec }: Wish) {
  const deletionTimestamp = leaving && '2026-01-02T00:00:00Z'
  const metadata = { name, namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp }
  const containers = [{ name: 'main', resources: { requests: { cpu } } }]
  return demandOf(podSchema.parse({ metadata, spec: { priority, containers, ...spec } }), {})
}

function node(name: string, cpu: string, spec: object = {}) {
  return nodeSchema.parse({ metadata: { name }, spec, status: { allocatable: { cpu, pods: '110' } } })
}

const important: Wish = { name: 'important', priority: 100 }

const table: readonly {
  title: string
  nodes: readonly ReturnType<typeof node>[]
  placed: readonly Wish[]
  wanted?: Wish
  expected: readonly [node: string, ...victims: string[]] | undefined
}[] = [
  {
    title: 'as few go as will do, the least important first',
    nodes: [node('a', '3')],
    placed: [
      { name: 'high', priority: 50, nodeName: 'a' },
      { name: 'low', priority: 1, nodeName: 'a' },
      { name: 'middle', priority: 10, nodeName: 'a' },
    ],
    expected: ['a', 'low'],
  },
  {
    title: 'the node where the least important go is taken, though more of them',
    nodes: [node('a', '1'), node('b', '1')],
    placed: [
      { name: 'ten', priority: 10, nodeName: 'a' },
      { name: 'one', priority: 1, cpu: '500m', nodeName: 'b' },
      { name: 'two', priority: 2, cpu: '500m', nodeName: 'b' },
    ],
    expected: ['b', 'two', 'one'],
  },
  {
    title: 'of equals the node where fewer go',
    nodes: [node('a', '1'), node('b', '1')],
    placed: [
      { name: 'half', priority: 5, cpu: '500m', nodeName: 'a' },
      { name: 'other', priority: 5, cpu: '500m', nodeName: 'a' },
      { name: 'whole', priority: 5, nodeName: 'b' },
    ],
    expected: ['b', 'whole'],
  },
  {
    title: 'no pod of the same priority is a victim',
    nodes: [node('a', '1')],
    placed: [{ name: 'peer', priority: 100, nodeName: 'a' }],
    expected: undefined,
  },
  {
    title: 'there is no victim for a pod with preemptionPolicy Never',
    nodes: [node('a', '1')],
    placed: [{ name: 'low', priority: 1, nodeName: 'a' }],
    wanted: { ...important, preemptionPolicy: 'Never' },
    expected: undefined,
  },
  {
    title: 'there is no victim where the pod could not run anyway',
    nodes: [node('a', '1', { unschedulable: true }), node('b', '500m')],
    placed: [
      { name: 'low', priority: 1, nodeName: 'a' },
      { name: 'small', priority: 1, cpu: '100m', nodeName: 'b' },
    ],
    expected: undefined,
  },
]

for (const { title, nodes, placed, wanted = important, expected } of table) {
  test(title, () => {
    const preemption = planPreemption(pod(wanted), loadNodes(nodes, placed.map(pod)), 'unschedulable')
    const names = preemption?.victims.map((victim) => victim.pod.metadata.name) ?? []
    assert.deepEqual(preemption && [preemption.node, ...names], expected)
  })
}

test('a pod waits for those that are going already', () => {
  const loads = loadNodes([node('a', '1')], [pod({ name: 'low', priority: 1, nodeName: 'a', leaving: true })])
  const load = loads.get('a')
  assert.ok(load && isMakingRoom(load, pod(important)))
  assert.equal(isMakingRoom(load, pod({ name: 'lesser', priority: 1 })), false)
})
