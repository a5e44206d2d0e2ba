import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../src/model/ip.ts'
import { type PodDns, planPodResolver } from '../../../src/model/pod-resolver.ts'
import { parseResolverConfig } from '../../../src/model/resolver-config.ts'
import { ipOf } from '../../helpers/addresses.ts'

const cluster = { nameservers: [ipOf('10.96.0.10')], domain: 'cluster.local' }
const host = parseResolverConfig('# by hand\nnameserver 192.0.2.53\nsearch corp.example\noptions rotate timeout:1\n')
const clusterText =
  'search shop.svc.cluster.local svc.cluster.local cluster.local corp.example\nnameserver 10.96.0.10\noptions ndots:5\n'
const hostText = 'search corp.example\nnameserver 192.0.2.53\noptions rotate timeout:1\n'

function textOf(pod: Partial<PodDns>): string {
  return planPodResolver({ namespace: 'shop', hostNetwork: false, ...pod }, cluster, host).text
}

describe("a pod's resolver file", () => {
  test('ClusterFirst, also when not said, asks the cluster and completes names by namespace', () => {
    assert.equal(textOf({}), clusterText)
    assert.equal(textOf({ dnsPolicy: 'ClusterFirst' }), clusterText)
  })

  test("Default, and ClusterFirst with the host's network, is what the host does", () => {
    assert.equal(textOf({ dnsPolicy: 'Default' }), hostText)
    assert.equal(textOf({ hostNetwork: true }), hostText)
  })

  test("ClusterFirstWithHostNet asks the cluster with the host's network and without", () => {
    assert.equal(textOf({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }), clusterText)
    assert.equal(textOf({ dnsPolicy: 'ClusterFirstWithHostNet' }), clusterText)
  })

  test('None holds what dnsConfig says and nothing else', () => {
    const dnsConfig = {
      nameservers: [ipOf('192.0.2.1')],
      searches: ['one.example'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    }
    assert.equal(
      textOf({ dnsPolicy: 'None', dnsConfig }),
      'search one.example\nnameserver 192.0.2.1\noptions ndots:2 edns0\n',
    )
    assert.equal(textOf({ dnsPolicy: 'None' }), '')
  })

  test('dnsConfig is added to a policy; its option replaces the one of that name, and what is there twice counts once', () => {
    const dnsConfig = {
      nameservers: [ipOf('10.96.0.10'), ipOf('192.0.2.1')],
      searches: ['cluster.local', 'one.example'],
      options: [{ name: 'ndots', value: '1' }],
    }
    assert.equal(
      textOf({ dnsConfig }),
      'search shop.svc.cluster.local svc.cluster.local cluster.local corp.example one.example\nnameserver 10.96.0.10\nnameserver 192.0.2.1\noptions ndots:1\n',
    )
  })

  test('what libc would not read is left out and reported: the fourth nameserver, the 33rd search name, the 2049th character', () => {
    const nameservers = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(ipOf)
    const many = Array.from({ length: 40 }, (_, index) => `s${index}.example`)
    const counted = planPodResolver(
      { namespace: 'shop', hostNetwork: false, dnsConfig: { nameservers, searches: many } },
      cluster,
      host,
    )
    assert.deepEqual(counted.config.nameservers, ['10.96.0.10', '192.0.2.1', '192.0.2.2'])
    assert.equal(counted.config.searches.length, 32)
    assert.equal(counted.problems.length, 2)
    const long = Array.from({ length: 20 }, (_, index) => `${`${'x'.repeat(60)}.`.repeat(3)}s${index}.example`)
    const measured = planPodResolver(
      { namespace: 'shop', hostNetwork: false, dnsConfig: { searches: long } },
      cluster,
      host,
    )
    const line = measured.config.searches.join(' ')
    assert.ok(line.length <= 2048 && line.length > 1800, `${line.length} characters`)
    assert.match(measured.problems.join(), /longer than 2048/)
  })

  test('nothing from a manifest can break out of its line', () => {
    const dnsConfig = {
      nameservers: ['192.0.2.1\nnameserver 203.0.113.1' as Ip],
      searches: ['a.example\nnameserver 203.0.113.1', 'a b', '-x', '.'],
      options: [{ name: 'ndots:1\nsearch evil.example' }, { name: 'timeout', value: '1 rotate' }],
    }
    const { text, problems } = planPodResolver(
      { namespace: 'shop', hostNetwork: false, dnsPolicy: 'None', dnsConfig },
      cluster,
      host,
    )
    assert.equal(text, 'search .\n')
    assert.equal(problems.length, 6)
  })
})

describe('reading a resolver file', () => {
  test('comments, a domain line, zones and unknown lines are read as libc reads them', () => {
    const text = `; comment
domain first.example
search one.example two.example # trailing
nameserver fe80::1%eth0
nameserver 192.0.2.53
nameserver not-an-address
sortlist 130.155.160.0/255.255.240.0
options ndots:2
options trust-ad ndots:2`
    assert.deepEqual(parseResolverConfig(text), {
      nameservers: ['fe80::1', '192.0.2.53'],
      searches: ['one.example', 'two.example'],
      options: ['ndots:2', 'trust-ad'],
    })
  })
})
