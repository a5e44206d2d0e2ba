import { service } from './core-kinds.ts'
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
} from './object-case.ts'
import type { KindCases } from './write-case.ts'

const changed = (title: string, before: Fields, after: Fields, ...errors: string[]) =>
  change(title, { spec: before }, { spec: after }, ...errors)
/** Replaces the object that was sent by one with other fields; what the server had filled in is left out. */
const replaced = (title: string, before: Fields, after: Fields, ...errors: string[]) =>
  replace(title, { spec: before }, { spec: after }, ...errors)
const p0 = 'spec.ports[0]'
const c0 = 'spec.clusterIPs[0]'
const lb = { type: 'LoadBalancer' }
const local = { ...lb, externalTrafficPolicy: 'Local' }
const external = { type: 'ExternalName', externalName: 'example.com' }

const addresses: readonly ObjectCase[] = [
  changed('changes nothing', {}, {}),
  changed('changes its address', { clusterIP: '10.96.0.111' }, { clusterIP: '10.96.0.112' }, `Invalid ${c0}`),
  changed(
    'changes its address in both places',
    { clusterIP: '10.96.0.113' },
    { clusterIP: '10.96.0.114', clusterIPs: ['10.96.0.114'] },
    `Invalid ${c0}`,
  ),
  changed(
    'changes its address in the list',
    { clusterIP: '10.96.0.115' },
    { clusterIPs: ['10.96.0.116'] },
    'Invalid spec.clusterIPs',
  ),
  changed('gives its address up', {}, { clusterIP: '' }),
  changed('leaves its address out', {}, { clusterIP: null, clusterIPs: null }),
  changed('empties the list', {}, { clusterIPs: [] }),
  changed('has no address any more', {}, { clusterIP: 'None' }, `Invalid ${c0}`),
  changed('has no address any more in both places', {}, { clusterIP: 'None', clusterIPs: ['None'] }, `Invalid ${c0}`),
  changed('gets an address', { clusterIP: 'None' }, { clusterIP: '10.96.0.117' }, `Invalid ${c0}`),
  changed('gets any address', { clusterIP: 'None' }, { clusterIP: null, clusterIPs: null }),
  changed('gets another family', { clusterIP: '10.96.0.118' }, { ipFamilies: ['IPv6'] }, `Invalid ${c0}`),
  changed(
    'gets a second family where there is none',
    {},
    { ipFamilies: ['IPv4', 'IPv6'] },
    'Invalid spec.ipFamilyPolicy',
  ),
  changed(
    'needs a second family where there is none',
    {},
    { ipFamilyPolicy: 'RequireDualStack' },
    'Invalid spec.ipFamilyPolicy',
  ),
  changed('wishes a second family where there is none', {}, { ipFamilyPolicy: 'PreferDualStack' }),
  changed('gets a policy of families that is none', {}, { ipFamilyPolicy: 'Both' }, 'NotSupported spec.ipFamilyPolicy'),
  changed('gets an address that is none', { clusterIP: '10.96.0.119' }, { clusterIP: 'x' }, `Invalid ${c0}`),
  replaceAbsent('is put where there is none', {}),
  replaceAbsent('is put where there is none, without ports', { spec: { ports: null } }, 'Required spec.ports'),
  replaced('is replaced without its address', { clusterIP: '10.96.0.120' }, { clusterIP: null }),
  replaced('is replaced by one without address', { clusterIP: '10.96.0.121' }, { clusterIP: 'None' }, `Invalid ${c0}`),
]

