import { service } from './core-kinds.ts'
import {
  create,
  differs,
  type Fields,
  type ObjectCase,
  objectCases,
  special,
  unreadable,
  zeros,
} from './object-case.ts'
import { type KindCases, otherWords } from './write-case.ts'

const spec = (title: string, fields: Fields, ...errors: string[]) => create(title, { spec: fields }, ...errors)
const port = (title: string, fields: Fields, ...errors: string[]) => ports(title, [{ port: 80, ...fields }], ...errors)
const ports = (title: string, list: readonly Fields[], ...errors: string[]) => spec(title, { ports: list }, ...errors)
const p0 = 'spec.ports[0]'

const portCases: readonly ObjectCase[] = [
  spec('no ports', { ports: null }, 'Required spec.ports'),
  spec('an empty list of ports', { ports: [] }, 'Required spec.ports'),
  spec('no ports and no address', { ports: [], clusterIP: 'None' }),
  ports('a port without number', [{}], `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  port('port 0', { port: 0 }, `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  port('port 65535', { port: 65535 }),
  port('port 65536', { port: 65536 }, `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  port('port -1', { port: -1 }, `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  unreadable(port('a port that is a text', { port: '80' })),
  unreadable(port('a port that is no whole number', { port: 80.5 })),
  port('a name in capitals', { name: 'HTTP' }, `Invalid ${p0}.name`),
  port('a name with a dot', { name: 'a.b' }, `Invalid ${p0}.name`),
  port('a name of 63 letters', { name: 'a'.repeat(63) }),
  port('a name of 64 letters', { name: 'a'.repeat(64) }, `Invalid ${p0}.name`),
  port('a name of digits', { name: '80' }),
  ports('two ports, one without name', [{ name: 'a', port: 80 }, { port: 81 }], 'Required spec.ports[1].name'),
  ports('two ports without names', [{ port: 80 }, { port: 81 }], `Required ${p0}.name`, 'Required spec.ports[1].name'),
  ports(
    'a name twice',
    [
      { name: 'a', port: 80 },
      { name: 'a', port: 81 },
    ],
    'Duplicate spec.ports[1].name',
  ),
  {
    ...ports(
      'a port twice',
      [
        { name: 'a', port: 80 },
        { name: 'b', port: 80 },
      ],
      'Duplicate spec.ports[1]',
    ),
    ...otherWords.goFields,
  },
  ports('a port for two protocols', [
    { name: 'a', port: 80 },
    { name: 'b', port: 80, protocol: 'UDP' },
  ]),
  port('a protocol in small letters', { protocol: 'tcp' }, `NotSupported ${p0}.protocol`),
  port('SCTP', { protocol: 'SCTP' }),
  port('an empty protocol', { protocol: '' }),
  port('a target by name', { targetPort: 'http' }),
  port('a target with a long name', { targetPort: 'a'.repeat(16) }, `Invalid ${p0}.targetPort`),
  port('a target with a capital', { targetPort: 'Http' }, `Invalid ${p0}.targetPort`),
  port('a target of digits', { targetPort: '8080' }, `Invalid ${p0}.targetPort`),
  port('a target with two hyphens', { targetPort: 'a--b' }, `Invalid ${p0}.targetPort`),
  port('a target that begins with a hyphen', { targetPort: '-a' }, `Invalid ${p0}.targetPort`),
  port('a target that breaks four rules', { targetPort: '--1234567890123456' }, `Invalid ${p0}.targetPort`),
  port('a target of 65536', { targetPort: 65536 }, `Invalid ${p0}.targetPort`),
  port('an empty target', { targetPort: '' }),
  port('a target of 0', { targetPort: 0 }),
  port('a target of a headless Service', { targetPort: 81 }),
  port('an application protocol', { appProtocol: 'kubernetes.io/h2c' }),
  port('an application protocol with a space', { appProtocol: 'h 2' }, `Invalid ${p0}.appProtocol`),
  port('an empty application protocol', { appProtocol: '' }, `Invalid ${p0}.appProtocol`),
  port('a node port without need', { nodePort: 30080 }, `Forbidden ${p0}.nodePort`),
]

const nodePorts = (title: string, list: readonly Fields[], ...errors: string[]) =>
  spec(title, { type: 'NodePort', ports: list }, ...errors)

const nodePortCases: readonly ObjectCase[] = [
  nodePorts('a node port', [{ port: 80, nodePort: 30080 }]),
  differs(
    nodePorts('a node port below the range', [{ port: 80, nodePort: 80 }], `Invalid ${p0}.nodePort`),
    'Kubernetes looks at the range only when it is no dry run',
  ),
  differs(
    nodePorts('a node port above the range', [{ port: 80, nodePort: 32768 }], `Invalid ${p0}.nodePort`),
    'Kubernetes looks at the range only when it is no dry run',
  ),
  differs(
    nodePorts('a node port below 0', [{ port: 80, nodePort: -1 }], `Invalid ${p0}.nodePort`),
    'Kubernetes looks at the range only when it is no dry run',
  ),
  nodePorts(
    'a node port twice',
    [
      { name: 'a', port: 80, nodePort: 30080 },
      { name: 'b', port: 81, nodePort: 30080 },
    ],
    'Invalid spec.ports[1].nodePort',
  ),
  nodePorts('a node port for two protocols', [
    { name: 'a', port: 80, nodePort: 30080 },
    { name: 'b', port: 80, nodePort: 30080, protocol: 'UDP' },
  ]),
  nodePorts(
    'a node port for two ports of two protocols',
    [
      { name: 'a', port: 80, nodePort: 30080 },
      { name: 'b', port: 81, nodePort: 30080, protocol: 'UDP' },
    ],
    'Invalid spec.ports[1].nodePort',
  ),
  spec('node ports and no address', { type: 'NodePort', clusterIP: 'None' }, 'Invalid spec.clusterIPs[0]'),
]

const external = (title: string, fields: Fields, ...errors: string[]) =>
  create(title, { spec: { type: 'ExternalName', externalName: 'example.com', ports: null, ...fields } }, ...errors)

const typeCases: readonly ObjectCase[] = [
  spec('a type that is none', { type: 'Headless' }, 'NotSupported spec.type'),
  spec('an empty type', { type: '' }),
  external('another name', {}),
  external('another name with a dot at its end', { externalName: 'example.com.' }),
  external('no other name', { externalName: null }, 'Required spec.externalName'),
  external('the root as another name', { externalName: '.' }, 'Required spec.externalName'),
  external('another name in capitals', { externalName: 'Example.com' }, 'Invalid spec.externalName'),
  external('another name with an underscore', { externalName: 'a_b.example' }, 'Invalid spec.externalName'),
  external('another name of 254 letters', { externalName: 'a'.repeat(254) }, 'Invalid spec.externalName'),
  external('another name and an address', { clusterIP: '10.96.0.107' }, 'Forbidden spec.clusterIPs'),
  external('another name and no address', { clusterIP: 'None' }, 'Forbidden spec.clusterIPs'),
  external('another name and a family', { ipFamilies: ['IPv4'] }, 'Forbidden spec.ipFamilies'),
  external('another name and no families', { ipFamilies: [] }),
  external('another name and a policy of families', { ipFamilyPolicy: 'SingleStack' }, 'Forbidden spec.ipFamilyPolicy'),
  external('another name and ports', { ports: [{ port: 80 }] }),
  external('another name and a bad port', { ports: [{ port: 0 }] }, `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  external('another name and a node port', { ports: [{ port: 80, nodePort: 30080 }] }),
  external('another name and an external address', { externalIPs: ['192.0.2.1'] }),
  external(
    'another name, an external address and a policy for it',
    { externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Local' },
    'Invalid spec.externalTrafficPolicy',
  ),
  spec('a name it does not use', { externalName: 'Not_A_Name' }),
  spec('a selector with a bad key', { selector: { 'a b': 'c' } }, 'Invalid spec.selector'),
  spec('a selector with a bad value', { selector: { a: 'b c' } }, 'Invalid spec.selector'),
  spec('no selector', { selector: null }),
  spec('an affinity that is none', { sessionAffinity: 'Cookie' }, 'NotSupported spec.sessionAffinity'),
  spec('an empty affinity', { sessionAffinity: '' }),
  spec('addresses that are not ready', { publishNotReadyAddresses: true }),
]

const sticky = (title: string, timeoutSeconds: number, ...errors: string[]) =>
  spec(title, { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } }, ...errors)
const seconds = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds'

const affinityCases: readonly ObjectCase[] = [
  sticky('clients kept for a second', 1),
  sticky('clients kept for a day', 86_400),
  sticky('clients kept for no time', 0, `Invalid ${seconds}`),
  sticky('clients kept for less than no time', -1, `Invalid ${seconds}`),
  sticky('clients kept for more than a day', 86_401, `Invalid ${seconds}`),
  spec('clients kept without a time', { sessionAffinity: 'ClientIP', sessionAffinityConfig: {} }),
  spec('a time for no affinity', { sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
]

const ip = (title: string, clusterIP: string, ...errors: string[]) => spec(title, { clusterIP }, ...errors)
const ips = (title: string, clusterIPs: readonly string[], ...errors: string[]) =>
  spec(title, { clusterIP: clusterIPs[0], clusterIPs }, ...errors)
const c0 = 'spec.clusterIPs[0]'

const addressCases: readonly ObjectCase[] = [
  ip('an address', '10.96.0.108'),
  ip('an address outside', '192.0.2.1', 'Invalid spec.clusterIPs'),
  ip('an address that is none', '10.96.7', `Invalid ${c0}`),
  differs(ip('an address with a leading 0', '10.96.07.9', `Invalid ${c0}`), zeros),
  ip('an address of the first of the network', '10.96.0.0', 'Invalid spec.clusterIPs'),
  ip('an address with a mask', '10.96.0.108/32', `Invalid ${c0}`),
  ip('an address that is the word none', 'none', `Invalid ${c0}`),
  ip('an empty address', ''),
  ip('an IPv6 address in IPv4', '::ffff:10.96.0.110'),
  ip('an IPv6 address on a cluster without', 'fd00::7', `Invalid ${c0}`),
  ips('no address in a list', ['None']),
  ips('two addresses of a family', ['10.96.0.108', '10.96.0.109'], 'Invalid spec.clusterIPs'),
  ips('an address twice', ['10.96.0.108', '10.96.0.108'], 'Invalid spec.clusterIPs'),
  ips('three addresses', ['10.96.0.108', 'fd00::7', '10.96.0.109'], 'Invalid spec.clusterIPs'),
  ips('no address and an address', ['None', '10.96.0.108'], 'Invalid spec.clusterIPs'),
  ips('an address and none', ['10.96.0.108', 'None'], 'Invalid spec.clusterIPs[1]'),
  ips('an address and an empty one', ['10.96.0.108', ''], 'Invalid spec.clusterIPs[1]'),
  spec('a list without its first', { clusterIPs: ['10.96.0.108'] }, 'Invalid spec.clusterIPs'),
  spec(
    'a list that begins with another',
    { clusterIP: '10.96.0.108', clusterIPs: ['10.96.0.109'] },
    'Invalid spec.clusterIPs',
  ),
  spec('an address and an empty list', { clusterIP: '10.96.0.108', clusterIPs: [] }),
  spec('a family', { ipFamilies: ['IPv4'] }),
  spec('a family that is none', { ipFamilies: ['IPv5'] }, 'NotSupported spec.ipFamilies[0]'),
  spec('a family twice', { ipFamilies: ['IPv4', 'IPv4'] }, 'Duplicate spec.ipFamilies[1]'),
  spec('a family the cluster has not', { ipFamilies: ['IPv6'] }, 'Invalid spec.ipFamilies[0]'),
  spec('a family that is not the address’s', { clusterIP: '10.96.0.108', ipFamilies: ['IPv6'] }, `Invalid ${c0}`),
  spec(
    'two families for one',
    { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'SingleStack' },
    'Invalid spec.ipFamilyPolicy',
  ),
  spec('two families without a policy', { ipFamilies: ['IPv4', 'IPv6'] }, 'Invalid spec.ipFamilyPolicy'),
  spec('two families needed where there is one', { ipFamilyPolicy: 'RequireDualStack' }, 'Invalid spec.ipFamilyPolicy'),
  spec('two families wished where there is one', { ipFamilyPolicy: 'PreferDualStack' }),
  spec('a policy of families that is none', { ipFamilyPolicy: 'Both' }, 'NotSupported spec.ipFamilyPolicy'),
  spec('an empty policy of families', { ipFamilyPolicy: '' }, 'NotSupported spec.ipFamilyPolicy'),
  spec(
    'no address and two families',
    { clusterIP: 'None', ipFamilyPolicy: 'RequireDualStack' },
    'Invalid spec.ipFamilyPolicy',
  ),
  spec('no address, no selector and two families', {
    clusterIP: 'None',
    selector: null,
    ipFamilyPolicy: 'RequireDualStack',
  }),
  spec('no address and the other family', { clusterIP: 'None', selector: null, ipFamilies: ['IPv6'] }),
]

const outside = (title: string, externalIPs: readonly string[], ...errors: string[]) =>
  spec(title, { externalIPs }, ...errors)
const e0 = 'spec.externalIPs[0]'

const externalAddressCases: readonly ObjectCase[] = [
  outside('an external address', ['192.0.2.1']),
  outside('an external address that is none', ['example.com'], `Invalid ${e0}`),
  outside('an empty external address', [''], `Invalid ${e0}`),
  outside('an external address of no host', ['0.0.0.0'], `Invalid ${e0}`),
  outside('an external address of the loopback', ['127.0.0.1'], `Invalid ${e0}`),
  outside('an external address of the loopback in IPv6', ['::1'], `Invalid ${e0}`),
  outside('an external address of the link', ['169.254.1.1'], `Invalid ${e0}`),
  outside('an external address of a multicast group of the link', ['224.0.0.1'], `Invalid ${e0}`),
  differs(outside('an external address of a multicast group', ['239.1.2.3'], `Invalid ${e0}`), special),
  differs(outside('an external address of every host', ['255.255.255.255'], `Invalid ${e0}`), special),
  differs(outside('an external address with a leading 0', ['192.0.2.010'], `Invalid ${e0}`), zeros),
  outside('an external address twice', ['192.0.2.1', '192.0.2.1']),
  outside('a good and a bad external address', ['192.0.2.1', '::'], 'Invalid spec.externalIPs[1]'),
]

const balanced = (title: string, fields: Fields, ...errors: string[]) =>
  spec(title, { type: 'LoadBalancer', ...fields }, ...errors)
const ranges = 'spec.LoadBalancerSourceRanges'
const rangeNote = 'service.beta.kubernetes.io/load-balancer-source-ranges'
const noted = (title: string, type: string, text: string, ...errors: string[]) =>
  create(title, { metadata: { annotations: { [rangeNote]: text } }, spec: { type } }, ...errors)

const balancerCases: readonly ObjectCase[] = [
  balanced('a load balancer', {}),
  balanced('a load balancer of a class', { loadBalancerClass: 'example.com/lb' }),
  balanced('a load balancer of a bad class', { loadBalancerClass: 'a b' }, 'Invalid spec.loadBalancerClass'),
  balanced('a load balancer of an empty class', { loadBalancerClass: '' }, 'Invalid spec.loadBalancerClass'),
  spec('a class without a load balancer', { loadBalancerClass: 'a' }, 'Forbidden spec.loadBalancerClass'),
  balanced('a load balancer for some networks', { loadBalancerSourceRanges: ['192.0.2.0/24', ' 2001:db8::/32 '] }),
  balanced('a load balancer for a network with bits of a host', { loadBalancerSourceRanges: ['192.0.2.1/24'] }),
  balanced('a load balancer for an address', { loadBalancerSourceRanges: ['192.0.2.1'] }, `Invalid ${ranges}[0]`),
  balanced('a load balancer for an empty network', { loadBalancerSourceRanges: [''] }, `Invalid ${ranges}[0]`),
  differs(
    balanced(
      'a load balancer for a network with leading 0s',
      { loadBalancerSourceRanges: ['192.0.02.0/024'] },
      `Invalid ${ranges}[0]`,
    ),
    zeros,
  ),
  spec('networks without a load balancer', { loadBalancerSourceRanges: ['192.0.2.0/24'] }, `Forbidden ${ranges}`),
  noted('networks in an annotation', 'LoadBalancer', '192.0.2.0/24, 198.51.100.0/24'),
  noted('an empty annotation for networks', 'LoadBalancer', ' '),
  noted(
    'bad networks in an annotation',
    'LoadBalancer',
    '192.0.2.0/24,x',
    `Invalid metadata.annotations[${rangeNote}]`,
  ),
  noted(
    'networks in an annotation without a load balancer',
    'ClusterIP',
    '',
    `Forbidden metadata.annotations[${rangeNote}]`,
  ),
  balanced('a load balancer without node ports', { allocateLoadBalancerNodePorts: false }),
  spec(
    'node ports of no load balancer',
    { allocateLoadBalancerNodePorts: true },
    'Forbidden spec.allocateLoadBalancerNodePorts',
  ),
  spec(
    'no node ports of no load balancer',
    { allocateLoadBalancerNodePorts: false },
    'Forbidden spec.allocateLoadBalancerNodePorts',
  ),
  balanced('a load balancer without address in the cluster', { clusterIP: 'None' }, `Invalid ${c0}`),
  balanced('a load balancer with a wish', { loadBalancerIP: '192.0.2.1' }),
  differs(
    balanced(
      'a load balancer with a wish for the loopback',
      { loadBalancerIP: '127.0.0.1' },
      'Invalid spec.loadBalancerIP',
    ),
    special,
  ),
  balanced('a load balancer with a wish that is none', { loadBalancerIP: 'here' }),
  balanced('a load balancer that is asked for its health', {
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30_030,
  }),
  {
    ...balanced(
      'a port of health that is none',
      { externalTrafficPolicy: 'Local', healthCheckNodePort: 70_000 },
      'Invalid spec.healthCheckNodePort',
    ),
    words: 'Kubernetes looks at the range only when it is no dry run',
  },
  balanced('a port of health without need', { healthCheckNodePort: 30_030 }, 'Invalid spec.healthCheckNodePort'),
  spec('a port of health without a load balancer', { healthCheckNodePort: 30_030 }, 'Invalid spec.healthCheckNodePort'),
]

const hints = 'service.kubernetes.io/topology-aware-hints'
const mode = 'service.kubernetes.io/topology-mode'
const topology = (title: string, annotations: Fields, ...errors: string[]) =>
  create(title, { metadata: { annotations } }, ...errors)

const policyCases: readonly ObjectCase[] = [
  spec('a policy for traffic from inside', { internalTrafficPolicy: 'Local' }),
  spec(
    'a policy for traffic from inside that is none',
    { internalTrafficPolicy: 'Near' },
    'NotSupported spec.internalTrafficPolicy',
  ),
  spec(
    'an empty policy for traffic from inside',
    { internalTrafficPolicy: '' },
    'NotSupported spec.internalTrafficPolicy',
  ),
  spec('a policy for traffic from outside', { type: 'NodePort', externalTrafficPolicy: 'Local' }),
  spec('a policy for traffic to external addresses', { externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Local' }),
  spec(
    'a policy for traffic from outside that is none',
    { type: 'NodePort', externalTrafficPolicy: 'Near' },
    'NotSupported spec.externalTrafficPolicy',
  ),
  spec('an empty policy for traffic from outside', { type: 'NodePort', externalTrafficPolicy: '' }),
  spec(
    'a policy for traffic from outside without need',
    { externalTrafficPolicy: 'Cluster' },
    'Invalid spec.externalTrafficPolicy',
  ),
  spec(
    'a policy that is none for traffic from outside without need',
    { externalTrafficPolicy: 'Near' },
    'Invalid spec.externalTrafficPolicy',
  ),
  external('a policy of another name', { internalTrafficPolicy: 'Local' }),
  ...['PreferClose', 'PreferSameZone', 'PreferSameNode'].map((trafficDistribution) =>
    spec(`traffic by ${trafficDistribution}`, { trafficDistribution }),
  ),
  spec('traffic by a rule that is none', { trafficDistribution: 'Random' }, 'NotSupported spec.trafficDistribution'),
  spec('traffic by an empty rule', { trafficDistribution: '' }, 'NotSupported spec.trafficDistribution'),
  topology('one mode of topology', { [hints]: 'auto', [mode]: 'auto' }),
  topology('two modes of topology', { [hints]: 'auto', [mode]: 'Auto' }, `Invalid metadata.annotations[${mode}]`),
]

/** Services that are made, on a cluster with IPv4 addresses. */
export const serviceCases: KindCases = objectCases('Services', service, [
  ...portCases,
  ...nodePortCases,
  ...typeCases,
  ...affinityCases,
  ...addressCases,
  ...externalAddressCases,
  ...balancerCases,
  ...policyCases,
])
