import { changes, creates, emptyIsAbsent, type KindCases, otherWords, replaces } from './write-case.ts'

const group = '/apis/networking.k8s.io/v1'
const policyPath = `${group}/namespaces/default/networkpolicies`
const policy = creates(policyPath, { metadata: { name: 'new' }, spec: { podSelector: {} } })

const spec = (change: object) => ({ spec: { podSelector: {}, ...change } })
const selected = (podSelector: object | null) => spec({ podSelector })
const from = (...peers: readonly object[]) => spec({ ingress: [{ from: peers }] })
const to = (...peers: readonly object[]) => spec({ egress: [{ to: peers }] })
const ports = (...list: readonly object[]) => spec({ ingress: [{ ports: list }] })
const block = (cidr: string | null, ...except: readonly string[]) => from({ ipBlock: { cidr, except } })
const from0 = 'spec.ingress[0].from[0]'
const port0 = 'spec.ingress[0].ports[0]'
const expression = (change: object) => selected({ matchExpressions: [{ key: 'a', operator: 'Exists', ...change }] })
const expression0 = 'spec.podSelector.matchExpressions[0]'

const selectors = [
  policy('nothing special', {}),
  policy('no spec', { spec: null }),
  policy('a name in capitals', { metadata: { name: 'A' } }, ['Invalid metadata.name']),
  policy('labels', selected({ matchLabels: { app: 'web' } })),
  policy('a label key with a blank', selected({ matchLabels: { 'a b': 'c' } }), [
    'Invalid spec.podSelector.matchLabels',
  ]),
  policy('a label value with a blank', selected({ matchLabels: { a: 'b c' } }), [
    'Invalid spec.podSelector.matchLabels',
  ]),
  policy('an operator that is none', expression({ operator: 'Like' }), [`Invalid ${expression0}.operator`]),
  policy('no operator', expression({ operator: '' }), [`Invalid ${expression0}.operator`]),
  policy('In nothing', expression({ operator: 'In', values: [] }), [`Required ${expression0}.values`]),
  policy('NotIn nothing', expression({ operator: 'NotIn' }), [`Required ${expression0}.values`]),
  policy('Exists with a value', expression({ values: ['a'] }), [`Forbidden ${expression0}.values`]),
  policy('an expression of no key', expression({ key: '' }), [`Invalid ${expression0}.key`], otherWords.keyRule),
  policy('an expression of a value with a blank', expression({ operator: 'In', values: ['a', 'b c'] }), [
    `Invalid ${expression0}.values[1]`,
  ]),
  policy('a key of two slashes', expression({ key: 'a/b/c' }), [`Invalid ${expression0}.key`], otherWords.keyRule),
  policy(
    'a key of a domain in capitals',
    expression({ key: 'A.B/c' }),
    [`Invalid ${expression0}.key`],
    otherWords.keyRule,
  ),
]

