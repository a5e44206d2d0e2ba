import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readNetworkPolicy } from '../../../../src/node/policy/read-network-policy.ts'
import { formatProblem } from '../../../../src/node/state/index.ts'
import { ipBlock, podsPeer, portNamed, portRange, selects } from '../../../helpers/policy-cluster.ts'

function read(spec: unknown) {
  const { value, problems } = readNetworkPolicy({ metadata: { namespace: 'x', name: 'p' }, spec })
  assert.ok(value !== undefined)
  return { policy: value, problems: problems.map(formatProblem) }
}

/** The rule that the reader makes of a rule, without problems. */
function readWholeIngress(rule: unknown) {
  const { policy, problems } = read({ podSelector: {}, ingress: [rule] })
  assert.deepEqual(problems, [])
  return policy.ingress?.[0]
}

describe('the policy types', () => {
  const cases: readonly [string, unknown, readonly string[]][] = [
    ['absent isolate ingress', {}, ['ingress']],
    ['absent isolate egress too where egress rules stand', { egress: [{}] }, ['ingress', 'egress']],
    ['absent isolate ingress alone where the egress rules are an empty list', { egress: [] }, ['ingress']],
    ['empty count as absent', { policyTypes: [], egress: [{}] }, ['ingress', 'egress']],
    ['null count as absent', { policyTypes: null }, ['ingress']],
    [
      'Egress isolate egress alone, whatever ingress rules stand',
      { policyTypes: ['Egress'], ingress: [{}] },
      ['egress'],
    ],
    ['Ingress leave egress rules without effect', { policyTypes: ['Ingress'], egress: [{}] }, ['ingress']],
    ['Ingress and Egress isolate both', { policyTypes: ['Ingress', 'Egress'] }, ['ingress', 'egress']],
  ]
  for (const [title, spec, expected] of cases) {
    it(title, () => {
      const { policy, problems } = read(spec)
      assert.deepEqual(
        ['ingress', 'egress'].filter((direction) => Object.hasOwn(policy, direction)),
        expected,
      )
      assert.deepEqual(problems, [])
    })
  }

  it('that are unknown isolate both directions and are a problem', () => {
    const { policy, problems } = read({ policyTypes: ['Ingress', 'Sideways'] })
    assert.deepEqual([policy.ingress, policy.egress], [[], []])
    assert.match(problems.join(), /spec\.policyTypes: expected a list of Ingress and Egress, found "Ingress, Sideways"/)
  })
})

describe('a spec', () => {
  it('that is absent isolates all pods for ingress and allows nothing', () => {
    const { policy, problems } = read(undefined)
    assert.deepEqual([policy.podSelector, policy.ingress, policy.egress], [[], [], undefined])
    assert.deepEqual(problems, [])
  })

  it('that is no object isolates all pods in both directions', () => {
    const { policy, problems } = read('all')
    assert.deepEqual([policy.podSelector, policy.ingress, policy.egress], [[], [], []])
    assert.equal(problems.length, 1)
  })

  it('gives no value without namespace or name', () => {
    for (const metadata of [undefined, {}, { name: 'p' }, { name: 'p', namespace: '../x' }]) {
      const { value, problems } = readNetworkPolicy({ metadata, spec: {} })
      assert.equal(value, undefined)
      assert.ok(problems.length > 0)
    }
  })

  it('with lists that are null has none', () => {
    const { policy, problems } = read({ podSelector: null, ingress: null, policyTypes: ['Ingress'] })
    assert.deepEqual([policy.podSelector, policy.ingress], [[], []])
    assert.deepEqual(problems, [])
  })

  it('reports a field that it does not know', () => {
    assert.match(read({ podselector: {} }).problems.join(), /spec: expected only the fields podSelector.*"podselector"/)
  })
})

