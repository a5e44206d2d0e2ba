import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatProblem } from '../../../../src/node/state/index.ts'
import { parseEndpointSlice } from '../../../../src/node/state/parse-endpoint-slice.ts'
import { parseEndpoints } from '../../../../src/node/state/parse-endpoints.ts'
import { dialect, wireEndpoints, wireSlice } from '../../../helpers/wire-objects.ts'

const parse = (body: object, labels?: object) =>
  parseEndpointSlice(wireSlice('web-1', 'web', '1', body, labels), dialect)

describe('an EndpointSlice', () => {
  it('belongs to the Service that its label names', () => {
    assert.deepEqual(parse({}), {
      value: {
        source: 'endpointslices/default/web-1',
        service: 'default/web',
        family: 'IPv4',
        ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        endpoints: [{ address: '10.244.0.5', ready: true, serving: true, terminating: false }],
      },
      problems: [],
    })
  })

  const conditions: readonly [conditions: unknown, ready: boolean, serving: boolean, terminating: boolean][] = [
    [undefined, true, true, false],
    [null, true, true, false],
    [{}, true, true, false],
    [{ ready: null, serving: null, terminating: null }, true, true, false],
    [{ ready: false }, false, true, false],
    [{ ready: false, serving: false }, false, false, false],
    [{ ready: false, serving: true, terminating: true }, false, true, true],
  ]
  for (const [given, ready, serving, terminating] of conditions) {
    it(`resolves the conditions ${JSON.stringify(given)}`, () => {
      const endpoint = parse({ endpoints: [{ addresses: ['10.0.0.1'], conditions: given }] }).value?.endpoints[0]
      assert.deepEqual(endpoint, { address: '10.0.0.1', ready, serving, terminating })
    })
  }

  it('keeps the first address and the others that can be used, node, host name, zone and target of an endpoint', () => {
    const endpoint = {
      addresses: ['10.0.0.1', 'nonsense', '10.0.0.9', 'fd00::1', '10.0.0.1'],
      nodeName: 'node-1.example',
      hostname: 'web-0',
      zone: 'Zone_A',
      targetRef: { kind: 'Pod', namespace: 'default', name: 'web-0' },
    }
    const { value, problems } = parse({ endpoints: [endpoint] })
    assert.deepEqual(
      problems.map(formatProblem).map((line) => line.split(': ')[1]),
      ['endpoints[0].addresses[1]', 'endpoints[0].addresses[3]'],
    )
    assert.deepEqual(value?.endpoints, [
      {
        address: '10.0.0.1',
        otherAddresses: ['10.0.0.9'],
        ready: true,
        serving: true,
        terminating: false,
        nodeName: 'node-1.example',
        hostname: 'web-0',
        zone: 'Zone_A',
        target: 'Pod default/web-0',
      },
    ])
  })

  it('keeps the zones and nodes that its endpoints are meant for', () => {
    const hints = { forZones: [{ name: 'zone-b' }, { name: 'zone-a' }, {}], forNodes: [{ name: 'node-1' }] }
    const { value, problems } = parse({ endpoints: [{ addresses: ['10.0.0.1'], hints }] })
    assert.deepEqual(value?.endpoints[0]?.hints, { zones: ['zone-a', 'zone-b'], nodes: ['node-1'] })
    assert.deepEqual(problems.map(formatProblem), [
      'EndpointSlice default/web-1: endpoints[0].hints.forZones[2].name: expected a label value ([A-Za-z0-9_.-], at most 63), found nothing',
    ])
    const none = parse({ endpoints: [{ addresses: ['10.0.0.1'], hints: { forZones: [] } }] })
    assert.equal(none.value?.endpoints[0]?.hints, undefined)
  })

  it('is the same in whatever order the server lists its endpoints', () => {
    const endpoints = [{ addresses: ['10.0.0.2'] }, { addresses: ['10.0.0.1'] }]
    assert.deepEqual(parse({ endpoints }), parse({ endpoints: endpoints.toReversed() }))
  })

  const ours: readonly [title: string, body: object, labels: object][] = [
    ['without a Service', {}, { [dialect.labels.serviceName]: '' }],
    ['of names', { addressType: 'FQDN', endpoints: [{ addresses: ['example.org'] }] }, {}],
  ]
  for (const [title, body, labels] of ours) {
    it(`${title} is none of ours, and no problem`, () => {
      assert.deepEqual(parse(body, labels), { value: undefined, problems: [] })
    })
  }

  for (const label of [dialect.labels.serviceProxyName, dialect.labels.headlessService]) {
    it(`with the label ${label} is there for names only`, () => {
      assert.equal(parse({}, { [label]: '' }).value?.namesOnly, true)
      assert.equal(parse({}).value?.namesOnly, undefined)
    })
  }

  const partly: readonly [body: object, message: string, kept: object][] = [
    [
      { ports: [{ name: null, port: 80 }, { port: 81 }, { name: '', port: 82 }] },
      'EndpointSlice default/web-1: ports[0].name: expected a DNS label or "" (null is forbidden), found null',
      { ports: [{ name: '', protocol: 'TCP', port: 82 }] },
    ],
    [
      {
        ports: [
          { name: '', port: null },
          { name: 'b', port: 1 },
        ],
      },
      'EndpointSlice default/web-1: ports[0].port: expected a port from 1 to 65535, found null',
      { ports: [{ name: 'b', protocol: 'TCP', port: 1 }] },
    ],
    [
      { endpoints: [{ addresses: ['10.0.0.256'] }, { addresses: ['10.0.0.2'] }] },
      'EndpointSlice default/web-1: endpoints[0].addresses[0]: expected an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server), found "10.0.0.256"',
      { endpoints: [{ address: '10.0.0.2', ready: true, serving: true, terminating: false }] },
    ],
    [
      { endpoints: [{ addresses: ['fd00::1'] }] },
      'EndpointSlice default/web-1: endpoints[0].addresses[0]: expected an IPv4 address, found "fd00::1"',
      { endpoints: [] },
    ],
    [
      { endpoints: [{ addresses: [] }, {}] },
      'EndpointSlice default/web-1: endpoints[0].addresses[0]: expected an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server), found nothing',
      { endpoints: [] },
    ],
    [
      { endpoints: [{ addresses: ['10.0.0.1'], nodeName: 'x; reboot', conditions: { ready: 'no' } }] },
      'EndpointSlice default/web-1: endpoints[0].conditions.ready: expected true or false, found "no"',
      { endpoints: [{ address: '10.0.0.1', ready: true, serving: true, terminating: false }] },
    ],
  ]
  for (const [body, message, kept] of partly) {
    it(`keeps the rest and says: ${message}`, () => {
      const { value, problems } = parse(body)
      assert.equal(problems.map(formatProblem)[0], message)
      assert.deepEqual({ ...value, ...kept }, value)
    })
  }

  it('of an unknown address type gives no value and says so', () => {
    const { value, problems } = parse({ addressType: 'IPX' })
    assert.equal(value, undefined)
    assert.deepEqual(problems.map(formatProblem), [
      'EndpointSlice default/web-1: addressType: expected IPv4, IPv6 or FQDN, found "IPX"',
    ])
  })
})

