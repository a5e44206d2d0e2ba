import type { AdminConnection } from '../../helpers/admin-connection.ts'
import { places } from '../../kernel/netfilter/packet-lab.ts'

export const nodeName = 'node-a'
/** Where the node reaches the API server, and where its health is requested. */
export const [serverAddress, nodeToServer] = ['198.19.0.1', '198.19.0.2']

export const families = ['IPv4', 'IPv6'] as const
type Family = (typeof families)[number]

/** Of the first or second port of a Service. */
export const nodePortOf = (n: number, port = 0): number => 30_000 + n + 500 * port
/** This load balancer's address stands on the node itself. */
export const boundService = 7

export interface Conditions {
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
}

/** `L1` is the first endpoint of those on this node, `R2` the second on another. */
export interface EndpointWish {
  readonly at: 'L1' | 'L2' | 'L3' | 'R1' | 'R2' | 'R3'
  readonly conditions?: Conditions
  readonly hints?: object
  /** Of the Service's slices, the one that it stands in; the first where it is not said. */
  readonly slice?: number
}

export interface PortWish {
  readonly name: string
  readonly port: number
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  /** Whether the slices have a port of its name. */
  readonly isServed: boolean
}

export interface Case {
  readonly title: string
  readonly spec?: object
  readonly labels?: object
  readonly protocol?: PortWish['protocol']
  /** One, `main`, of that protocol, where it is not said. */
  readonly ports?: readonly PortWish[]
  readonly families?: readonly Family[]
  readonly type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  readonly sourceRanges?: 'client' | 'client and node' | 'no client here'
  readonly ipMode?: 'VIP' | 'Proxy'
  readonly endpoints: readonly EndpointWish[]
}

export const going: Conditions = { ready: false, serving: true, terminating: true }
export const gone: Conditions = { ready: false, serving: false, terminating: true }
export const unready: Conditions = { ready: false, serving: false, terminating: false }
const [here, there]: readonly EndpointWish[] = [{ at: 'L1' }, { at: 'R1' }]
const both: readonly EndpointWish[] = [{ at: 'L1' }, { at: 'R1' }]
const externalLocal = { externalTrafficPolicy: 'Local' }
const internalLocal = { internalTrafficPolicy: 'Local' }
const forZone = (name: string) => ({ forZones: [{ name }] })

export function portsOf({ ports, protocol = 'TCP' }: Case): readonly PortWish[] {
  return ports ?? [{ name: 'main', port: 80, protocol, isServed: true }]
}

/** Every one a Service with all kinds of addresses and both families; its number is its place here and one. */
export const fixedCases: readonly Case[] = [
  { title: 'policies Cluster', endpoints: both },
  { title: 'external policy Local', spec: externalLocal, endpoints: both },
  { title: 'external policy Local, none local', spec: externalLocal, endpoints: there ? [there] : [] },
  { title: 'internal policy Local', spec: internalLocal, endpoints: both },
  { title: 'internal policy Local, none local', spec: internalLocal, endpoints: there ? [there] : [] },
  { title: 'both policies Local', spec: { ...externalLocal, ...internalLocal }, endpoints: both },
  { title: 'on the node itself', endpoints: here ? [here] : [] },
  { title: 'source ranges of the client', sourceRanges: 'client', endpoints: both },
  { title: 'source ranges of client and node', sourceRanges: 'client and node', endpoints: both },
  { title: 'source ranges, external policy Local', spec: externalLocal, sourceRanges: 'client', endpoints: both },
  { title: 'source ranges without a client', sourceRanges: 'no client here', endpoints: both },
  { title: 'no endpoints', endpoints: [] },
  { title: 'no endpoints, policies Local', spec: { ...externalLocal, ...internalLocal }, endpoints: [] },
  {
    title: 'all terminate but serve',
    endpoints: [
      { at: 'L1', conditions: going },
      { at: 'R1', conditions: going },
    ],
  },
  { title: 'all terminate and serve no more', endpoints: [{ at: 'L1', conditions: gone }] },
  { title: 'one terminates, one is ready', endpoints: [{ at: 'L1', conditions: going }, { at: 'R1' }] },
  {
    title: 'the local one terminates, external policy Local',
    spec: externalLocal,
    endpoints: [{ at: 'L1', conditions: going }, { at: 'R1' }],
  },
  {
    title: 'none is ready',
    endpoints: [
      { at: 'L1', conditions: unready },
      { at: 'R1', conditions: unready },
    ],
  },
  { title: 'UDP', protocol: 'UDP', endpoints: both },
  { title: 'UDP without endpoints', protocol: 'UDP', endpoints: [] },
  {
    title: 'UDP, external policy Local, none local',
    protocol: 'UDP',
    spec: externalLocal,
    endpoints: there ? [there] : [],
  },
  { title: 'SCTP', protocol: 'SCTP', endpoints: both },
  { title: 'SCTP, external policy Local', protocol: 'SCTP', spec: externalLocal, endpoints: both },
  { title: 'SCTP without endpoints', protocol: 'SCTP', endpoints: [] },
  { title: 'the balancer is a proxy', ipMode: 'Proxy', endpoints: both },
  { title: 'of another proxy', labels: { 'service.kubernetes.io/service-proxy-name': 'other' }, endpoints: both },
  { title: 'affinity', spec: { sessionAffinity: 'ClientIP' }, endpoints: both },
  {
    title: 'hints for this zone',
    endpoints: [
      { at: 'L1', hints: forZone('zone-b') },
      { at: 'R1', hints: forZone('zone-a') },
      { at: 'R2', hints: forZone('zone-b') },
    ],
  },
  { title: 'hints that one lacks', endpoints: [{ at: 'L1', hints: forZone('zone-b') }, { at: 'R1' }] },
  {
    title: 'hints for this node',
    endpoints: [
      { at: 'L1', hints: { forNodes: [{ name: nodeName }] } },
      { at: 'R1', hints: { forNodes: [{ name: 'node-b' }] } },
    ],
  },
]

