import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IpFamily } from '../../../src/model/ip.ts'
import type { Service } from '../../../src/model/service.ts'
import type { LocalTraffic, ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import type { TracedPacket } from '../../../src/netfilter/trace/types.ts'
import { buildRuleset, describeTrace, firstPacket, type LabWorld, worldOf } from '../../helpers/proxy-lab.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

/** Who sends, to which kind of address, and what is reached: L on this node, R on another, m for masqueraded. */
const sources = ['pod', 'node', 'localhost', 'external'] as const
const ways = ['cluster IP', 'node port', 'load balancer'] as const
type Expected = Readonly<Record<(typeof sources)[number], readonly [string, string, string]>>

/** `-`: such a packet cannot be made. */
const matrix: Readonly<Record<'A' | 'B' | 'C' | 'D', Expected>> = {
  A: {
    pod: ['LR', 'LR m', 'LR m'],
    node: ['LR m', 'LR m', 'LR m'],
    localhost: ['-', 'LR m', '-'],
    external: ['LR m', 'LR m', 'LR m'],
  },
  B: {
    pod: ['LR', 'LR', 'LR'],
    node: ['LR m', 'LR m', 'LR m'],
    localhost: ['-', 'LR m', '-'],
    external: ['LR m', 'L', 'L'],
  },
  C: {
    pod: ['L', 'LR m', 'LR m'],
    node: ['L m', 'LR m', 'LR m'],
    localhost: ['-', 'LR m', '-'],
    external: ['L m', 'LR m', 'LR m'],
  },
  // Both policies, which the reference leaves out.
  D: {
    pod: ['L', 'LR', 'LR'],
    node: ['L m', 'LR m', 'LR m'],
    localhost: ['-', 'LR m', '-'],
    external: ['L m', 'L', 'L'],
  },
}
const policies: Readonly<Record<keyof typeof matrix, Partial<Service>>> = {
  A: {},
  B: { externalTrafficPolicy: 'Local' },
  C: { internalTrafficPolicy: 'Local' },
  D: { externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' },
}

/** The same cluster in either family. */
const places = {
  IPv4: {
    pods: cidr('10.244.0.0/16'),
    nodePods: cidr('10.244.0.0/24'),
    pod: '10.244.0.5',
    node: '192.0.2.1',
    localhost: '127.0.0.1',
    external: '203.0.113.2',
    local: '10.244.0.1',
    remote: '10.244.1.1',
    clusterIp: '10.96.0.1',
    vip: '198.51.100.1',
  },
  IPv6: {
    pods: cidr('fd00:10:244::/56'),
    nodePods: cidr('fd00:10:244::/64'),
    pod: 'fd00:10:244::5',
    node: '2001:db8:1::1',
    localhost: '::1',
    external: '2001:db8:2::2',
    local: 'fd00:10:244::1',
    remote: 'fd00:10:244:1::1',
    clusterIp: 'fd00:10:96::1',
    vip: '2001:db8:3::1',
  },
} as const

function makeWorld(family: IpFamily, which: keyof typeof matrix, settings: Partial<ProxyRuleSettings>): LabWorld {
  const place = places[family]
  const service = makeService('default/web', place.clusterIp, {
    type: 'LoadBalancer',
    ports: [makePort('http', 'TCP', 80, 30080)],
    loadBalancerVips: [ip(place.vip)],
    ...policies[which],
  })
  const endpoints = [
    makeEndpoint(place.local, { nodeName: 'node-a' }),
    makeEndpoint(place.remote, { nodeName: 'node-b' }),
  ]
  const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)]
  return worldOf(buildRuleset([{ service, slices }], { family, ...settings }), [place.node])
}

