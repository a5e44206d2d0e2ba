import { endpointSlice, endpoints } from './core-kinds.ts'
import {
  change,
  create,
  differs,
  type Fields,
  type ObjectCase,
  objectCases,
  replaceAbsent,
  zeros,
} from './object-case.ts'
import { emptyIsAbsent, type KindCases } from './write-case.ts'

const subset = (title: string, fields: Fields, ...errors: string[]) =>
  create(title, { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }], ...fields }] }, ...errors)
const address = (title: string, fields: Fields, ...errors: string[]) =>
  subset(title, { addresses: [{ ip: '10.1.2.3', ...fields }] }, ...errors)
const port = (title: string, fields: Fields, ...errors: string[]) =>
  subset(title, { ports: [{ port: 80, ...fields }] }, ...errors)
const saidTwice = { words: 'Kubernetes looks twice whether it is an address' }
const noPort = 'no packet has such a port; Kubernetes does not look'
const s0 = 'subsets[0]'
const a0 = `${s0}.addresses[0]`
const p0 = `${s0}.ports[0]`

const addresses = (badAddress: (title: string, ip: string, ...errors: string[]) => ObjectCase, at: string) => [
  badAddress('an address that is a name', 'example.com', `Invalid ${at}`),
  badAddress('an empty address', '', `Invalid ${at}`),
  badAddress('an address of no host', '0.0.0.0', `Invalid ${at}`),
  badAddress('an address of the loopback', '127.0.0.1', `Invalid ${at}`),
  badAddress('an address of the link', '169.254.169.254', `Invalid ${at}`),
  badAddress('an address of a multicast group of the link', '224.0.0.1', `Invalid ${at}`),
  differs(badAddress('an address with a leading 0', '10.1.2.03', `Invalid ${at}`), zeros),
]

const endpointsRows: readonly ObjectCase[] = [
  create('no subsets', { subsets: [] }),
  create('none at all', { subsets: null }),
  create('an empty subset', { subsets: [{}] }, `Required ${s0}`),
  create('a subset with ports alone', { subsets: [{ ports: [{ port: 80 }] }] }, `Required ${s0}`),
  subset('addresses that are not ready', { addresses: [], notReadyAddresses: [{ ip: '10.1.2.3' }] }),
  {
    ...subset(
      'a bad address that is not ready',
      { notReadyAddresses: [{ ip: 'x' }] },
      `Invalid ${s0}.notReadyAddresses[0].ip`,
    ),
    ...saidTwice,
  },
  subset('no ports', { ports: [] }),
  ...addresses((title, ip, ...errors) => ({ ...address(title, { ip }, ...errors), ...saidTwice }), `${a0}.ip`),
  address('an IPv6 address', { ip: 'fd00::1' }),
  address('an IPv6 address of the link', { ip: 'fe80::1' }, `Invalid ${a0}.ip`),
  address('a host name', { hostname: 'web-1' }),
  address('a host name with a dot', { hostname: 'a.b' }, `Invalid ${a0}.hostname`),
  address('a host name in capitals', { hostname: 'Web' }, `Invalid ${a0}.hostname`),
  address('a node', { nodeName: 'node-1.example' }),
  address('a node in capitals', { nodeName: 'Node' }, `Invalid ${a0}.nodeName`),
  address('an empty node', { nodeName: '' }, `Invalid ${a0}.nodeName`),
  port('a name in capitals', { name: 'HTTP' }, `Invalid ${p0}.name`),
  port('a name with a dot', { name: 'a.b' }, `Invalid ${p0}.name`),
  subset(
    'two ports, one without name',
    { ports: [{ name: 'a', port: 80 }, { port: 81 }] },
    `Required ${s0}.ports[1].name`,
  ),
  subset('a name twice', {
    ports: [
      { name: 'a', port: 80 },
      { name: 'a', port: 81 },
    ],
  }),
  subset('a port without number', { ports: [{}] }, `Invalid ${p0}.port`),
  port('port 0', { port: 0 }, `Invalid ${p0}.port`),
  port('port 65536', { port: 65536 }, `Invalid ${p0}.port`),
  port('a protocol that is none', { protocol: 'ICMP' }, `NotSupported ${p0}.protocol`),
  port('an empty protocol', { protocol: '' }),
  port('an application protocol', { appProtocol: 'http' }),
  port('an application protocol with a space', { appProtocol: 'h 2' }, `Invalid ${p0}.appProtocol`),
  port('an empty application protocol', { appProtocol: '' }, `Invalid ${p0}.appProtocol`),
  {
    ...change('gets an address that is none', {}, { subsets: [{ addresses: [{ ip: 'x' }] }] }, `Invalid ${a0}.ip`),
    ...saidTwice,
  },
  replaceAbsent('are put where there are none', {}),
  change('moves to another node', {}, { subsets: [{ addresses: [{ ip: '10.1.2.3', nodeName: 'other' }] }] }),
]

