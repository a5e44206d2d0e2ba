import { lease, namespace, node, serviceAccount } from './core-kinds.ts'
import {
  change,
  changeStatus,
  create,
  differs,
  type Fields,
  type ObjectCase,
  objectCases,
  replace,
  replaceAbsent,
  unreadable,
} from './object-case.ts'
import { type KindCases, otherWords } from './write-case.ts'

const taint = (title: string, taints: readonly Fields[], ...errors: string[]) =>
  create(title, { spec: { taints } }, ...errors)
const cidrs = (title: string, podCIDRs: readonly string[], ...errors: string[]) =>
  create(title, { spec: { podCIDR: podCIDRs[0], podCIDRs } }, ...errors)
const t0 = 'metadata.taints[0]'
/** What a node does not say that it gives, it gives. */
const bothOf = (name: string) => [`Invalid status.capacity.${name}`, `Invalid status.allocatable.${name}`]
const avoid = 'scheduler.alpha.kubernetes.io/preferAvoidPods'
const oldTaints = 'scheduler.alpha.kubernetes.io/taints'

const nodes: readonly ObjectCase[] = [
  taint('a taint', [{ key: 'a', value: 'b', effect: 'NoSchedule' }]),
  taint('a taint without value', [{ key: 'example.com/a', effect: 'NoExecute' }]),
  taint('a taint without key', [{ effect: 'NoSchedule' }], `Invalid ${t0}.key`),
  taint('a taint with a space in its key', [{ key: 'a b', effect: 'NoSchedule' }], `Invalid ${t0}.key`),
  taint('a taint with a space in its value', [{ key: 'a', value: 'b c', effect: 'NoSchedule' }], `Invalid ${t0}.value`),
  taint('a taint without effect', [{ key: 'a' }], `Required ${t0}.effect`),
  taint('a taint of an effect that is none', [{ key: 'a', effect: 'Never' }], `NotSupported ${t0}.effect`),
  {
    ...taint(
      'a taint twice',
      [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'a', value: 'b', effect: 'NoSchedule' },
      ],
      'Duplicate metadata.taints[1]',
    ),
    ...otherWords.goFields,
  },
  taint('a taint with two effects', [
    { key: 'a', effect: 'NoSchedule' },
    { key: 'a', effect: 'NoExecute' },
  ]),
  cidrs('a network of pods', ['10.1.0.0/24']),
  cidrs('networks of pods of both families', ['10.1.0.0/24', 'fd00:1::/64']),
  cidrs('a network of pods that is none', ['10.1.0.0'], 'Invalid spec.podCIDRs[0]'),
  cidrs('two networks of pods of one family', ['10.1.0.0/24', '10.1.1.0/24'], 'Invalid spec.podCIDRs'),
  cidrs('three networks of pods', ['10.1.0.0/24', 'fd00:1::/64', '10.1.1.0/24'], 'Invalid spec.podCIDRs'),
  differs(
    cidrs('a network of pods with bits of a host', ['10.1.0.1/24'], 'Invalid spec.podCIDRs[0]'),
    'each node routes the network: it has one form',
  ),
  create('a network of pods in the old field', { spec: { podCIDR: '10.1.0.0/24' } }),
  differs(
    create(
      'networks of pods that differ',
      { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.1.0/24'] } },
      'Invalid spec.podCIDR',
    ),
    'readers take either of the two fields',
  ),
  create('what it has', { status: { capacity: { cpu: '2', memory: '4Gi', pods: '110', 'example.com/gpu': 1 } } }),
  create('less than nothing', { status: { capacity: { cpu: '-1' } } }, ...bothOf('cpu')),
  create('half a pod', { status: { capacity: { pods: '500m' } } }, ...bothOf('pods')),
  create(
    'less than nothing to give',
    { status: { allocatable: { memory: '-1' } } },
    'Invalid status.allocatable.memory',
  ),
  unreadable(create('a quantity that is none', { status: { capacity: { cpu: 'much' } } })),
  create('an address twice', {
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'InternalIP', address: '192.0.2.1' },
      ],
    },
  }),
  create(
    'a swap of nothing',
    { status: { nodeInfo: { swap: { capacity: 0 } } } },
    'Invalid metadata.nodeSwapStatus.capacity',
  ),
  create('a swap', { status: { nodeInfo: { swap: { capacity: 1024 } } } }),
  differs(
    create('pods it would rather not have, unreadable', { metadata: { annotations: { [avoid]: 'x' } } }),
    'no program reads this annotation any more',
  ),
  differs(
    create('old taints, unreadable', { metadata: { annotations: { [oldTaints]: 'x' } } }),
    'no program reads this annotation any more',
  ),
  create('a source of its configuration', { spec: { configSource: {} } }),
]

