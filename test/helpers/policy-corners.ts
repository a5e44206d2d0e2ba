import assert from 'node:assert/strict'
import type { NetworkPolicy } from '../../src/model/network-policy.ts'
import { readNetworkPolicy } from '../../src/node/policy/read-network-policy.ts'
import type { Flow } from '../../src/node/policy/verdict.ts'
import { ipOf } from './addresses.ts'
import { namedPort, podOf } from './policy-cluster.ts'

/** Namespaces x, y, z (label `ns`), pods a, b, c (label `pod`) in each, of both families. */
export const cornerPods = ['x', 'y', 'z'].flatMap((namespace, n) =>
  ['a', 'b', 'c'].map((name, p) => {
    const ports = [namedPort('http', 80 + p), namedPort('dns', 53, 'UDP')]
    return podOf(`${namespace}/${name}`, [`10.244.${n}.${p + 1}`, `fd00:${n}::${p + 1}`], { ports })
  }),
)
export const cornerNamespaces = { x: { ns: 'x' }, y: { ns: 'y' }, z: { ns: 'z' } }
/** The address of the node that has all pods. */
export const cornerNode = ipOf('10.244.0.254')

/** `x/a` is the pod by its IPv4 address, `x/a/6` by its IPv6 address; everything else is an address. */
function endOf(text: string) {
  const pod = cornerPods.find(({ key }) => key === text.replace(/\/6$/, ''))
  return { address: ipOf(pod?.ips[text.endsWith('/6') ? 1 : 0] ?? text) }
}

/** `x/a > y/b TCP 80` */
export function flowOf(text: string): Flow {
  const [source = '', , destination = '', protocol = 'TCP', port = '0'] = text.split(' ')
  assert.ok(protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP' || protocol === 'other')
  return { source: endOf(source), destination: endOf(destination), protocol, port: Number(port) }
}

/** Reads objects as the API has them; every one must be whole. */
export function policiesOf(specs: Readonly<Record<string, object>>): readonly NetworkPolicy[] {
  return Object.entries(specs).map(([key, spec]) => {
    const [namespace, name] = key.split('/')
    const { value, problems } = readNetworkPolicy({ metadata: { namespace, name }, spec })
    assert.deepEqual(problems, [])
    assert.ok(value !== undefined)
    return value
  })
}

export interface PolicyCorner {
  readonly title: string
  /** Specs by key of the policy. */
  readonly policies: Readonly<Record<string, object>>
  readonly allowed?: readonly string[]
  readonly denied?: readonly string[]
}

const a = { podSelector: { matchLabels: { pod: 'a' } } }
const b = { podSelector: { matchLabels: { pod: 'b' } } }
const inY = { namespaceSelector: { matchLabels: { ns: 'y' } } }
const denyAll = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }
const allow = (from: object[], ports?: object[]) => ({ ...a, ingress: [{ from, ...(ports && { ports }) }] })