const one = (title: string, fields: Fields, ...errors: string[]) =>
  create(title, { endpoints: [{ addresses: ['10.1.2.3'], ...fields }] }, ...errors)
const slicePort = (title: string, fields: Fields, ...errors: string[]) => create(title, { ports: [fields] }, ...errors)
const typed = (title: string, addressType: string, text: string, ...errors: string[]) =>
  create(title, { addressType, endpoints: [{ addresses: [text] }] }, ...errors)
const e0 = 'endpoints[0]'
const many = <T>(count: number, item: (index: number) => T) => Array.from({ length: count }, (_, index) => item(index))

const addressTypes: readonly ObjectCase[] = [
  create('no type of addresses', { addressType: null }, 'Required addressType'),
  create('an empty type of addresses', { addressType: '' }, 'Required addressType'),
  create('a type of addresses that is none', { addressType: 'IP' }, 'NotSupported addressType'),
  ...addresses((title, text, ...errors) => typed(title, 'IPv4', text, ...errors), `${e0}.addresses[0]`),
  typed('an IPv6 address among IPv4', 'IPv4', 'fd00::1', `Invalid ${e0}.addresses`),
  typed('an IPv6 address', 'IPv6', 'fd00::1'),
  typed('an IPv6 address in a longer form', 'IPv6', 'fd00:0::1', `Invalid ${e0}.addresses[0]`),
  typed('an IPv6 address in capitals', 'IPv6', 'FD00::1', `Invalid ${e0}.addresses[0]`),
  typed('an IPv4 address in IPv6', 'IPv6', '::ffff:10.1.2.3', `Invalid ${e0}.addresses[0]`),
  typed('an IPv4 address among IPv6', 'IPv6', '10.1.2.3', `Invalid ${e0}.addresses`),
  typed('an IPv6 address of the loopback', 'IPv6', '::1', `Invalid ${e0}.addresses[0]`),
  typed('an IPv6 address of the link', 'IPv6', 'fe80::1', `Invalid ${e0}.addresses[0]`),
  typed('a name', 'FQDN', 'web.example.com'),
  typed('a name with its root', 'FQDN', 'web.example.com.'),
  typed('a name of one part', 'FQDN', 'web', `Invalid ${e0}.addresses[0]`),
  typed('a name in capitals', 'FQDN', 'Web.example', `Invalid ${e0}.addresses[0]`),
  typed('a name with a long part', 'FQDN', `${'a'.repeat(64)}.example`, `Invalid ${e0}.addresses[0]`),
  typed('an empty name', 'FQDN', '', `Required ${e0}.addresses[0]`),
]

const hint = (title: string, hints: Fields, ...errors: string[]) => one(title, { hints }, ...errors)