const peers = [
  policy('no peer', from({}), [`Required ${from0}`]),
  policy('no peer of an egress', to({}), ['Required spec.egress[0].to[0]']),
  policy('any pod', from({ podSelector: {} })),
  policy('any pod of some namespaces', from({ podSelector: {}, namespaceSelector: { matchLabels: { a: 'b' } } })),
  policy(
    'selectors that are none',
    from({
      podSelector: { matchLabels: { '-': '' } },
      namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'x' }] },
    }),
    [`Invalid ${from0}.podSelector.matchLabels`, `Invalid ${from0}.namespaceSelector.matchExpressions[0].operator`],
  ),
  policy('a network', block('10.0.0.0/8', '10.1.0.0/16')),
  policy('a network of IPv6', block('2001:db8::/32', '2001:db8:1::/48')),
  policy('a network and a selector', from({ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }), [
    `Forbidden ${from0}`,
  ]),
  policy('a network that is none and a selector', from({ ipBlock: { cidr: 'x' }, podSelector: {} }), [
    `Invalid ${from0}.ipBlock.cidr`,
    `Forbidden ${from0}`,
  ]),
  policy('a network of nothing', block(''), [`Required ${from0}.ipBlock.cidr`]),
  policy('a network of nothing with exceptions', block('', 'x'), [`Required ${from0}.ipBlock.cidr`]),
  policy('a network that is an address', block('10.0.0.1'), [`Invalid ${from0}.ipBlock.cidr`]),
  policy('a network with bits of a host', block('10.0.0.1/8')),
  policy('a network with leading zeros', block('010.0.0.0/8'), [`Invalid ${from0}.ipBlock.cidr`], {
    differs: 'programs read leading zeros as decimal or octal numbers: Kubernetes takes them and warns',
  }),
  policy('a network of an IPv4 address in IPv6', block('::ffff:10.0.0.0/104')),
  policy('a network of 33 bits', block('10.0.0.0/33'), [`Invalid ${from0}.ipBlock.cidr`]),
  policy('an exception that is none', block('10.0.0.0/8', 'x'), [`Invalid ${from0}.ipBlock.except[0]`]),
  policy('an exception beside the network', block('10.0.0.0/8', '11.0.0.0/16'), [`Invalid ${from0}.ipBlock.except[0]`]),
  policy('an exception of the whole network', block('10.0.0.0/8', '10.0.0.0/8'), [
    `Invalid ${from0}.ipBlock.except[0]`,
  ]),
  policy('an exception wider than the network', block('10.0.0.0/8', '10.0.0.0/7'), [
    `Invalid ${from0}.ipBlock.except[0]`,
  ]),
  policy('an exception of the other family', block('10.0.0.0/8', '2001:db8::/64'), [
    `Invalid ${from0}.ipBlock.except[0]`,
  ]),
]

const portCases = [
  policy('any port', ports({})),
  policy('a port', ports({ port: 80, protocol: 'UDP' })),
  policy('a named port', ports({ port: 'http' })),
  policy('a range', ports({ port: 80, endPort: 90 })),
  policy('a range of one', ports({ port: 80, endPort: 80 })),
  policy('a protocol that is none', ports({ protocol: 'ICMP' }), [`NotSupported ${port0}.protocol`]),
  policy('an empty protocol', ports({ protocol: '' }), [], emptyIsAbsent),
  policy('port 0', ports({ port: 0 }), [`Invalid ${port0}.port`]),
  policy('port 70000', ports({ port: 70_000 }), [`Invalid ${port0}.port`]),
  policy('a port name of digits', ports({ port: '80' }), [`Invalid ${port0}.port`]),
  policy('a port name with two faults', ports({ port: 'a--B' }), [`Invalid ${port0}.port`], otherWords.firstFault),
  policy('an empty port name', ports({ port: '' }), [`Invalid ${port0}.port`], otherWords.firstFault),
  policy('an end without start', ports({ endPort: 80 }), [`Invalid ${port0}.endPort`]),
  policy('an end of a name', ports({ port: 'http', endPort: 80 }), [`Invalid ${port0}.endPort`]),
  policy(
    'an end of a bad name',
    ports({ port: 'HTTP', endPort: 80 }),
    [`Invalid ${port0}.endPort`, `Invalid ${port0}.port`],
    otherWords.firstFault,
  ),
  policy('an end before the start', ports({ port: 80, endPort: 79 }), [`Invalid ${port0}.endPort`], {
    words: 'Kubernetes prints the start where it means the end',
  }),
  policy('an end of 70000', ports({ port: 80, endPort: 70_000 }), [`Invalid ${port0}.endPort`]),
  policy('an end of 0 and a start of 0', ports({ port: 0, endPort: 0 }), [
    `Invalid ${port0}.port`,
    `Invalid ${port0}.endPort`,
  ]),
]

const empties = [
  policy('a rule that is an empty line', spec({ ingress: [null] })),
  policy('a peer that is an empty line', spec({ ingress: [{ from: [null] }] }), [`Required ${from0}`]),
  policy('a value that is an empty line', expression({ operator: 'In', values: [null] })),
  policy('a type that is an empty line', spec({ policyTypes: [null] }), ['NotSupported spec.policyTypes[0]']),
]