const nodeUpdates: readonly ObjectCase[] = [
  change('takes no more pods', {}, { spec: { unschedulable: true } }),
  change('gets a bad taint', {}, { spec: { taints: [{ key: 'a' }] } }, `Required ${t0}.effect`),
  change('gets a network of pods', {}, { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] } }),
  change(
    'changes its network of pods',
    { spec: { podCIDR: '10.1.0.0/24' } },
    { spec: { podCIDR: '10.1.1.0/24', podCIDRs: ['10.1.1.0/24'] } },
    'Forbidden spec.podCIDRs',
  ),
  change(
    'loses its network of pods',
    { spec: { podCIDR: '10.1.0.0/24' } },
    { spec: { podCIDR: null, podCIDRs: null } },
    'Forbidden spec.podCIDRs',
  ),
  change(
    'gets a second network of pods',
    { spec: { podCIDR: '10.1.0.0/24' } },
    { spec: { podCIDRs: ['10.1.0.0/24', 'fd00:1::/64'] } },
    'Forbidden spec.podCIDRs',
  ),
  change('gets a provider', {}, { spec: { providerID: 'a://b' } }),
  change(
    'changes its provider',
    { spec: { providerID: 'a://b' } },
    { spec: { providerID: 'a://c' } },
    'Forbidden spec.providerID',
  ),
  change(
    'loses its provider',
    { spec: { providerID: 'a://b' } },
    { spec: { providerID: null } },
    'Forbidden spec.providerID',
  ),
  change('gets an external name', {}, { spec: { externalID: 'a' } }, 'Forbidden spec.externalID'),
  change('gets a source of its configuration', {}, { spec: { configSource: {} } }),
  {
    ...changeStatus(
      'has an address twice',
      {},
      {
        status: {
          addresses: [
            { type: 'InternalIP', address: '192.0.2.1' },
            { type: 'InternalIP', address: '192.0.2.1' },
          ],
        },
      },
      'Duplicate status.addresses[1]',
    ),
    ...otherWords.goFields,
  },
  changeStatus(
    'has an address as two types',
    {},
    {
      status: {
        addresses: [
          { type: 'InternalIP', address: '192.0.2.1' },
          { type: 'ExternalIP', address: '192.0.2.1' },
        ],
      },
    },
  ),
  changeStatus('has less than nothing', {}, { status: { capacity: { cpu: '-1' } } }, ...bothOf('cpu')),
  changeStatus(
    'has half a pod to give',
    {},
    { status: { allocatable: { pods: '500m' } } },
    'Invalid status.allocatable.pods',
  ),
]

const finalized = (title: string, spec: Fields, ...errors: string[]): ObjectCase => ({
  ...replace(title, {}, spec, ...errors),
  subresource: 'finalize',
})
const finalizers = (title: string, list: readonly string[], ...errors: string[]) =>
  create(title, { spec: { finalizers: list } }, ...errors)

const namespaces: readonly ObjectCase[] = [
  finalizers('a finalizer with a domain', ['example.com/a']),
  finalizers('a finalizer without domain', ['mine'], 'Invalid spec.finalizers'),
  finalizers('a finalizer with a space', ['a b'], 'Invalid spec.finalizers'),
  finalizers('standard finalizers', ['kubernetes', 'orphan', 'foregroundDeletion']),
  create('a label of its own name that is wrong', {
    metadata: { labels: { 'kubernetes.io/metadata.name': 'other' } },
  }),
  create('a phase', { status: { phase: 'Terminating' } }),
  change('changes its finalizers', {}, { spec: { finalizers: ['mine'] } }),
  change('loses the label of its name', {}, { metadata: { labels: null } }),
  finalized('gets a finalizer without domain', { spec: { finalizers: ['mine'] } }, 'Invalid spec.finalizers[0]'),
  finalized('gets a finalizer with a domain', { spec: { finalizers: ['example.com/a'] } }),
  changeStatus('ends by its phase', {}, { status: { phase: 'Terminating' } }, 'Invalid status.Phase'),
  changeStatus('gets a phase that is none', {}, { status: { phase: 'Any' } }, 'Invalid status.Phase'),
  changeStatus('gets a condition', {}, { status: { conditions: [{ type: 'A', status: 'True' }] } }),
]

const accounts: readonly ObjectCase[] = [
  create('a secret', { secrets: [{ name: 'a', namespace: 'other', kind: 'Any' }] }),
  create('a secret without name', { secrets: [{}], imagePullSecrets: [{}] }),
  unreadable(create('secrets that are texts', { secrets: ['a'] })),
]

const leases: readonly ObjectCase[] = [
  create('a duration', { spec: { leaseDurationSeconds: 1 } }),
  create('no duration', { spec: { leaseDurationSeconds: 0 } }, 'Invalid spec.leaseDurationSeconds'),
  create('a negative duration', { spec: { leaseDurationSeconds: -1 } }, 'Invalid spec.leaseDurationSeconds'),
  create('negative transitions', { spec: { leaseTransitions: -1 } }, 'Invalid spec.leaseTransitions'),
  create('no transitions', { spec: { leaseTransitions: 0 } }),
  create('a strategy', { spec: { strategy: 'Any', preferredHolder: 'a' } }),
  create('a preferred holder', { spec: { preferredHolder: 'a' } }),
  create('a time', { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } }),
  differs(
    create('a time without fractions', { spec: { renewTime: '2026-01-01T00:00:00Z' } }),
    'the API core completes the microseconds',
  ),
  unreadable(create('a time that is none', { spec: { renewTime: 'now' } })),
  change('changes its holder', {}, { spec: { holderIdentity: 'you' } }),
  change(
    'loses its duration',
    { spec: { leaseDurationSeconds: 5 } },
    { spec: { leaseDurationSeconds: 0 } },
    'Invalid spec.leaseDurationSeconds',
  ),
  replace('is replaced without its revision', {}, {}, 'Invalid metadata.resourceVersion'),
  replaceAbsent('is put where there is none', {}),
  replaceAbsent(
    'is put where there is none, without a duration',
    { spec: { leaseDurationSeconds: 0 } },
    'Invalid spec.leaseDurationSeconds',
  ),
]

export const nodeCases: KindCases = objectCases('Nodes', node, [...nodes, ...nodeUpdates])
export const namespaceCases: KindCases = objectCases('Namespaces', namespace, namespaces)
export const serviceAccountCases: KindCases = objectCases('ServiceAccounts', serviceAccount, accounts)
export const leaseCases: KindCases = objectCases('Leases', lease, leases)