const sliceEndpoints: readonly ObjectCase[] = [
  create('no endpoints', { endpoints: [] }),
  create('endpoints that are null', { endpoints: null }),
  one('no addresses', { addresses: [] }, `Required ${e0}.addresses`),
  one('addresses that are absent', { addresses: undefined }, `Required ${e0}.addresses`),
  one('100 addresses', { addresses: many(100, (index) => `10.1.2.${index + 1}`) }),
  one('101 addresses', { addresses: many(101, (index) => `10.1.2.${index + 1}`) }, `TooMany ${e0}.addresses`),
  one('an address twice', { addresses: ['10.1.2.3', '10.1.2.3'] }),
  create('1,000 endpoints', {
    endpoints: many(1000, (index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] })),
  }),
  create(
    '1,001 endpoints',
    { endpoints: many(1001, (index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] })) },
    'TooMany endpoints',
  ),
  one('a host name', { hostname: 'web-1' }),
  one('a host name with a dot', { hostname: 'a.b' }, `Invalid ${e0}.hostname`),
  one('an empty host name', { hostname: '' }, `Invalid ${e0}.hostname`),
  one('a node', { nodeName: 'node-1.example' }),
  one('a node in capitals', { nodeName: 'Node' }, `Invalid ${e0}.nodeName`),
  one('an empty node', { nodeName: '' }, `Invalid ${e0}.nodeName`),
  one('a zone', { zone: 'Any zone' }),
  one('an old topology', { deprecatedTopology: { 'a b': 'c' } }),
  hint('a zone it is for', { forZones: [{ name: 'zone-a' }] }),
  hint('a zone it is for with a space', { forZones: [{ name: 'a b' }] }, `Invalid ${e0}.hints.forZones[0].name`),
  hint(
    'a zone it is for twice',
    { forZones: [{ name: 'a' }, { name: 'a' }] },
    `Duplicate ${e0}.hints.forZones[1].name`,
  ),
  hint('eight zones it is for', { forZones: many(8, (index) => ({ name: `zone-${index}` })) }),
  hint(
    'nine zones it is for',
    { forZones: many(9, (index) => ({ name: `zone-${index}` })) },
    `TooMany ${e0}.hints.forZones`,
  ),
  hint('a node it is for', { forNodes: [{ name: 'node-1' }] }),
  hint('a node it is for in capitals', { forNodes: [{ name: 'Node' }] }, `Invalid ${e0}.hints.forNodes[0].name`),
  hint(
    'a node it is for twice',
    { forNodes: [{ name: 'a' }, { name: 'a' }] },
    `Duplicate ${e0}.hints.forNodes[1].name`,
  ),
  hint(
    'nine nodes it is for',
    { forNodes: many(9, (index) => ({ name: `node-${index}` })) },
    `TooMany ${e0}.hints.forNodes`,
  ),
]

const slicePorts: readonly ObjectCase[] = [
  create('no ports', { ports: [] }),
  create('every port', { ports: [{}] }),
  slicePort('a port without a name', { port: 80 }),
  slicePort('a port whose name is null', { name: null, port: 80 }),
  slicePort('a port named in capitals', { name: 'HTTP' }, 'Invalid ports[0].name'),
  slicePort('a port named with a dot', { name: 'a.b' }, 'Invalid ports[0].name'),
  create('two ports without names', { ports: [{ port: 80 }, { port: 81 }] }, 'Duplicate ports[1].name'),
  create(
    'a name twice',
    {
      ports: [
        { name: 'a', port: 80 },
        { name: 'a', port: 81 },
      ],
    },
    'Duplicate ports[1].name',
  ),
  create('a port twice', {
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 80 },
    ],
  }),
  differs(slicePort('port 0', { port: 0 }, 'Invalid ports[0].port'), noPort),
  differs(slicePort('port 65536', { port: 65536 }, 'Invalid ports[0].port'), noPort),
  slicePort('a protocol that is none', { protocol: 'ICMP' }, 'NotSupported ports[0].protocol'),
  { ...slicePort('an empty protocol', { protocol: '' }), ...emptyIsAbsent },
  slicePort('an application protocol with a space', { appProtocol: 'h 2' }, 'Invalid ports[0].appProtocol'),
  slicePort('an empty application protocol', { appProtocol: '' }, 'Invalid ports[0].appProtocol'),
  slicePort('an application protocol', { appProtocol: 'example.com/mine' }),
]

const sliceUpdates: readonly ObjectCase[] = [
  change('changes its endpoints', {}, { endpoints: [{ addresses: ['10.1.2.4'] }] }),
  change('changes its type', { endpoints: [] }, { addressType: 'IPv6' }, 'Invalid addressType'),
  change('changes its type with an endpoint', {}, { addressType: 'FQDN' }, 'Invalid addressType'),
  change('gets an address that is none', {}, { endpoints: [{ addresses: ['x'] }] }, `Invalid ${e0}.addresses[0]`),
  change('gets a bad port', {}, { ports: [{ name: 'A' }] }, 'Invalid ports[0].name'),
]

export const endpointsCases: KindCases = objectCases('Endpoints', endpoints, endpointsRows)

export const endpointSliceCases: KindCases = objectCases('EndpointSlices', endpointSlice, [
  ...addressTypes,
  ...sliceEndpoints,
  ...slicePorts,
  ...sliceUpdates,
])