describe('a pod selector', () => {
  it('has all conditions of labels and expressions', () => {
    const { policy } = read({
      podSelector: {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'x.y/z', operator: 'Exists', values: [] },
          { key: 'env', operator: 'NotIn', values: ['dev'] },
        ],
      },
    })
    assert.deepEqual(policy.podSelector, [
      { key: 'app', operator: 'in', values: ['web'] },
      { key: 'tier', operator: 'in', values: ['a', 'b'] },
      { key: 'old', operator: 'absent', values: [] },
      { key: 'x.y/z', operator: 'exists', values: [] },
      { key: 'env', operator: 'notin', values: ['dev'] },
    ])
  })

  const unreadable: readonly [string, unknown][] = [
    ['a label that is no text', { matchLabels: { app: 7 } }],
    ['a label value that no label can have', { matchLabels: { app: 'a b' } }],
    ['a key that no label can have', { matchLabels: { 'a b': 'c' } }],
    ['an operator that is unknown', { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] }],
    ['In without values', { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }],
    ['Exists with values', { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }],
    ['a value that is no text', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 1] }] }],
    ['an operator of an object’s prototype', { matchExpressions: [{ key: 'a', operator: 'toString' }] }],
    ['an unknown field', { matchlabels: { a: 'b' } }],
  ]
  for (const [title, selector] of unreadable) {
    it(`leaves out ${title}, and isolates more pods`, () => {
      const { policy, problems } = read({ podSelector: selector })
      assert.deepEqual(policy.podSelector, [])
      assert.equal(problems.length, 1)
    })

    it(`of a peer matches no pod with ${title}`, () => {
      const { policy, problems } = read({ ingress: [{ from: [{ podSelector: selector }, { podSelector: {} }] }] })
      assert.deepEqual(policy.ingress?.[0]?.peers, [nothing, { kind: 'pods', pods: [] }])
      assert.equal(problems.length, 1)
    })
  }

  it('keeps the conditions that can be read', () => {
    const { policy } = read({ podSelector: { matchLabels: { app: 'web', bad: 1 } } })
    assert.deepEqual(policy.podSelector, selects({ app: 'web' }))
  })
})

/** A peer that no pod and no address matches. */
const nothing = { kind: 'pods', pods: [{ key: '', operator: 'in', values: [] }] }
const noPort = { kind: 'name', protocol: 'TCP', name: '-' }

describe('a rule', () => {
  it('without peers and ports allows all: both are absent', () => {
    for (const rule of [{}, { from: [], ports: [] }, { from: null, ports: null }])
      assert.deepEqual(readWholeIngress(rule), {})
  })

  it('that is no object, or has an unknown field, allows nothing and keeps its place', () => {
    for (const rule of ['all', null, { form: [{ podSelector: {} }] }, { to: [] }]) {
      const { policy, problems } = read({ ingress: [rule, {}] })
      assert.deepEqual(policy.ingress, [{ peers: [nothing] }, {}])
      assert.equal(problems.length, 1)
    }
  })

  it('of egress has its peers under "to"', () => {
    const { policy, problems } = read({ egress: [{ to: [{ podSelector: { matchLabels: { a: 'b' } } }] }] })
    assert.deepEqual(policy.egress, [{ peers: [podsPeer({ a: 'b' })] }])
    assert.deepEqual(problems, [])
  })

  it('with lists that are none allows nothing', () => {
    const { policy, problems } = read({ ingress: [{ from: {} }, { ports: 'http' }] })
    assert.deepEqual(policy.ingress, [{ peers: [nothing] }, { ports: [noPort] }])
    assert.equal(problems.length, 2)
  })

  it('lists that are no lists isolate and allow nothing', () => {
    const { policy, problems } = read({ ingress: {}, egress: 'all' })
    assert.deepEqual([policy.ingress, policy.egress], [[], []])
    assert.equal(problems.length, 2)
  })
})