describe('an Endpoints object', () => {
  const parseSubsets = (subsets: unknown, labels?: object) =>
    parseEndpoints(wireEndpoints('web', '1', subsets, labels), dialect)

  it('becomes one slice for each family of each subset', () => {
    const { value, problems } = parseSubsets([
      {
        addresses: [{ ip: '10.0.0.1', nodeName: 'n1' }, { ip: 'fd00::1' }],
        notReadyAddresses: [{ ip: '10.0.0.2' }],
        ports: [{ port: 80 }],
      },
      { addresses: [{ ip: '10.0.0.3' }], ports: [{ name: 'b', port: 81, protocol: 'UDP' }] },
    ])
    assert.deepEqual(problems, [])
    assert.deepEqual(
      value?.map(({ source, family }) => [source, family]),
      [
        ['endpoints/default/web/0/IPv4', 'IPv4'],
        ['endpoints/default/web/0/IPv6', 'IPv6'],
        ['endpoints/default/web/1/IPv4', 'IPv4'],
      ],
    )
    assert.deepEqual(value?.[0]?.endpoints, [
      { address: '10.0.0.1', ready: true, serving: true, terminating: false, nodeName: 'n1' },
      { address: '10.0.0.2', ready: false, serving: false, terminating: false },
    ])
    assert.deepEqual(value?.[0]?.ports, [{ name: '', protocol: 'TCP', port: 80 }])
    assert.deepEqual(value?.[2]?.ports, [{ name: 'b', protocol: 'UDP', port: 81 }])
    assert.ok(value?.every(({ service }) => service === 'default/web'))
  })

  it('without subsets has no slices', () => {
    assert.deepEqual(parseSubsets(null), { value: [], problems: [] })
  })

  it('leaves out what it cannot use and says so', () => {
    const { value, problems } = parseSubsets([
      { addresses: [{ ip: 'x' }, { ip: '10.0.0.1' }], ports: [{ port: 0 }, { port: 1 }] },
      7,
    ])
    assert.deepEqual(problems.map(formatProblem), [
      'Endpoints default/web: subsets[0].ports[0].port: expected a port from 1 to 65535, found 0',
      'Endpoints default/web: subsets[0].addresses[0].ip: expected an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server), found "x"',
      'Endpoints default/web: subsets[1]: expected an object, found 7',
    ])
    assert.deepEqual(
      value?.map((slice) => [slice.ports.length, slice.endpoints.length]),
      [[1, 1]],
    )
  })

  it('of another proxy or a headless Service are there for names only', () => {
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }]
    for (const label of [dialect.labels.serviceProxyName, dialect.labels.headlessService]) {
      assert.equal(parseSubsets(subsets, { [label]: '' }).value?.[0]?.namesOnly, true)
    }
  })
})