const types = [
  policy('both types', spec({ policyTypes: ['Ingress', 'Egress'] })),
  policy('a type that is none', spec({ policyTypes: ['Sideways'] }), ['NotSupported spec.policyTypes[0]']),
  policy('one type twice', spec({ policyTypes: ['Ingress', 'Ingress'] })),
  policy('three types', spec({ policyTypes: ['Ingress', 'Egress', 'Sideways'] }), ['Invalid spec.policyTypes']),
  policy('egress rules for ingress alone', spec({ policyTypes: ['Ingress'], egress: [{}] })),
]

const replacePolicy = replaces(`${policyPath}/web`, { metadata: { name: 'web' }, spec: {} })
const updatePolicy = changes(`${policyPath}/web`)

export const networkPolicyCases: KindCases = {
  title: 'NetworkPolicies',
  fixtures: [{ path: policyPath, body: { metadata: { name: 'web' }, ...from({ ipBlock: { cidr: '10.0.0.1/8' } }) } }],
  cases: [
    ...selectors,
    ...peers,
    ...portCases,
    ...types,
    ...empties,
    replacePolicy('the object without its revision', {}),
    updatePolicy('other pods', { spec: { podSelector: { matchLabels: { app: 'web' } } } }),
    updatePolicy('a network that is none', { spec: { ingress: [{ from: [{ ipBlock: { cidr: 'x' } }] }] } }, [
      `Invalid ${from0}.ipBlock.cidr`,
    ]),
    updatePolicy('a type that is none', { spec: { policyTypes: ['Sideways'] } }, ['NotSupported spec.policyTypes[0]']),
    updatePolicy('no types', { spec: { policyTypes: null } }),
  ],
}

const addressPath = `${group}/ipaddresses`
const parentRef = { resource: 'services', namespace: 'default', name: 'web' }
const parented = (change: object) => ({ spec: { parentRef: { ...parentRef, ...change } } })
const address = creates(addressPath, { metadata: { name: '198.51.100.1' }, ...parented({}) })
const named = (name: string) => ({ metadata: { name } })
const parent = 'spec.parentRef'
const replaceAddress = replaces(`${addressPath}/198.51.100.9`, { ...named('198.51.100.9'), ...parented({}) })
const updateAddress = changes(`${addressPath}/198.51.100.9`)

export const ipAddressCases: KindCases = {
  title: 'IPAddresses',
  fixtures: [{ path: addressPath, body: { ...named('198.51.100.9'), ...parented({}) } }],
  cases: [
    address('nothing special', {}),
    address('of IPv6', named('2001:db8::1')),
    address('a name that is no address', named('web'), ['Invalid metadata.name']),
    address('a name with leading zeros', named('198.51.100.001'), ['Invalid metadata.name']),
    address('a name in capitals', named('2001:DB8::1'), ['Invalid metadata.name']),
    address('a name that could be shorter', named('2001:db8:0::1'), ['Invalid metadata.name']),
    address('an IPv4 address in IPv6', named('::ffff:198.51.100.1'), ['Invalid metadata.name']),
    address('no spec', { spec: null }, [`Required ${parent}`]),
    address('no parent', { spec: {} }, [`Required ${parent}`]),
    address('an empty parent', { spec: { parentRef: {} } }, [`Required ${parent}.resource`, `Required ${parent}.name`]),
    address('a parent of a group', parented({ group: 'example.com', resource: 'gateways' })),
    address('a parent of a group in capitals', parented({ group: 'A' }), [`Invalid ${parent}.group`]),
    address('a parent with slashes', parented({ resource: 'a/b', name: 'c/d', namespace: 'e/f' }), [
      `Invalid ${parent}.resource`,
      `Invalid ${parent}.name`,
      `Invalid ${parent}.namespace`,
    ]),
    address('a parent of the cluster', parented({ namespace: null })),
    replaceAddress('the object without its revision', {}),
    replaceAddress('no parent', { spec: {} }, [`Required ${parent}`, `Invalid ${parent}`]),
    updateAddress('a label', { metadata: { labels: { a: 'b' } } }),
    updateAddress(
      'another parent',
      { spec: { parentRef: { name: 'other' } } },
      [`Invalid ${parent}`],
      otherWords.goFields,
    ),
    updateAddress('no parent', { spec: { parentRef: null } }, [`Required ${parent}`, `Invalid ${parent}`]),
  ],
}

