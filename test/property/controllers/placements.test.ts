import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nodeSchema } from '../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../src/controllers/objects/pod.ts'
import { demandOf, loadNodes } from '../../../src/controllers/scheduler/placed-pod.ts'
import { Placements } from '../../../src/controllers/scheduler/plan.ts'

const term = (app: string) => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app } } })
const affinities = [
  {},
  {},
  { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('a')] } } },
  { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('b')] } } },
  {
    topologySpreadConstraints: [
      { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', ...term('a'), nodeTaintsPolicy: 'Honor' },
    ],
  },
]

const anyPod = fc.record({
  app: fc.constantFrom('a', 'b'),
  cpu: fc.constantFrom('1', '2'),
  hostPort: fc.constantFrom(0, 0, 80),
  nodeSelector: fc.constantFrom({}, {}, { disk: 'fast' }),
  tolerations: fc.constantFrom([], [{ operator: 'Exists' }]),
  rules: fc.constantFrom(...affinities),
})

const anyNode = fc.record({
  zone: fc.constantFrom('x', 'y', 'z'),
  disk: fc.constantFrom('fast', 'slow'),
  cpu: fc.constantFrom('2', '3'),
  isTainted: fc.boolean(),
})

test('a pass that remembers what it answered places pods as one that looks at everything for each of them', () => {
  fc.assert(
    fc.property(fc.array(anyNode, { maxLength: 5 }), fc.array(anyPod, { maxLength: 12 }), (nodes, pods) => {
      const parsed = nodes.map(({ zone, disk, cpu, isTainted }, index) =>
        nodeSchema.parse({
          metadata: { name: `n${index}`, labels: { zone, disk } },
          spec: isTainted ? { taints: [{ key: 'own', effect: 'NoSchedule' }] } : {},
          status: { allocatable: { cpu, pods: '3' } },
        }),
      )
      const pass = new Placements(loadNodes(parsed, []), 'unschedulable')
      for (const [index, { app, cpu, hostPort, nodeSelector, tolerations, rules }] of pods.entries()) {
        const ports = hostPort === 0 ? [] : [{ hostPort }]
        const spec = { containers: [{ ports, resources: { requests: { cpu } } }], nodeSelector, tolerations, ...rules }
        const metadata = { name: `p${index}`, namespace: 'default', labels: { app } }
        const demand = demandOf(podSchema.parse({ metadata, spec }), {})
        const placement = pass.plan(demand)
        assert.deepEqual(placement, new Placements(pass.loads, 'unschedulable').plan(demand))
        if (placement.kind === 'placed') pass.place(placement.node, demand)
      }
    }),
    { numRuns: 300 },
  )
})

test('what was answered is forgotten when a pod comes that keeps others away', () => {
  const nodes = ['x', 'y'].map((zone) => nodeSchema.parse({ metadata: { name: `in-${zone}`, labels: { zone } } }))
  const demand = (name: string, app: string, rules: object = {}) =>
    demandOf(podSchema.parse({ metadata: { name, namespace: 'default', labels: { app } }, spec: { ...rules } }), {})
  const repelling = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('a')] } } }
  const pass = new Placements(loadNodes(nodes, []), 'unschedulable')
  pass.place('in-x', demand('first', 'b', repelling))
  assert.deepEqual(pass.plan(demand('p', 'a')), { kind: 'placed', node: 'in-y' })
  pass.place('in-y', demand('second', 'b', repelling))
  assert.equal(pass.plan(demand('p', 'a')).kind, 'unschedulable')
})