function packetOf(family: IpFamily, source: (typeof sources)[number], way: (typeof ways)[number]): TracedPacket {
  const place = places[family]
  const destination = { 'cluster IP': place.clusterIp, 'node port': place.node, 'load balancer': place.vip }[way]
  const isLocal = source === 'node' || source === 'localhost'
  return firstPacket(place[source], destination, way === 'node port' ? 30080 : 80, {
    origin: isLocal ? 'this-node' : 'elsewhere',
    ...(source === 'pod' && { inInterface: 'cni0' }),
    ...(source === 'external' && { inInterface: 'eth0' }),
  })
}

/** `LR m` as in the table. */
function reached(family: IpFamily, packet: TracedPacket, world: LabWorld): string {
  const { local, remote } = places[family]
  const text = describeTrace(packet, world)
  const letters = `${text.includes(`${local}`) ? 'L' : ''}${text.includes(`${remote}`) ? 'R' : ''}`
  const shares = text.split(' | ')
  const masqueraded = shares.filter((share) => share.endsWith('masqueraded')).length
  assert.ok(masqueraded === 0 || masqueraded === shares.length, text)
  return letters === '' ? text : `${letters}${masqueraded > 0 ? ' m' : ''}`
}

/** The detectors of local traffic; this packet's source is what each of them goes by. */
function detectors(family: IpFamily): Readonly<Record<string, LocalTraffic>> {
  return {
    'the cluster network': { kind: 'source', cidr: places[family].pods },
    "the node's network": { kind: 'source', cidr: places[family].nodePods },
    'a bridge': { kind: 'interface', name: 'cni0', isPrefix: false },
    'a prefix of interfaces': { kind: 'interface', name: 'cni', isPrefix: true },
  }
}

function checkMatrix(
  family: IpFamily,
  settings: Partial<ProxyRuleSettings>,
  change: (expected: string, which: string, source: string, way: string) => string = (expected) => expected,
): void {
  for (const which of ['A', 'B', 'C', 'D'] as const) {
    const world = makeWorld(family, which, settings)
    for (const source of sources) {
      for (const [index, way] of ways.entries()) {
        const expected = matrix[which][source][index] ?? '-'
        if (expected === '-') continue
        const found = reached(family, packetOf(family, source, way), world)
        assert.equal(found, change(expected, which, source, way), `${which}: ${source} to ${way}`)
      }
    }
  }
}

for (const family of ['IPv4', 'IPv6'] as const) {
  describe(`who is masqueraded and what is reached (${family})`, () => {
    for (const [name, localTraffic] of Object.entries(detectors(family))) {
      test(`with local traffic detected by ${name}`, () => checkMatrix(family, { localTraffic }))
    }

    test('with no way to tell local traffic: no cluster IP is masqueraded, a pod has no short way', () => {
      checkMatrix(family, {}, (expected, which, source, way) => {
        if (way === 'cluster IP') return expected.replace(' m', '')
        return 'BD'.includes(which) && source === 'pod' ? 'L' : expected
      })
    })

    test('with everything masqueraded: cluster IPs too', () => {
      const settings = { localTraffic: { kind: 'source', cidr: places[family].pods }, masqueradeAll: true } as const
      checkMatrix(family, settings, (expected, _which, _source, way) =>
        way === 'cluster IP' ? `${expected.replace(' m', '')} m` : expected,
      )
    })

    test('an endpoint that reaches itself is masqueraded, also where others are not', () => {
      const world = makeWorld(family, 'B', { localTraffic: { kind: 'source', cidr: places[family].pods } })
      const packet = { ...packetOf(family, 'pod', 'cluster IP'), source: ip(places[family].local) }
      const { local, remote } = places[family]
      const expected = [`${local}:8080 masqueraded`, `${remote}:8080`].sort().join(' | ')
      assert.equal(describeTrace(packet, world), expected)
    })

    test('any bit of the mark may ask for it', () => {
      for (const masqueradeBit of [0, 14, 31]) {
        checkMatrix(family, { masqueradeBit, localTraffic: { kind: 'source', cidr: places[family].pods } })
      }
    })
  })
}
