import fc from 'fast-check'
import type {
  Labels,
  NetworkPolicy,
  PodPeer,
  PolicyPeer,
  PolicyPod,
  PolicyPort,
  PolicyRule,
} from '../../src/model/network-policy.ts'
import type { LabelRequirement, LabelSelector } from '../../src/model/selector.ts'
import type { Flow, FlowEnd } from '../../src/node/policy/verdict.ts'
import { ipOf } from './addresses.ts'
import { type ClusterObjects, ipBlock, namedPort, podOf, portNamed, portRange } from './policy-cluster.ts'

const namespaceNames = ['x', 'y', 'z']
const [keys, values] = [
  ['app', 'tier'],
  ['a', 'b', 'c'],
] as const
const protocols = ['TCP', 'UDP', 'SCTP'] as const

/** A handful of labels, so that selectors and pods meet. */
const anyLabels: fc.Arbitrary<Labels> = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values), {
  noNullPrototype: true,
})

const anyRequirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom('in' as const, 'notin' as const),
    values: fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }),
  }),
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom('exists' as const, 'absent' as const),
    values: fc.constant([]),
  }),
)

const anySelector: fc.Arbitrary<LabelSelector> = fc.array(anyRequirement, { maxLength: 2 })

const anyPodPeer: fc.Arbitrary<PodPeer> = fc.record(
  { kind: fc.constant('pods' as const), namespaces: anySelector, pods: anySelector },
  { requiredKeys: ['kind', 'pods'] },
)

/** Networks around the addresses of the pods, those of their neighbours, and all addresses of a family. */
const anyIpBlock = fc.constantFrom(
  ipBlock('0.0.0.0/0'),
  ipBlock('::/0'),
  ipBlock('0.0.0.0/0', '10.244.0.0/16'),
  ipBlock('10.244.0.0/16', '10.244.1.0/24', '10.244.0.2/32'),
  ipBlock('10.244.1.0/24'),
  ipBlock('10.244.0.2/31'),
  ipBlock('192.0.2.0/24', '192.0.2.0/25'),
  ipBlock('fd00::/16', 'fd00:1::/32'),
  ipBlock('fd00:1::2/128'),
)

const anyPeer: fc.Arbitrary<PolicyPeer> = fc.oneof(
  { weight: 3, arbitrary: anyPodPeer },
  { weight: 1, arbitrary: anyIpBlock },
)

const anyPolicyPort: fc.Arbitrary<PolicyPort> = fc.oneof(
  fc.record({ kind: fc.constant('protocol' as const), protocol: fc.constantFrom(...protocols) }),
  fc
    .record({ first: fc.integer({ min: 79, max: 82 }), more: fc.nat(2), protocol: fc.constantFrom(...protocols) })
    .map(({ first, more, protocol }) => portRange(first, first + more, protocol)),
  fc
    .record({ name: fc.constantFrom('http', 'dns'), protocol: fc.constantFrom(...protocols) })
    .map(({ name, protocol }) => portNamed(name, protocol)),
)

const anyRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    peers: fc.array(anyPeer, { minLength: 1, maxLength: 3 }),
    ports: fc.array(anyPolicyPort, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
)

const anyRules = fc.array(anyRule, { maxLength: 3 })

/** A policy of namespace x, y or z that isolates in one direction, in both, or (as no API object can) in none. */
export const anyPolicy: fc.Arbitrary<NetworkPolicy> = fc
  .record(
    {
      namespace: fc.constantFrom(...namespaceNames),
      name: fc.integer({ min: 0, max: 999 }).map((n) => `p${n}`),
      podSelector: anySelector,
      ingress: anyRules,
      egress: anyRules,
    },
    { requiredKeys: ['namespace', 'name', 'podSelector'] },
  )
  .map((policy) => ({ key: `${policy.namespace}/${policy.name}`, ...policy }))

const anyPolicies = fc.uniqueArray(anyPolicy, { selector: ({ key }) => key, maxLength: 5 })

/** Three pods in each of x, y and z, of both families, two in three of them local, with ports that differ by pod. */
const anyPods: fc.Arbitrary<readonly PolicyPod[]> = fc.tuple(
  ...namespaceNames.flatMap((namespace, n) =>
    [1, 2, 3].map((host) =>
      anyLabels.map((labels) =>
        podOf(`${namespace}/p${host}`, [`10.244.${n}.${host}`, `fd00:${n}::${host}`], {
          labels,
          isLocal: host !== 3,
          ports: [namedPort('http', 79 + host), namedPort('dns', 80, 'UDP')],
        }),
      ),
    ),
  ),
)

const anyNamespaces = fc.dictionary(fc.constantFrom(...namespaceNames), anyLabels, { noNullPrototype: true })

export const anyCluster: fc.Arbitrary<Required<ClusterObjects>> = fc.record({
  policies: anyPolicies,
  pods: anyPods,
  namespaces: anyNamespaces,
})

/** Addresses of pods, of their networks without a pod, and of elsewhere. */
const anyEnd: fc.Arbitrary<FlowEnd> = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 4 })).map(([n, host]) => `10.244.${n}.${host}`),
    },
    { weight: 1, arbitrary: fc.constantFrom('192.0.2.1', '192.0.2.200', '198.51.100.1') },
  )
  .map((text) => ({ address: ipOf(text) }))

const anyEnd6: fc.Arbitrary<FlowEnd> = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 4 })).map(([n, host]) => `fd00:${n}::${host}`),
    },
    { weight: 1, arbitrary: fc.constantFrom('2001:db8::1') },
  )
  .map((text) => ({ address: ipOf(text) }))

const anyService = fc.oneof(
  fc.record({ protocol: fc.constantFrom(...protocols), port: fc.integer({ min: 78, max: 85 }) }),
  fc.constant({ protocol: 'other' as const, port: 0 }),
)

/** A flow between two ends of one family. */
export const anyFlow: fc.Arbitrary<Flow> = fc
  .tuple(fc.oneof(fc.tuple(anyEnd, anyEnd), fc.tuple(anyEnd6, anyEnd6)), anyService)
  .map(([[source, destination], service]) => ({ source, destination, ...service }))
