import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatProblem } from '../../../../src/node/state/index.ts'
import { parseService } from '../../../../src/node/state/parse-service.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'

const parse = (spec: object, labels?: object) => parseService(wireService('web', '1', spec, labels), dialect)
const messages = (json: unknown) => parseService(json, dialect).problems.map(formatProblem)

describe('a Service', () => {
  it('gets its defaults', () => {
    assert.deepEqual(parse({}), {
      value: {
        key: 'default/web',
        namespace: 'default',
        name: 'web',
        type: 'ClusterIP',
        clusterIps: ['10.96.0.10'],
        headless: false,
        ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
        externalIps: [],
        loadBalancerVips: [],
        externalTrafficPolicy: 'Cluster',
        internalTrafficPolicy: 'Cluster',
        publishNotReadyAddresses: false,
      },
      problems: [],
    })
  })

  it('keeps everything that is said, in canonical form', () => {
    const { value, problems } = parse({
      type: 'NodePort',
      clusterIPs: ['10.96.0.10', 'FD00:0::A'],
      ports: [
        { port: 53, protocol: 'UDP', nodePort: 30053 },
        { name: 'dns-tcp', port: 53, nodePort: 0 },
      ],
      externalIPs: ['192.0.2.1', '192.0.2.1'],
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      publishNotReadyAddresses: true,
    })
    assert.deepEqual(problems, [])
    assert.deepEqual(value?.clusterIps, ['10.96.0.10', 'fd00::a'])
    assert.deepEqual(value?.ports, [
      { name: '', protocol: 'UDP', port: 53, nodePort: 30053 },
      { name: 'dns-tcp', protocol: 'TCP', port: 53 },
    ])
    assert.deepEqual(value?.externalIps, ['192.0.2.1'])
    assert.deepEqual(value?.affinity, { timeoutSeconds: 60 })
    assert.equal(value?.externalTrafficPolicy, 'Local')
    assert.equal(value?.publishNotReadyAddresses, true)
  })

  it('has no cluster address when headless, not allocated yet, or a name', () => {
    const headless = parse({ clusterIP: 'None', clusterIPs: ['None'] }).value
    assert.deepEqual([headless?.headless, headless?.clusterIps], [true, []])
    const pending = parse({ clusterIP: '' }).value
    assert.deepEqual([pending?.headless, pending?.clusterIps], [false, []])
    const name = parse({ type: 'ExternalName', externalName: 'DB.example.org', ports: undefined }).value
    assert.deepEqual([name?.headless, name?.clusterIps, name?.externalName], [false, [], 'db.example.org'])
  })

  it('opens no node port unless its type does', () => {
    assert.equal(parse({ ports: [{ port: 80, nodePort: 30080 }] }).value?.ports[0]?.nodePort, undefined)
  })

  it('keeps the protocol that an application speaks on a port', () => {
    const port = parse({ ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] }).value?.ports[0]
    assert.deepEqual(port, { name: '', protocol: 'TCP', port: 80, appProtocol: 'kubernetes.io/h2c' })
  })

  it('of type LoadBalancer has the addresses that are answered here, its ranges and its health port', () => {
    const spec = {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 32_000,
      loadBalancerSourceRanges: [' 203.0.113.7/25 ', 'fd00::/64', '203.0.113.0/25'],
    }
    const json = {
      ...wireService('web', '1', spec),
      status: {
        loadBalancer: {
          ingress: [
            { ip: '198.51.100.1' },
            { ip: '198.51.100.2', ipMode: 'Proxy' },
            { hostname: 'lb.example.org' },
            { ip: 'FD00::1', ipMode: 'VIP' },
          ],
        },
      },
    }
    const { value, problems } = parseService(json, dialect)
    assert.deepEqual(problems, [])
    assert.deepEqual(value?.loadBalancerVips, ['198.51.100.1', 'fd00::1'])
    assert.deepEqual(value?.proxiedVips, ['198.51.100.2'])
    assert.deepEqual(value?.sourceRanges, ['203.0.113.0/25', 'fd00::/64'])
    assert.equal(value?.healthCheckNodePort, 32_000)
    const ofOtherType = parseService({ ...json, spec: { ...spec, type: 'NodePort' } }, dialect).value
    assert.deepEqual([ofOtherType?.loadBalancerVips, ofOtherType?.sourceRanges], [[], undefined])
  })

  it('whose ranges are invalid admits no client, instead of every one', () => {
    const ranged = (loadBalancerSourceRanges: unknown) => parse({ type: 'LoadBalancer', loadBalancerSourceRanges })
    assert.deepEqual(ranged(['203.0.113.0/33']).value?.sourceRanges, [])
    assert.equal(ranged(['203.0.113.0/33']).problems.length, 1)
    assert.equal(ranged([]).value?.sourceRanges, undefined)
  })

  it('has three hours of affinity when nothing else is said', () => {
    assert.deepEqual(parse({ sessionAffinity: 'ClientIP' }).value?.affinity, { timeoutSeconds: 10_800 })
    assert.equal(parse({ sessionAffinity: 'None' }).value?.affinity, undefined)
  })

  it('of another proxy or of none says so, and is no problem', () => {
    for (const label of [dialect.labels.serviceProxyName, dialect.labels.headlessService]) {
      const { value, problems } = parse({}, { [label]: '' })
      assert.deepEqual([value?.foreignProxy, problems], [true, []], label)
    }
    assert.equal(parse({}).value?.foreignProxy, undefined)
  })

  it('takes an IPv4 address in the clothes of IPv6 for what it is', () => {
    const { value, problems } = parse({ clusterIPs: ['::ffff:10.96.0.1', 'fd00::1'], externalIPs: ['::FFFF:a60:2'] })
    assert.deepEqual([value?.clusterIps, value?.externalIps, problems], [['10.96.0.1', 'fd00::1'], ['10.96.0.2'], []])
  })

  const partly: readonly [spec: object, message: string, kept: object][] = [
    [
      { ports: [{ port: 70_000 }, { port: 80 }] },
      'Service default/web: spec.ports[0].port: expected a port from 1 to 65535, found 70000',
      { ports: [{ name: '', protocol: 'TCP', port: 80 }] },
    ],
    [
      { ports: [{ port: 80, protocol: 'ICMP; rm -rf' }, 'x'] },
      'Service default/web: spec.ports[0].protocol: expected TCP, UDP or SCTP, found "ICMP; rm -rf"',
      { ports: [] },
    ],
    [
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'b' },
        ],
      },
      'Service default/web: spec.ports[1]: expected a port and protocol that no other port of the Service has, found "TCP 80"',
      { ports: [{ name: 'a', protocol: 'TCP', port: 80 }] },
    ],
    [
      { ports: [{ port: 80 }, { port: 81 }, { port: 81, protocol: 'UDP' }] },
      'Service default/web: spec.ports[1]: expected a name and protocol that no other port of the Service has, found "TCP unnamed"',
      {
        ports: [
          { name: '', protocol: 'TCP', port: 80 },
          { name: '', protocol: 'UDP', port: 81 },
        ],
      },
    ],
    [
      { ports: [{ port: 80, appProtocol: 'h2c\nserver' }] },
      'Service default/web: spec.ports[0].appProtocol: expected an application protocol ([A-Za-z0-9._/-]), found "h2c\\nserver"',
      { ports: [{ name: '', protocol: 'TCP', port: 80 }] },
    ],
    [
      { clusterIP: '10.96.0.1 -j ACCEPT' },
      'Service default/web: spec.clusterIP: expected an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server), found "10.96.0.1 -j ACCEPT"',
      { clusterIps: [] },
    ],
    [
      { clusterIPs: ['10.96.0.1', '10.96.0.2'] },
      'Service default/web: spec.clusterIPs: expected at most one address of each family, found a list of 2',
      { clusterIps: ['10.96.0.1'] },
    ],
    [
      { type: 'Magic' },
      'Service default/web: spec.type: expected ClusterIP, NodePort, LoadBalancer or ExternalName, found "Magic"',
      { type: 'ClusterIP' },
    ],
    [
      { externalTrafficPolicy: 1 },
      'Service default/web: spec.externalTrafficPolicy: expected Cluster or Local, found 1',
      { externalTrafficPolicy: 'Cluster' },
    ],
    [
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: -1 } } },
      'Service default/web: spec.sessionAffinityConfig.clientIP.timeoutSeconds: expected seconds from 1 to 86400, found -1',
      { affinity: { timeoutSeconds: 10_800 } },
    ],
    [
      { externalIPs: 'x'.repeat(100) },
      `Service default/web: spec.externalIPs: expected a list, found "${'x'.repeat(59)}…`,
      { externalIps: [] },
    ],
  ]
  for (const [spec, message, kept] of partly) {
    it(`keeps the rest and says: ${message}`, () => {
      const { value, problems } = parse(spec)
      assert.equal(problems.map(formatProblem)[0], message)
      assert.deepEqual({ ...value, ...kept }, value)
    })
  }

  const hostile: readonly [title: string, json: unknown, message: RegExp][] = [
    ['null', null, /^Service : the object: expected an object, found null$/],
    ['without metadata', { spec: {} }, /metadata: expected an object, found nothing/],
    [
      'with a name of two lines',
      { metadata: { name: 'a\nb', namespace: 'default' } },
      /^Service default\/a\\nb: metadata\.name: /,
    ],
    ['without a namespace', { metadata: { name: 'a' } }, /metadata\.namespace: expected a DNS label/],
    [
      'without a spec',
      { metadata: { name: 'a', namespace: 'b' } },
      /^Service b\/a: spec: expected an object, found nothing$/,
    ],
    [
      'with a spec that is a list',
      { metadata: { name: 'a', namespace: 'b' }, spec: [] },
      /spec: expected an object, found a list of 0/,
    ],
  ]
  for (const [title, json, message] of hostile) {
    it(`${title} gives no value and one problem`, () => {
      assert.equal(parseService(json, dialect).value, undefined)
      assert.equal(messages(json).length, 1)
      assert.match(messages(json)[0] ?? '', message)
    })
  }

  it('of old objects has its addresses and networks read as decimal, leading zeros or not', () => {
    const { value, problems } = parse({
      type: 'LoadBalancer',
      clusterIP: '172.30.0.041',
      externalIPs: ['010.0.0.08'],
      loadBalancerSourceRanges: ['203.0.113.000/025', '0.0.0.0/0'],
    })
    assert.deepEqual(
      [value?.clusterIps, value?.externalIps, value?.sourceRanges, problems],
      [['172.30.0.41'], ['10.0.0.8'], ['203.0.113.0/25', '0.0.0.0/0'], []],
    )
  })

  it('with keys that JavaScript knows is read like any other', () => {
    const json = JSON.parse(
      '{"metadata":{"name":"a","namespace":"b","labels":{"__proto__":{"x":1}}},"spec":{"__proto__":{"type":"NodePort"}}}',
    )
    assert.equal(parseService(json, dialect).value?.type, 'ClusterIP')
  })
})
