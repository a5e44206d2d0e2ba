import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { demandOf, loadNodes } from '../../../../src/controllers/scheduler/placed-pod.ts'
import { Placements, schedulingOrder } from '../../../../src/controllers/scheduler/plan.ts'

interface PodFields {
  readonly namespace?: string
  readonly labels?: Record<string, string>
  readonly [field: string]: unknown
}

const container = (resources: object = {}, ports: readonly object[] = []) => ({
  name: 'c',
  image: 'i',
  resources,
  ports,
})

/** The labels of a namespace are its name under `team`. */
function pod({ labels = {}, namespace = 'default', ...spec }: PodFields, name = 'p') {
  const metadata = { name, namespace, labels, creationTimestamp: '2026-01-01T00:00:00Z' }
  return demandOf(podSchema.parse({ metadata, spec: { containers: [container()], ...spec } }), { team: namespace })
}

interface NodeFields {
  readonly labels?: Record<string, string>
  readonly allocatable?: Record<string, string>
  readonly [field: string]: unknown
}

function node(name: string, { labels = {}, allocatable = {}, ...spec }: NodeFields = {}) {
  return nodeSchema.parse({ metadata: { name, labels: { host: name, ...labels } }, spec, status: { allocatable } })
}

function placementOf(
  wanted: PodFields,
  nodes: readonly ReturnType<typeof node>[],
  placed: readonly PodFields[] = [],
): string {
  const loads = loadNodes(
    nodes,
    placed.map((fields) => pod(fields)),
  )
  const placement = new Placements(loads, 'unschedulable').plan(pod(wanted))
  return placement.kind === 'placed' ? placement.node : placement.message
}

const zone = (name: string) => ({ labels: { zone: name } })
const required = (expressions: readonly object[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: expressions }] },
    },
  },
})
const podTerm = (topologyKey: string) => ({ topologyKey, labelSelector: { matchLabels: { app: 'db' } } })
const together = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm('zone')] } } }
const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm('host')] } } }
const apartFrom = (more: object) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...podTerm('host'), ...more }] } },
})
const ofTeam = (team: string) => ({ namespaceSelector: { matchLabels: { team } } })
const evenly = (more: object = {}) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'db' } },
      ...more,
    },
  ],
})
const db = { labels: { app: 'db' } }