describe('a peer', () => {
  const good: readonly [string, unknown, unknown][] = [
    ['of pods alone has no namespaces', { podSelector: {} }, { kind: 'pods', pods: [] }],
    ['of namespaces alone has all their pods', { namespaceSelector: {} }, { kind: 'pods', namespaces: [], pods: [] }],
    [
      'of both has both',
      { namespaceSelector: { matchLabels: { a: 'b' } }, podSelector: { matchLabels: { c: 'd' } } },
      podsPeer({ c: 'd' }, { a: 'b' }),
    ],
    ['with null beside it is read without', { podSelector: {}, ipBlock: null }, { kind: 'pods', pods: [] }],
    ['of addresses has no exceptions by default', { ipBlock: { cidr: '10.0.0.0/8' } }, ipBlock('10.0.0.0/8')],
    [
      'of addresses has canonical networks',
      { ipBlock: { cidr: '10.1.2.3/8', except: ['10.1.0.0/16', '10.1.2.0/16'] } },
      ipBlock('10.0.0.0/8', '10.1.0.0/16'),
    ],
    ['of IPv4-mapped addresses is one of IPv4', { ipBlock: { cidr: '::ffff:10.0.0.0/104' } }, ipBlock('10.0.0.0/8')],
    ['of IPv6 stands', { ipBlock: { cidr: 'fd00::/8', except: ['fd01::/16'] } }, ipBlock('fd00::/8', 'fd01::/16')],
  ]
  for (const [title, peer, expected] of good)
    it(title, () => assert.deepEqual(readWholeIngress({ from: [peer] }), { peers: [expected] }))

  const bad: readonly [string, unknown][] = [
    ['without any part', {}],
    ['of addresses and pods', { ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }],
    ['with an unknown part', { podSelector: {}, serviceSelector: {} }],
    ['with a network that is none', { ipBlock: { cidr: '10.0.0.0' } }],
    ['with an exception that is no network', { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/99'] } }],
    ['with an exception outside', { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }],
    ['with an exception of the other family', { ipBlock: { cidr: '10.0.0.0/8', except: ['fd00::/16'] } }],
    ['that is no object', 'pods'],
  ]
  for (const [title, peer] of bad) {
    it(`${title} matches nothing and is a problem`, () => {
      const { policy, problems } = read({ ingress: [{ from: [peer] }] })
      assert.deepEqual(policy.ingress, [{ peers: [nothing] }])
      assert.equal(problems.length, 1)
    })
  }
})

describe('a port', () => {
  const good: readonly [string, unknown, unknown][] = [
    ['with nothing is all of TCP', {}, { kind: 'protocol', protocol: 'TCP' }],
    ['with a protocol is all of it', { protocol: 'SCTP' }, { kind: 'protocol', protocol: 'SCTP' }],
    ['with a number alone is one of TCP', { port: 80 }, portRange(80)],
    ['with endPort is a range', { protocol: 'UDP', port: 80, endPort: 90 }, portRange(80, 90, 'UDP')],
    ['with endPort as its port is one port', { port: 80, endPort: 80 }, portRange(80)],
    ['with a name keeps it', { port: 'http' }, portNamed('http')],
    ['with nulls is read without them', { protocol: null, port: 80, endPort: null }, portRange(80)],
  ]
  for (const [title, port, expected] of good)
    it(title, () => assert.deepEqual(readWholeIngress({ ports: [port] }), { ports: [expected] }))

  const bad: readonly [string, unknown][] = [
    ['of an unknown protocol', { protocol: 'ICMP' }],
    ['0', { port: 0 }],
    ['beyond 65535', { port: 65_536 }],
    ['that is no whole number', { port: 80.5 }],
    ['as a text of digits', { port: '80' }],
    ['with a name that no port has', { port: 'HTTP' }],
    ['that ends before it begins', { port: 80, endPort: 79 }],
    ['with a name and an end', { port: 'http', endPort: 90 }],
    ['with an end alone', { endPort: 90 }],
    ['with an unknown field', { port: 80, ports: 90 }],
  ]
  for (const [title, port] of bad) {
    it(`${title} allows nothing and is a problem`, () => {
      const { policy, problems } = read({ ingress: [{ ports: [port, { port: 81 }] }] })
      assert.deepEqual(policy.ingress, [{ ports: [noPort, portRange(81)] }])
      assert.equal(problems.length, 1)
    })
  }
})