const types: readonly ObjectCase[] = [
  changed('becomes one with node ports', {}, { type: 'NodePort' }),
  changed('becomes one with a load balancer', {}, lb),
  changed('becomes one of a type that is none', {}, { type: 'Any' }, 'NotSupported spec.type'),
  changed('becomes another name', {}, external),
  changed(
    'becomes another name and keeps an address',
    { clusterIP: '10.96.0.122' },
    { ...external, clusterIP: '10.96.0.123' },
    'Forbidden spec.clusterIPs',
  ),
  changed('becomes another name and says none', {}, { type: 'ExternalName' }, 'Required spec.externalName'),
  changed('is no other name any more', { ...external, ports: [{ port: 80 }] }, { type: 'ClusterIP' }),
  changed(
    'is no other name any more and has no ports',
    { ...external, ports: null },
    { type: 'ClusterIP' },
    'Required spec.ports',
  ),
  changed('is no other name any more and gets an address', external, { type: 'ClusterIP', clusterIP: '10.96.0.124' }),
  changed('without address becomes one with node ports', { clusterIP: 'None' }, { type: 'NodePort' }, `Invalid ${c0}`),
  changed('loses its ports', {}, { ports: null }, 'Required spec.ports'),
  changed('without address loses its ports', { clusterIP: 'None' }, { ports: null }),
  changed('gets a port without number', {}, { ports: [{}] }, `Invalid ${p0}.port`, `Invalid ${p0}.targetPort`),
  changed('gets a node port without need', {}, { ports: [{ port: 80, nodePort: 30_010 }] }, `Forbidden ${p0}.nodePort`),
  changed('gets another selector', {}, { selector: { app: 'other' } }),
  changed('gets a bad selector', {}, { selector: { 'a b': 'c' } }, 'Invalid spec.selector'),
  changed('gets an affinity that is none', {}, { sessionAffinity: 'Cookie' }, 'NotSupported spec.sessionAffinity'),
  changed('keeps clients', {}, { sessionAffinity: 'ClientIP' }),
  changed('keeps clients no more', { sessionAffinity: 'ClientIP' }, { sessionAffinity: 'None' }),
  changed(
    'keeps clients for no time',
    { sessionAffinity: 'ClientIP' },
    { sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
    'Invalid spec.sessionAffinityConfig.clientIP.timeoutSeconds',
  ),
]

const nodePorts: readonly ObjectCase[] = [
  changed('with node ports needs them no more', { type: 'NodePort' }, { type: 'ClusterIP' }),
  changed(
    'with node ports needs them no more and asks for one',
    { type: 'NodePort' },
    { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_011 }] },
    `Forbidden ${p0}.nodePort`,
  ),
  changed(
    'gets another node port',
    { type: 'NodePort', ports: [{ port: 80, nodePort: 30_012 }] },
    { ports: [{ port: 80, nodePort: 30_013 }] },
  ),
  differs(
    changed(
      'gets a node port twice',
      { type: 'NodePort' },
      {
        ports: [
          { name: 'a', port: 80, nodePort: 30_014 },
          { name: 'b', port: 81, nodePort: 30_014 },
        ],
      },
      'Duplicate spec.ports[1].nodePort',
    ),
    'Kubernetes answers 500',
  ),
  changed('with node ports answers here only', { type: 'NodePort' }, { externalTrafficPolicy: 'Local' }),
  changed(
    'with node ports answers by a rule that is none',
    { type: 'NodePort' },
    { externalTrafficPolicy: 'Near' },
    'NotSupported spec.externalTrafficPolicy',
  ),
  changed(
    'answers from outside without need',
    {},
    { externalTrafficPolicy: 'Local' },
    'Invalid spec.externalTrafficPolicy',
  ),
  changed(
    'with a policy for outside needs it no more',
    { type: 'NodePort', externalTrafficPolicy: 'Local' },
    { type: 'ClusterIP' },
  ),
  changed(
    'with a policy for outside needs it no more and says another',
    { type: 'NodePort', externalTrafficPolicy: 'Local' },
    { type: 'ClusterIP', externalTrafficPolicy: 'Cluster' },
    'Invalid spec.externalTrafficPolicy',
  ),
]