const cidrPath = `${group}/servicecidrs`
const cidr = creates(cidrPath, { metadata: { name: 'new' }, spec: { cidrs: ['198.18.0.0/24'] } })
const cidrs = (...list: readonly string[]) => ({ spec: { cidrs: list } })
const replaceCidr = replaces(`${cidrPath}/more`, { metadata: { name: 'more' }, ...cidrs('198.18.1.0/24') })
const updateCidr = changes(`${cidrPath}/more`)
const cidrStatus = changes(`${cidrPath}/more/status`)

export const serviceCidrCases: KindCases = {
  title: 'ServiceCIDRs',
  fixtures: [{ path: cidrPath, body: { metadata: { name: 'more' }, ...cidrs('198.18.1.0/24') } }],
  cases: [
    cidr('nothing special', {}),
    cidr('a name in capitals', { metadata: { name: 'A' } }, ['Invalid metadata.name']),
    cidr('of both families', cidrs('198.18.0.0/24', '2001:db8::/108')),
    cidr('no networks', cidrs(), ['Required spec.cidrs']),
    cidr('no spec', { spec: null }, ['Required spec.cidrs']),
    cidr(
      'three networks',
      cidrs('198.18.0.0/24', '2001:db8::/108', '198.18.2.0/24'),
      ['Invalid spec.cidrs'],
      otherWords.goFields,
    ),
    cidr('two networks of one family', cidrs('198.18.0.0/24', '198.18.2.0/24'), ['Invalid spec.cidrs']),
    cidr('a network that is none', cidrs('web'), ['Invalid spec.cidrs[0]']),
    cidr('a network with bits of a host', cidrs('198.18.0.1/24'), ['Invalid spec.cidrs[0]']),
    cidr('two networks that are none', cidrs('web', 'x'), ['Invalid spec.cidrs[0]', 'Invalid spec.cidrs[1]']),
    cidr('two of one family, one with bits of a host', cidrs('198.18.0.1/24', '198.18.2.0/24'), [
      'Invalid spec.cidrs[0]',
      'Invalid spec.cidrs',
    ]),
    cidr('a network of IPv6 in capitals', cidrs('2001:DB8::/108'), ['Invalid spec.cidrs[0]']),
    replaceCidr('the object without its revision', {}),
    replaceCidr('no networks', cidrs(), ['Invalid spec.cidrs']),
    updateCidr('a second family', cidrs('198.18.1.0/24', '2001:db8::/108')),
    updateCidr('a second network of the family', cidrs('198.18.1.0/24', '198.18.3.0/24'), ['Invalid spec.cidrs']),
    updateCidr('a second network that is none', cidrs('198.18.1.0/24', 'x'), ['Invalid spec.cidrs[1]']),
    updateCidr('another network', cidrs('198.18.3.0/24'), ['Invalid spec.cidrs[0]']),
    updateCidr('another network and a second family', cidrs('198.18.3.0/24', '2001:db8::/108'), [
      'Invalid spec.cidrs[0]',
    ]),
    updateCidr('no networks', cidrs(), ['Invalid spec.cidrs']),
    updateCidr('a label', { metadata: { labels: { a: 'b' } } }),
    cidrStatus('a condition', {
      status: {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'A', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    }),
    cidrStatus('a condition that is none', {
      status: { conditions: [{ type: '', status: 'Perhaps', reason: '', message: '', lastTransitionTime: null }] },
    }),
  ],
}