/** The lines of the semantic table of the reference, in its order. */
export const policyCorners: readonly PolicyCorner[] = [
  {
    title: 'a pod that no policy selects allows all',
    policies: {},
    allowed: ['x/b > x/a TCP 80', '192.0.2.1 > x/a TCP 80', 'x/a > 192.0.2.1 UDP 53', 'x/a > x/b other'],
  },
  {
    title: 'isolation is per direction: one of ingress leaves egress open',
    policies: { 'x/p': { ...a, policyTypes: ['Ingress'] } },
    allowed: ['x/a > x/b TCP 80', 'x/a > 192.0.2.1 TCP 80'],
    denied: ['x/b > x/a TCP 80', '192.0.2.1 > x/a TCP 80', 'x/b > x/a other'],
  },
  {
    title: 'isolation is per direction: one of egress leaves ingress open',
    policies: { 'x/p': { ...a, policyTypes: ['Egress'] } },
    allowed: ['x/b > x/a TCP 80', '192.0.2.1 > x/a TCP 80'],
    denied: ['x/a > x/b TCP 80', 'x/a > 192.0.2.1 TCP 80'],
  },
  {
    title: 'several policies are a union',
    policies: {
      'x/p': allow([b]),
      'x/q': allow([inY], [{ port: 81 }]),
      'x/none': denyAll,
      'x/out': { podSelector: {}, egress: [{}] },
    },
    allowed: ['x/b > x/a TCP 7', 'y/c > x/a TCP 81'],
    denied: ['y/c > x/a TCP 80', 'x/c > x/a TCP 81', 'z/b > x/a TCP 81'],
  },
  {
    title: 'a flow needs the egress of its source and the ingress of its destination',
    policies: {
      'x/in': { ...a, ingress: [{ from: [b] }] },
      'x/out': { ...b, policyTypes: ['Egress'], egress: [{ to: [a], ports: [{ port: 80 }] }] },
    },
    allowed: ['x/b > x/a TCP 80'],
    denied: ['x/b > x/a TCP 81', 'x/b > x/c TCP 80', 'x/c > x/a TCP 80'],
  },
  {
    title: 'policyTypes that are absent isolate egress only with egress rules',
    policies: { 'x/p': { ...a, ingress: [{}] }, 'y/p': { ...a, ingress: [{}], egress: [{ to: [b] }] } },
    allowed: ['x/a > y/c TCP 80', 'y/a > y/b TCP 80'],
    denied: ['y/a > y/c TCP 80'],
  },
  ...[[], null, undefined].map((ingress) => ({
    title: `rules that are ${JSON.stringify(ingress) ?? 'absent'} allow nothing`,
    policies: { 'x/p': { ...a, policyTypes: ['Ingress'], ingress } },
    denied: ['x/b > x/a TCP 80', '192.0.2.1 > x/a UDP 1', 'x/b > x/a other'],
  })),
  {
    title: 'an empty rule allows all',
    policies: { 'x/p': { ...a, ingress: [{}] } },
    allowed: ['z/b > x/a TCP 80', '192.0.2.1 > x/a SCTP 9', 'x/b > x/a other'],
  },
  ...[[], null, undefined].map((from) => ({
    title: `peers that are ${JSON.stringify(from) ?? 'absent'} are all sources`,
    policies: { 'x/p': { ...a, ingress: [{ from, ports: [{ port: 80 }] }] } },
    allowed: ['z/b > x/a TCP 80', '192.0.2.1 > x/a TCP 80'],
    denied: ['z/b > x/a TCP 81', 'z/b > x/a UDP 80', 'z/b > x/a other'],
  })),
  {
    title: 'a pod selector alone means pods of the own namespace',
    policies: { 'x/p': allow([b]) },
    allowed: ['x/b > x/a TCP 80'],
    denied: ['y/b > x/a TCP 80', 'x/c > x/a TCP 80'],
  },
  {
    title: 'both selectors in one entry must match',
    policies: { 'x/p': allow([{ ...b, ...inY }]) },
    allowed: ['y/b > x/a TCP 80'],
    denied: ['x/b > x/a TCP 80', 'y/c > x/a TCP 80'],
  },
  {
    title: 'of selectors in two entries one must match',
    policies: { 'x/p': allow([b, inY]) },
    allowed: ['x/b > x/a TCP 80', 'y/c > x/a TCP 80'],
    denied: ['z/b > x/a TCP 80', 'x/c > x/a TCP 80'],
  },
  {
    title: 'an empty namespace selector means all pods and no other addresses',
    policies: { 'x/p': allow([{ namespaceSelector: {} }]) },
    allowed: ['x/b > x/a TCP 80', 'z/c > x/a TCP 80'],
    denied: ['192.0.2.1 > x/a TCP 80'],
  },
  {
    title: 'an ipBlock holds addresses of pods too; an exception counts in its own entry only',
    policies: {
      'x/p': allow([
        { ipBlock: { cidr: '10.0.0.0/8', except: ['10.244.1.0/24'] } },
        { ipBlock: { cidr: '10.244.1.2/32' } },
      ]),
    },
    allowed: ['x/b > x/a TCP 80', '10.9.9.9 > x/a TCP 80', 'y/b > x/a TCP 80'],
    denied: ['y/a > x/a TCP 80', '192.0.2.1 > x/a TCP 80'],
  },
  {
    title: 'an ipBlock of all addresses holds those of its family',
    policies: { 'x/p': allow([{ ipBlock: { cidr: '0.0.0.0/0' } }]) },
    allowed: ['x/b > x/a TCP 80', '255.255.255.254 > x/a TCP 80', '1.0.0.1 > x/a TCP 80'],
    denied: ['x/b/6 > x/a/6 TCP 80'],
  },
  {
    title: 'a port without a number is all ports of its protocol',
    policies: { 'x/p': allow([b], [{ protocol: 'UDP' }]) },
    allowed: ['x/b > x/a UDP 1', 'x/b > x/a UDP 65535'],
    denied: ['x/b > x/a TCP 1', 'x/b > x/a other'],
  },
  {
    title: 'a port without a protocol is one of TCP',
    policies: { 'x/p': allow([b], [{ port: 53 }]) },
    allowed: ['x/b > x/a TCP 53'],
    denied: ['x/b > x/a UDP 53', 'x/b > x/a SCTP 53'],
  },
  {
    title: 'a named port is looked up on the destination pod, which may differ',
    policies: { 'x/p': { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] } },
    allowed: ['y/a > x/a TCP 80', 'y/a > x/b TCP 81', '192.0.2.1 > x/b TCP 81'],
    denied: ['y/a > x/a TCP 81', 'y/a > x/b TCP 80', 'y/a > x/a UDP 80'],
  },
  {
    title: 'a named port must have the protocol too',
    policies: { 'x/p': { podSelector: {}, ingress: [{ ports: [{ port: 'dns' }] }] } },
    denied: ['y/a > x/a UDP 53', 'y/a > x/a TCP 53'],
  },
  {
    title: 'a named port of egress is looked up on the destination pod as well',
    policies: { 'x/p': { ...a, policyTypes: ['Egress'], egress: [{ to: [inY], ports: [{ port: 'http' }] }] } },
    allowed: ['x/a > y/a TCP 80', 'x/a > y/b TCP 81'],
    denied: ['x/a > y/b TCP 80', 'x/a > x/b TCP 81', 'x/a > 192.0.2.1 TCP 80'],
  },
  {
    title: 'a named port of egress without peers allows pods that have it, and no other addresses',
    policies: { 'x/p': { ...a, policyTypes: ['Egress'], egress: [{ ports: [{ port: 'http' }] }] } },
    allowed: ['x/a > z/b TCP 81'],
    denied: ['x/a > z/b TCP 80', 'x/a > 192.0.2.1 TCP 80', 'x/a > 192.0.2.1 TCP 81'],
  },
  {
    title: 'an ipBlock of egress has no named ports, also where a pod has the address',
    policies: {
      'x/p': {
        ...a,
        policyTypes: ['Egress'],
        egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [{ port: 'http' }] }],
      },
    },
    denied: ['x/a > y/a TCP 80', 'x/a > 192.0.2.1 TCP 80'],
  },
  {
    title: 'an ipBlock of ingress is no obstacle to a named port of the destination',
    policies: { 'x/p': allow([{ ipBlock: { cidr: '192.0.2.0/24' } }], [{ port: 'http' }]) },
    allowed: ['192.0.2.1 > x/a TCP 80'],
    denied: ['192.0.2.1 > x/a TCP 81', '198.51.100.1 > x/a TCP 80'],
  },
  {
    title: 'endPort is included',
    policies: { 'x/p': allow([b], [{ port: 8000, endPort: 8010 }]) },
    allowed: ['x/b > x/a TCP 8000', 'x/b > x/a TCP 8005', 'x/b > x/a TCP 8010'],
    denied: ['x/b > x/a TCP 7999', 'x/b > x/a TCP 8011', 'x/b > x/a UDP 8005'],
  },
  {
    title: 'SCTP isolates and opens nothing else',
    policies: { 'x/p': allow([b], [{ protocol: 'SCTP', port: 80 }]) },
    allowed: ['x/b > x/a SCTP 80'],
    denied: ['x/b > x/a TCP 80', 'x/b > x/a UDP 80', 'x/b > x/a SCTP 81'],
  },
  {
    title: 'a protocol without ports passes a rule without ports, and no other',
    policies: {
      'x/p': { ...a, ingress: [{ from: [b] }, { from: [inY], ports: [{ protocol: 'TCP' }, { protocol: 'UDP' }] }] },
    },
    allowed: ['x/b > x/a other'],
    denied: ['y/b > x/a other', 'x/c > x/a other'],
  },
  {
    title: 'the node always reaches its own pods, and they reach it',
    policies: { 'x/p': denyAll },
    allowed: ['10.244.0.254 > x/a TCP 80', 'x/a > 10.244.0.254 TCP 10250'],
    denied: ['10.244.0.253 > x/a TCP 80', 'x/a > 10.244.0.253 TCP 10250'],
  },
  {
    title: 'a pod always reaches itself',
    policies: { 'x/p': denyAll },
    allowed: ['x/a > x/a TCP 80', 'x/a/6 > x/a/6 UDP 5', 'x/a > x/a other'],
    denied: ['x/a > x/b TCP 80'],
  },
  {
    title: 'each family is judged alone',
    policies: {
      'x/p': allow([{ ipBlock: { cidr: '10.244.0.0/24' } }]),
      'y/p': allow([{ ipBlock: { cidr: 'fd00:1::/64' } }]),
    },
    allowed: ['x/b > x/a TCP 80', 'y/b/6 > y/a/6 TCP 80'],
    denied: ['x/b/6 > x/a/6 TCP 80', 'y/b > y/a TCP 80'],
  },
  {
    title: 'a peer of pods holds both addresses of a pod',
    policies: { 'x/p': allow([b]) },
    allowed: ['x/b > x/a TCP 80', 'x/b/6 > x/a/6 TCP 80'],
    denied: ['x/c/6 > x/a/6 TCP 80'],
  },
  {
    title: 'selectors have expressions',
    policies: {
      'x/p': {
        podSelector: { matchExpressions: [{ key: 'pod', operator: 'NotIn', values: ['b', 'c'] }] },
        ingress: [
          {
            from: [
              {
                podSelector: {
                  matchExpressions: [
                    { key: 'pod', operator: 'In', values: ['b'] },
                    { key: 'none', operator: 'DoesNotExist' },
                  ],
                },
              },
            ],
          },
        ],
      },
    },
    allowed: ['x/b > x/a TCP 80', 'x/a > x/b TCP 80'],
    denied: ['x/c > x/a TCP 80'],
  },
]
