import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { policyEffect } from '../../../../src/node/policy/effect.ts'
import { policyMatrix } from '../../../../src/node/policy/matrix.ts'
import type { PortSpan } from '../../../../src/node/policy/reach.ts'
import {
  clusterOf,
  ipBlock,
  namedPort,
  podOf,
  podsPeer,
  policyOf,
  portNamed,
  portRange,
} from '../../../helpers/policy-cluster.ts'

const tcp = (first: number, last = first): PortSpan => ({ protocol: 'TCP', first, last })

/** Two pods of `web` and one of `db` in x, one pod in y. */
const web = { labels: { app: 'web' }, ports: [namedPort('http', 8080)] }
const pods = [
  podOf('x/web-1', ['10.244.0.1'], web),
  podOf('x/web-2', ['10.244.0.2'], web),
  podOf('x/db', ['10.244.0.3'], { labels: { app: 'db', pod: 'ignored' } }),
  podOf('y/other', ['10.244.1.1'], { labels: {} }),
]
const namespaces = { x: {}, y: {} }
const everywhere = [{ family: 'IPv4', first: '0.0.0.0', last: '255.255.255.255' }]

function matrixOf(...policies: Parameters<typeof policyOf>[]) {
  return policyMatrix(clusterOf({ pods, namespaces, policies: policies.map((each) => policyOf(...each)) }), 'x')
}

describe('the matrix of a namespace', () => {
  it('without policies has one group of each namespace and port, which reach each other', () => {
    const { groups, rows } = matrixOf()
    assert.deepEqual(groups, [
      { id: 0, namespace: 'x', pods: ['x/db'] },
      { id: 1, namespace: 'x', pods: ['x/web-1', 'x/web-2'] },
      { id: 2, namespace: 'y', pods: ['y/other'] },
    ])
    const all = { reach: [{ ports: 'all' }], addresses: everywhere }
    const open = { isolatedBy: { ingress: [], egress: [] } }
    // A pod alone in its group does not stand among its own peers.
    assert.deepEqual(rows, [
      { group: 0, ...open, from: [{ ...all, groups: [1, 2] }], to: [{ ...all, groups: [1, 2] }] },
      { group: 1, ...open, from: [{ ...all, groups: [0, 1, 2] }], to: [{ ...all, groups: [0, 1, 2] }] },
    ])
  })

  it('names the ports, joined where they are adjacent, and the policies that isolate', () => {
    const { rows } = matrixOf([
      'x/p',
      {
        podSelector: podsPeer({ app: 'web' }).pods,
        ingress: [
          { peers: [podsPeer({ app: 'db' })], ports: [portRange(80), portRange(81, 90), portNamed('http')] },
          { peers: [podsPeer({ app: 'db' })], ports: [{ kind: 'protocol', protocol: 'UDP' }] },
        ],
      },
    ])
    assert.deepEqual(rows[1]?.isolatedBy, { ingress: ['x/p'], egress: [] })
    assert.deepEqual(rows[1]?.from, [
      {
        reach: [{ ports: [tcp(80, 90), tcp(8080), { protocol: 'UDP', first: 1, last: 65_535 }] }],
        groups: [0],
        addresses: [],
      },
      { reach: [{ ports: 'none' }], groups: [1, 2], addresses: everywhere },
    ])
  })

  it('cuts other addresses where an ipBlock or its exception ends', () => {
    const { rows } = matrixOf(['x/p', { ingress: [{ peers: [ipBlock('192.0.2.0/24', '192.0.2.128/25')] }] }])
    assert.deepEqual(
      rows[0]?.from.map(({ reach, addresses }) => [
        reach[0]?.ports,
        addresses.map(({ first, last }) => `${first}-${last}`),
      ]),
      [
        ['none', ['0.0.0.0-192.0.1.255', '192.0.2.128-255.255.255.255']],
        ['all', ['192.0.2.0-192.0.2.127']],
      ],
    )
  })

  it('names the family where the two differ', () => {
    const both = [podOf('x/a', ['10.244.0.1', 'fd00::1']), podOf('y/b', ['10.244.1.1', 'fd00::2'])]
    const policies = [policyOf('x/p', { ingress: [{ peers: [ipBlock('0.0.0.0/0')] }] })]
    const { rows } = policyMatrix(clusterOf({ pods: both, namespaces, policies }), 'x')
    const pods = rows[0]?.from.find(({ groups }) => groups.length > 0)
    assert.deepEqual(pods?.reach, [
      { family: 'IPv4', ports: 'all' },
      { family: 'IPv6', ports: 'none' },
    ])
  })

  it('lets pods without a common family reach nothing of each other', () => {
    const apart = [podOf('x/a', ['10.244.0.1']), podOf('y/b', ['fd00::2'])]
    const { rows } = policyMatrix(clusterOf({ pods: apart, namespaces }), 'x')
    assert.deepEqual(rows[0]?.from.find(({ groups }) => groups.includes(1))?.reach, [{ ports: 'none' }])
  })
})

describe('the effect of a policy', () => {
  const cluster = clusterOf({ pods, namespaces, policies: [policyOf('x/open', { ingress: [{}] })] })

  it('names what groups lose, and what they keep is not in it', () => {
    const effect = policyEffect(cluster, [policyOf('x/open', { ingress: [{ peers: [podsPeer({ app: 'web' })] }] })])
    assert.deepEqual(effect.policies, [{ policy: 'x/open', change: 'replace', pods: 3, isolates: ['ingress'] }])
    const lost = { before: [{ ports: 'all' }], after: [{ ports: 'none' }], addresses: everywhere }
    assert.deepEqual(effect.rows, [
      { group: 0, from: [{ ...lost, groups: [2] }], to: [] },
      { group: 1, from: [{ ...lost, groups: [0, 2] }], to: [] },
    ])
  })

  it('is nothing beside a policy that allows all already', () => {
    const effect = policyEffect(cluster, [policyOf('x/deny', { ingress: [] })])
    assert.deepEqual(effect.policies, [{ policy: 'x/deny', change: 'create', pods: 3, isolates: ['ingress'] }])
    assert.deepEqual(effect.rows, [])
  })

  it('counts several policies together', () => {
    const only = podsPeer({ app: 'web' })
    const effect = policyEffect(cluster, [
      policyOf('x/out', { podSelector: only.pods, egress: [] }),
      policyOf('x/dns', { podSelector: only.pods, egress: [{ ports: [portRange(53, 53, 'UDP')] }] }),
    ])
    assert.deepEqual(
      effect.rows.map(({ group, from, to }) => [group, from, to.map(({ after }) => after)]),
      [[1, [], [[{ ports: [{ protocol: 'UDP', first: 53, last: 53 }] }]]]],
    )
  })
})