const balancers: readonly ObjectCase[] = [
  changed('gets a class', lb, { loadBalancerClass: 'example.com/a' }, 'Invalid spec.loadBalancerClass'),
  changed(
    'changes its class',
    { ...lb, loadBalancerClass: 'example.com/a' },
    { loadBalancerClass: 'example.com/b' },
    'Invalid spec.loadBalancerClass',
  ),
  changed(
    'loses its class',
    { ...lb, loadBalancerClass: 'example.com/a' },
    { loadBalancerClass: null },
    'Invalid spec.loadBalancerClass',
  ),
  changed('becomes a load balancer of a class', {}, { ...lb, loadBalancerClass: 'example.com/a' }),
  changed(
    'of a class is no load balancer any more',
    { ...lb, loadBalancerClass: 'example.com/a' },
    { type: 'ClusterIP' },
  ),
  changed(
    'of a class is no load balancer any more and changes it',
    { ...lb, loadBalancerClass: 'example.com/a' },
    { type: 'ClusterIP', loadBalancerClass: 'example.com/b' },
    'Forbidden spec.loadBalancerClass',
  ),
  changed('with node ports for a load balancer is none any more', lb, { type: 'ClusterIP' }),
  changed(
    'with node ports for a load balancer is none any more and wants none',
    lb,
    { type: 'ClusterIP', allocateLoadBalancerNodePorts: false },
    'Forbidden spec.allocateLoadBalancerNodePorts',
  ),
  changed('asks for health', lb, { externalTrafficPolicy: 'Local' }),
  changed(
    'changes its port of health',
    { ...local, healthCheckNodePort: 30_021 },
    { healthCheckNodePort: 30_022 },
    'Forbidden spec.healthCheckNodePort',
  ),
  changed('loses its port of health', local, { healthCheckNodePort: null }),
  changed('with a port of health needs it no more', local, { externalTrafficPolicy: 'Cluster' }),
  changed(
    'with a port of health needs it no more and says another',
    local,
    { externalTrafficPolicy: 'Cluster', healthCheckNodePort: 30_023 },
    'Invalid spec.healthCheckNodePort',
  ),
  changed(
    'gets networks that are none',
    lb,
    { loadBalancerSourceRanges: ['x'] },
    'Invalid spec.LoadBalancerSourceRanges[0]',
  ),
  changed(
    'with networks is no load balancer any more',
    { ...lb, loadBalancerSourceRanges: ['192.0.2.0/24'] },
    { type: 'ClusterIP' },
    'Forbidden spec.LoadBalancerSourceRanges',
  ),
  changed('gets an external address that is none', {}, { externalIPs: ['x'] }, 'Invalid spec.externalIPs[0]'),
  changed(
    'gets an external address of the loopback',
    {},
    { externalIPs: ['127.0.0.1'] },
    'Invalid spec.externalIPs[0]',
  ),
]

const ingress = (title: string, object: Fields, entry: Fields, ...errors: string[]) =>
  changeStatus(title, { spec: object }, { status: { loadBalancer: { ingress: [entry] } } }, ...errors)
const i0 = 'status.loadBalancer.ingress[0]'

const statuses: readonly ObjectCase[] = [
  ingress('is reached by an address', lb, { ip: '192.0.2.1' }),
  ingress('is reached by a name', lb, { hostname: 'lb.example.com' }),
  ingress('is reached by an address through a proxy', lb, { ip: '192.0.2.1', ipMode: 'Proxy' }),
  ingress('is reached in a mode that is none', lb, { ip: '192.0.2.1', ipMode: 'Nat' }, `NotSupported ${i0}.ipMode`),
  ingress(
    'is reached in a mode without an address',
    lb,
    { hostname: 'lb.example.com', ipMode: 'VIP' },
    `Forbidden ${i0}.ipMode`,
  ),
  ingress('is reached by an address that is none', lb, { ip: 'x' }, `Invalid ${i0}.ip`),
  ingress('is reached by a name in capitals', lb, { hostname: 'LB' }, `Invalid ${i0}.hostname`),
  ingress('is reached by a name that is an address', lb, { hostname: '192.0.2.1' }, `Invalid ${i0}.hostname`),
  ingress('is reached by nothing', lb, {}),
  ingress('without a load balancer is reached', {}, { ip: '192.0.2.1' }, 'Forbidden status.loadBalancer.ingress'),
  ingress('is reached on a port of no protocol', lb, {
    ip: '192.0.2.1',
    ports: [{ port: 80, protocol: 'TCP', error: 'a b' }],
  }),
]

/** Services that are changed, on a cluster with IPv4 addresses. */
export const serviceUpdateCases: KindCases = objectCases('Services that change', service, [
  ...addresses,
  ...types,
  ...nodePorts,
  ...balancers,
  ...statuses,
])