/** The Services and their slices, one of each family, and the node. */
export async function createCluster(connection: AdminConnection, cases: readonly Case[]): Promise<void> {
  const post = (path: string, body: object) => expectCode(connection, 'POST', path, body, 201)
  const patch = (path: string, body: object) => expectCode(connection, 'PATCH', path, body, 200)
  const cidrs = '/apis/networking.k8s.io/v1/servicecidrs'
  await post(cidrs, {
    ...typeOf('ServiceCIDR', 'networking.k8s.io/v1'),
    metadata: { name: 'six' },
    spec: { cidrs: ['fd00:96::/112'] },
  })
  await patch(`${cidrs}/six/status`, { status: { conditions: [readyCondition] } })
  await post('/api/v1/nodes', {
    ...typeOf('Node', 'v1'),
    metadata: { name: nodeName, labels: { 'topology.kubernetes.io/zone': 'zone-a' } },
  })
  await patch(`/api/v1/nodes/${nodeName}/status`, {
    status: { addresses: families.map((family) => ({ type: 'InternalIP', address: places[family].node })) },
  })
  for (const [index, wish] of cases.entries()) {
    const n = index + 1
    await post('/api/v1/namespaces/default/services', serviceOf(n, wish))
    await patch(`/api/v1/namespaces/default/services/s${n}/status`, {
      status: { loadBalancer: { ingress: ingressOf(n, wish) } },
    })
    for (const slice of families.flatMap((family) => slicesOf(n, wish, family)))
      await post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', slice)
  }
}

const readyCondition = {
  type: 'Ready',
  status: 'True',
  reason: 'Test',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

async function expectCode(
  connection: AdminConnection,
  method: string,
  path: string,
  body: object,
  code: number,
): Promise<void> {
  const reply = await connection.call(method, path, body)
  if (reply.code !== code) throw new Error(`${method} ${path} was answered with ${reply.code}: ${reply.body.message}`)
}

function typeOf(kind: string, apiVersion: string): object {
  return { kind, apiVersion }
}

function serviceOf(n: number, wish: Case): object {
  const { spec, labels, sourceRanges, type = 'LoadBalancer', families: own = families } = wish
  const each = <Value>(read: (place: (typeof places)[Family]) => Value) =>
    families.map((family) => read(places[family]))
  const ranges = {
    client: each(({ range }) => range),
    'client and node': each(({ range, nodeRange }) => [range, nodeRange]).flat(),
    'no client here': ['233.252.0.0/24', '2001:db8:ffff::/64'],
  }
  const clusterIps = own.map((family) => places[family].clusterIp(n + 100))
  return {
    ...typeOf('Service', 'v1'),
    metadata: { name: `s${n}`, labels },
    spec: {
      type,
      clusterIP: clusterIps[0],
      clusterIPs: clusterIps,
      ipFamilies: own,
      ipFamilyPolicy: own.length > 1 ? 'RequireDualStack' : 'SingleStack',
      externalIPs: each(({ external }) => external(n)),
      ports: portsOf(wish).map(({ name, port, protocol }, index) => ({
        ...{ name, port, protocol, targetPort: 8080 },
        ...(type !== 'ClusterIP' && { nodePort: nodePortOf(n, index) }),
      })),
      ...(sourceRanges && type === 'LoadBalancer' && { loadBalancerSourceRanges: ranges[sourceRanges] }),
      ...spec,
    },
  }
}

function ingressOf(n: number, { ipMode = 'VIP', type = 'LoadBalancer' }: Case): object[] {
  return type === 'LoadBalancer' ? families.map((family) => ({ ip: places[family].vip(n), ipMode })) : []
}

function slicesOf(n: number, wish: Case, family: Family): object[] {
  const numbers = new Set([0, ...wish.endpoints.map(({ slice = 0 }) => slice)])
  return [...numbers].map((number) => sliceOf(n, wish, family, number))
}

function sliceOf(n: number, wish: Case, family: Family, number: number): object {
  const addressOf = (at: EndpointWish['at']) => places[family][at.startsWith('L') ? 'local' : 'remote'](Number(at[1]))
  const served = portsOf(wish).filter(({ isServed }) => isServed)
  return {
    ...typeOf('EndpointSlice', 'discovery.k8s.io/v1'),
    metadata: {
      name: `s${n}-${family.toLowerCase()}-${number}`,
      labels: { 'kubernetes.io/service-name': `s${n}` },
    },
    addressType: family,
    ports: served.map(({ name, protocol }) => ({ name, protocol, port: 8080 })),
    endpoints: wish.endpoints
      .filter(({ slice = 0 }) => slice === number)
      .map(({ at, conditions, hints }) => ({
        addresses: [addressOf(at)],
        nodeName: at.startsWith('L') ? nodeName : 'node-b',
        ...(conditions && { conditions }),
        ...(hints && { hints }),
      })),
  }
}