describe('where a pod goes', () => {
  const cases: readonly [string, PodFields, readonly ReturnType<typeof node>[], readonly PodFields[], string][] = [
    ['no nodes', {}, [], [], 'no nodes available to schedule pods'],
    ['by nodeSelector', { nodeSelector: { zone: 'b' } }, [node('a', zone('a')), node('b', zone('b'))], [], 'b'],
    ['not to a cordoned node', {}, [node('a', { unschedulable: true }), node('b')], [], 'b'],
    [
      'not over an untolerated taint',
      {},
      [node('a', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] })],
      [],
      '0/1 nodes are available: 1 node(s) had untolerated taint {gpu: yes}.',
    ],
    [
      'over a tolerated taint',
      { tolerations: [{ key: 'gpu', operator: 'Exists' }] },
      [node('a', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] })],
      [],
      'a',
    ],
    [
      'In',
      required([{ key: 'zone', operator: 'In', values: ['b', 'c'] }]),
      [node('a', zone('a')), node('b', zone('b'))],
      [],
      'b',
    ],
    [
      'NotIn',
      required([{ key: 'zone', operator: 'NotIn', values: ['a'] }]),
      [node('a', zone('a')), node('b')],
      [],
      'b',
    ],
    ['Exists', required([{ key: 'zone', operator: 'Exists' }]), [node('a'), node('b', zone('b'))], [], 'b'],
    ['DoesNotExist', required([{ key: 'zone', operator: 'DoesNotExist' }]), [node('a', zone('a')), node('b')], [], 'b'],
    [
      'Gt',
      required([{ key: 'zone', operator: 'Gt', values: ['5'] }]),
      [node('a', zone('5')), node('b', zone('6'))],
      [],
      'b',
    ],
    [
      'Lt',
      required([{ key: 'zone', operator: 'Lt', values: ['5'] }]),
      [node('a', zone('5')), node('b', zone('-6'))],
      [],
      'b',
    ],
    [
      'where there is room',
      { containers: [container({ requests: { cpu: '600m' } })] },
      [node('a', { allocatable: { cpu: '1' } }), node('b', { allocatable: { cpu: '1' } })],
      [{ nodeName: 'a', containers: [container({ requests: { cpu: '500m' } })] }],
      'b',
    ],
    [
      'nowhere without room, each node under its own reason',
      { containers: [container({ requests: { cpu: '2', memory: '1Gi' } })] },
      [
        node('a', { allocatable: { cpu: '1', memory: '2Gi' } }),
        node('b', { allocatable: { cpu: '4', memory: '1Mi' } }),
        node('c', { unschedulable: true }),
      ],
      [],
      '0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) were unschedulable.',
    ],
    [
      'nowhere when a node is full',
      {},
      [node('a', { allocatable: { pods: '1' } })],
      [{ nodeName: 'a' }],
      '0/1 nodes are available: 1 Too many pods.',
    ],
    [
      'not to a taken host port',
      { containers: [container({}, [{ hostPort: 80 }])] },
      [node('a'), node('b')],
      [{ nodeName: 'a', containers: [container({}, [{ hostPort: 80, hostIP: '10.0.0.1' }])] }],
      'b',
    ],
    ['near pods it wants', together, [node('a', zone('a')), node('b', zone('b'))], [{ ...db, nodeName: 'b' }], 'b'],
    ['as the first of a group anywhere', { ...together, ...db }, [node('a', zone('a'))], [], 'a'],
    ['away from pods it avoids', apart, [node('a'), node('b')], [{ ...db, nodeName: 'a' }], 'b'],
    ['away from pods that avoid it', db, [node('a'), node('b')], [{ ...apart, nodeName: 'a' }], 'b'],
    [
      'evenly over domains',
      { ...db, ...evenly() },
      [node('a', zone('a')), node('b', zone('b')), node('c')],
      [{ ...db, nodeName: 'a' }],
      'b',
    ],
    [
      'evenly among those with its own value of a label',
      { labels: { app: 'db', hash: 'new' }, ...evenly({ matchLabelKeys: ['hash'] }) },
      [node('a', zone('a')), node('b', zone('b'))],
      [
        { labels: { app: 'db', hash: 'old' }, nodeName: 'b' },
        { labels: { app: 'db', hash: 'old' }, nodeName: 'b' },
        { labels: { app: 'db', hash: 'new' }, nodeName: 'a' },
      ],
      'b',
    ],
    [
      'evenly without the domains whose taints it does not tolerate, where it says so',
      { ...db, ...evenly({ nodeTaintsPolicy: 'Honor' }) },
      [node('a', zone('a')), node('b', { ...zone('b'), taints: [{ key: 'gpu', effect: 'NoSchedule' }] })],
      [{ ...db, nodeName: 'a' }],
      'a',
    ],
    [
      'evenly with domains outside its node selector, where it says so',
      { ...db, ...evenly({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { zone: 'a' } },
      [node('a', zone('a')), node('b', zone('b'))],
      [{ ...db, nodeName: 'a' }],
      "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints.",
    ],
    [
      'away from pods of namespaces that are selected, and of no others',
      apartFrom(ofTeam('shop')),
      [node('a'), node('b')],
      [
        { ...db, nodeName: 'a', namespace: 'shop' },
        { ...db, nodeName: 'b', namespace: 'till' },
        { ...db, nodeName: 'b' },
      ],
      'b',
    ],
    [
      'away from pods of namespaces that are selected or listed',
      apartFrom({ ...ofTeam('shop'), namespaces: ['till'] }),
      [node('a'), node('b'), node('c')],
      [
        { ...db, nodeName: 'a', namespace: 'shop' },
        { ...db, nodeName: 'b', namespace: 'till' },
        { ...db, nodeName: 'c' },
      ],
      'c',
    ],
    [
      'away from pods of every namespace, under an empty selector',
      apartFrom({ namespaceSelector: {} }),
      [node('a')],
      [{ ...db, nodeName: 'a', namespace: 'shop' }],
      "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    ],
    [
      'away from pods of its own version only',
      { labels: { hash: 'new' }, ...apartFrom({ matchLabelKeys: ['hash', 'nobodyHas'] }) },
      [node('a'), node('b')],
      [
        { labels: { app: 'db', hash: 'new' }, nodeName: 'a' },
        { labels: { app: 'db', hash: 'old' }, nodeName: 'b' },
      ],
      'b',
    ],
    [
      'away from pods of other versions only',
      { labels: { hash: 'new' }, ...apartFrom({ mismatchLabelKeys: ['hash'] }) },
      [node('a'), node('b')],
      [
        { labels: { app: 'db', hash: 'new' }, nodeName: 'a' },
        { labels: { app: 'db', hash: 'old' }, nodeName: 'b' },
      ],
      'a',
    ],
    ['to the emptier of two', {}, [node('a'), node('b')], [{ nodeName: 'a' }], 'b'],
    [
      'where it would rather be',
      {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 50, preference: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] } },
            ],
          },
        },
      },
      [node('a', zone('a')), node('b', zone('b'))],
      [{ nodeName: 'b' }, { nodeName: 'b' }],
      'b',
    ],
  ]
  for (const [title, wanted, nodes, placed, expected] of cases)
    test(title, () => assert.equal(placementOf(wanted, nodes, placed), expected))
})

test('higher priority is placed first', () => {
  const order = [pod({ priority: 1 }, 'low'), pod({ priority: 9 }, 'high')].sort(schedulingOrder)
  assert.deepEqual(
    order.map((demand) => demand.pod.metadata.name),
    ['high', 'low'],
  )
})

test('init containers count as their largest, sidecars beside everything', () => {
  const cpu = (amount: string) => container({ requests: { cpu: amount } })
  const initContainers = [{ ...cpu('100m'), restartPolicy: 'Always' }, cpu('900m')]
  assert.equal(pod({ containers: [cpu('200m'), cpu('300m')], initContainers }).requests.get('cpu'), 1_000n)
})
