import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node } from '../../../../src/model/node.ts'
import { missingOption } from '../../../../src/node/proxy/options.ts'
import {
  type NodeFacts,
  type ProxyOptions,
  planHealthAddresses,
  planSettings,
} from '../../../../src/node/proxy/settings.ts'
import { cidr, ip } from '../../../helpers/services.ts'

const options: ProxyOptions = {
  clusterCidr: [cidr('10.244.0.0/16'), cidr('fd00:10:244::/56')],
  detectLocalMode: 'ClusterCIDR',
  masqueradeAll: false,
  masqueradeBit: 14,
  masqueradeRandomFully: true,
  noLocalEndpoints: 'drop',
  affinityForm: 'recent',
  affinityHardTimeout: false,
  acceptPodTraffic: 'auto',
}

const node: Node = {
  name: 'node-1',
  addresses: ['192.0.2.7', '2001:db8::7', '198.51.100.9'].map(ip),
  podCidrs: ['10.244.3.0/24', 'fd00:10:244:3::/64'].map(cidr),
  zone: 'a',
  isLeaving: false,
}

const facts: NodeFacts = {
  nodeName: 'node-1',
  node,
  localAddresses: new Set(['127.0.0.1', '192.0.2.7', '198.51.100.7', '2001:db8::7'].map(ip)),
  isConntrackLiberal: false,
  isNetworkOurs: true,
}

test('a Node object gives its zone and its first address of each family', () => {
  const settings = planSettings('IPv4', options, facts)
  assert.deepEqual([settings.zone, settings.nodeIps], ['a', ['192.0.2.7']])
  assert.deepEqual(planSettings('IPv6', options, facts).nodeIps, ['2001:db8::7'])
})

test('new connections of pods are accepted where their network is ours, or as the operator says', () => {
  const accepted = (changes: Partial<ProxyOptions>, isNetworkOurs: boolean) =>
    planSettings('IPv4', { ...options, ...changes }, { ...facts, isNetworkOurs }).acceptedPods
  assert.deepEqual(accepted({}, true), ['10.244.0.0/16'], 'this node has a part of it')
  assert.equal(accepted({}, false), undefined, 'policies of another network plugin would be passed by')
  assert.deepEqual(accepted({ acceptPodTraffic: 'always' }, false), ['10.244.0.0/16'])
  assert.equal(accepted({ acceptPodTraffic: 'never' }, true), undefined)
  assert.deepEqual(accepted({ clusterCidr: [] }, true), ['10.244.3.0/24'])
  assert.deepEqual(planSettings('IPv6', options, facts).acceptedPods, ['fd00:10:244::/56'])
})

test('who tells pods by an interface has to name it', () => {
  const lacking = (changes: Partial<ProxyOptions>) => missingOption({ ...options, ...changes })
  assert.equal(lacking({ detectLocalMode: 'BridgeInterface' }), '--pod-bridge-interface')
  assert.equal(lacking({ detectLocalMode: 'BridgeInterface', podBridgeInterface: 'cni0' }), undefined)
  assert.equal(lacking({ detectLocalMode: 'InterfaceNamePrefix' }), '--pod-interface-name-prefix')
  assert.equal(lacking({ detectLocalMode: 'InterfaceNamePrefix', podInterfaceNamePrefix: 'veth' }), undefined)
  assert.equal(lacking({ detectLocalMode: 'NodeCIDR' }), undefined)
})

test('local traffic is detected by the cluster network, by the node network, or by interfaces', () => {
  const local = (changes: Partial<ProxyOptions>, known = facts) =>
    planSettings('IPv4', { ...options, ...changes }, known).localTraffic
  assert.deepEqual(local({}), { kind: 'source', cidr: '10.244.0.0/16' })
  assert.deepEqual(local({ detectLocalMode: 'NodeCIDR' }), { kind: 'source', cidr: '10.244.3.0/24' })
  assert.equal(local({ detectLocalMode: 'NodeCIDR' }, { ...facts, node: undefined }), undefined)
  assert.deepEqual(local({ detectLocalMode: 'BridgeInterface', podBridgeInterface: 'cni0' }), {
    kind: 'interface',
    name: 'cni0',
    isPrefix: false,
  })
  assert.deepEqual(local({ detectLocalMode: 'InterfaceNamePrefix', podInterfaceNamePrefix: 'veth' }), {
    kind: 'interface',
    name: 'veth',
    isPrefix: true,
  })
})

test('node ports are open on the addresses of the networks given, on those of the Node, or on all', () => {
  const addresses = (nodePortAddresses: ProxyOptions['nodePortAddresses']) =>
    planSettings('IPv4', { ...options, nodePortAddresses }, facts).nodePortAddresses
  assert.equal(addresses(undefined), undefined)
  assert.equal(addresses([cidr('0.0.0.0/0')]), undefined)
  assert.deepEqual(addresses([cidr('198.51.100.0/24'), cidr('127.0.0.0/8')]), ['198.51.100.7'])
  assert.deepEqual(addresses(['primary']), ['192.0.2.7'])
  assert.equal(addresses([cidr('2001:db8::/32')]), undefined, 'nothing is said of this family')
})

test('health is served on the addresses that node ports are open on, and to either family', () => {
  const addresses = (nodePortAddresses: ProxyOptions['nodePortAddresses']) =>
    planHealthAddresses(
      { ...options, nodePortAddresses },
      { ...facts, localAddresses: new Set([...facts.localAddresses, ip('fe80::1')]) },
    )
  assert.equal(addresses(undefined), undefined)
  assert.deepEqual(addresses(['primary']), ['192.0.2.7', '2001:db8::7'])
  assert.deepEqual(addresses([cidr('198.51.100.0/24')]), ['198.51.100.7', '2001:db8::7'])
})