const make = (title: string, spec: Fields, ...errors: string[]) => create(title, { spec }, ...errors)
const both = { ipFamilyPolicy: 'RequireDualStack' }
/** Addresses of the lower part of the networks, which is not given out by chance (KEP-3070). */
const pair = (last: number) => [`10.96.0.${130 + last}`, `fd00:96::${last}`] as const
const twoOf = (last: number) => ({ ...both, clusterIP: pair(last)[0], clusterIPs: pair(last) })
const two = twoOf(1)

const dualStack: readonly ObjectCase[] = [
  make('two addresses', two),
  make('two addresses for one family', { ...two, ipFamilyPolicy: 'SingleStack' }, 'Invalid spec.ipFamilyPolicy'),
  make('two addresses without a policy', { ...two, ipFamilyPolicy: null }, 'Invalid spec.ipFamilyPolicy'),
  make(
    'two addresses of the other families',
    { ...two, ipFamilies: ['IPv6', 'IPv4'] },
    `Invalid ${c0}`,
    'Invalid spec.clusterIPs[1]',
  ),
  make('two addresses and one family', { ...two, ipFamilies: ['IPv4'] }),
  make(
    'two addresses of one family',
    { ...both, clusterIP: '10.96.0.131', clusterIPs: ['10.96.0.131', '10.96.0.132'] },
    'Invalid spec.clusterIPs',
  ),
  make('two families', { ...both, ipFamilies: ['IPv6', 'IPv4'] }),
  make('the second family alone', { ipFamilies: ['IPv6'] }),
  make('three families', { ...both, ipFamilies: ['IPv6', 'IPv4', 'IPv6'] }, 'Duplicate spec.ipFamilies[2]'),
  make(
    'an address outside',
    { ...both, clusterIP: '10.96.0.131', clusterIPs: ['10.96.0.131', 'fd01::1'] },
    'Invalid spec.clusterIPs',
  ),
  make('no address in two families', { ...both, clusterIP: 'None' }),
  changed('gets a second family', {}, both),
  changed(
    'gets a second address',
    { clusterIP: '10.96.0.133' },
    { ...both, clusterIPs: ['10.96.0.133', 'fd00:96::3'] },
  ),
  changed('loses its second address', twoOf(11), { clusterIPs: ['10.96.0.141'] }, 'Invalid spec.ipFamilyPolicy'),
  changed('loses its second family', twoOf(12), { ipFamilies: ['IPv4'] }, 'Invalid spec.ipFamilyPolicy'),
  changed('goes back to one family', twoOf(13), { ipFamilyPolicy: 'SingleStack' }),
  changed('goes back to one family and names it', twoOf(14), {
    ipFamilyPolicy: 'SingleStack',
    ipFamilies: ['IPv4'],
    clusterIPs: ['10.96.0.144'],
  }),
  {
    ...changed(
      'goes back to the second family',
      twoOf(15),
      { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'], clusterIPs: ['fd00:96::15'], clusterIP: 'fd00:96::15' },
      `Invalid ${c0}`,
      'Invalid spec.ipFamilies[0]',
    ),
    words: 'Kubernetes prints the addresses for the families',
  },
  changed(
    'changes its second address',
    twoOf(16),
    { clusterIPs: ['10.96.0.146', 'fd00:96::2'] },
    'Invalid spec.clusterIPs[1]',
  ),
  changed(
    'turns its families round',
    twoOf(17),
    { ipFamilies: ['IPv6', 'IPv4'] },
    `Invalid ${c0}`,
    'Invalid spec.clusterIPs[1]',
  ),
  changed(
    'turns everything round',
    twoOf(18),
    { ipFamilies: ['IPv6', 'IPv4'], clusterIP: 'fd00:96::18', clusterIPs: ['fd00:96::18', '10.96.0.148'] },
    `Invalid ${c0}`,
    'Invalid spec.clusterIPs[1]',
    'Invalid spec.ipFamilies[0]',
  ),
  changed(
    'without addresses changes its families',
    { ...both, clusterIP: 'None', ipFamilies: ['IPv4', 'IPv6'] },
    { ipFamilies: ['IPv6', 'IPv4'] },
  ),
]

export const dualStackCases: KindCases = {
  ...objectCases('Services of two families', service, dualStack),
  serviceRanges: '10.96.0.0/16,fd00:96::/112',
}
