import type { AdminConnection } from '../../helpers/admin-connection.ts'
import { places } from '../../kernel/netfilter/packet-lab.ts'

export const nodeName = 'node-a'
/** Where the node reaches the API server, and is reached by whoever asks for its health. */
export const [serverAddress, nodeToServer] = ['198.19.0.1', '198.19.0.2']

export const families = ['IPv4', 'IPv6'] as const
type Family = (typeof families)[number]

export const nodePortOf = (n: number): number => 30_000 + n
/** This load balancer's address stands on the node itself. */
export const boundService = 7

/** `L1` is the first endpoint of those on this node, `R2` the second on another. */
interface EndpointWish {
  readonly at: 'L1' | 'L2' | 'L3' | 'R1' | 'R2' | 'R3'
  readonly conditions?: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean }
  readonly zone?: string
  readonly hints?: object
}

interface Case {
  readonly title: string
  readonly spec?: object
  readonly labels?: object
  readonly protocol?: 'TCP' | 'UDP'
  readonly sourceRanges?: 'client' | 'client and node' | 'nobody here'
  readonly ipMode?: 'VIP' | 'Proxy'
  readonly endpoints: readonly EndpointWish[]
}

const going = { ready: false, serving: true, terminating: true }
const gone = { ready: false, serving: false, terminating: true }
const unready = { ready: false, serving: false, terminating: false }
const [here, there]: readonly EndpointWish[] = [{ at: 'L1' }, { at: 'R1' }]
const both: readonly EndpointWish[] = [{ at: 'L1' }, { at: 'R1' }]
const externalLocal = { externalTrafficPolicy: 'Local' }
const internalLocal = { internalTrafficPolicy: 'Local' }
const forZone = (name: string) => ({ forZones: [{ name }] })

/** Every one a Service with all ways in and both families; its number is its place here and one. */
export const cases: readonly Case[] = [
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
  { title: 'source ranges that hold nobody', sourceRanges: 'nobody here', endpoints: both },
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
export async function createCluster(connection: AdminConnection): Promise<void> {
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
    for (const family of families)
      await post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', sliceOf(n, wish, family))
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

function serviceOf(n: number, { spec, labels, protocol = 'TCP', sourceRanges }: Case): object {
  const each = <Value>(read: (place: (typeof places)[Family]) => Value) =>
    families.map((family) => read(places[family]))
  const ranges = {
    client: each(({ range }) => range),
    'client and node': each(({ range, nodeRange }) => [range, nodeRange]).flat(),
    'nobody here': ['233.252.0.0/24', '2001:db8:ffff::/64'],
  }
  const clusterIps = each(({ clusterIp }) => clusterIp(n + 100))
  return {
    ...typeOf('Service', 'v1'),
    metadata: { name: `s${n}`, labels },
    spec: {
      type: 'LoadBalancer',
      clusterIP: clusterIps[0],
      clusterIPs: clusterIps,
      ipFamilies: families,
      ipFamilyPolicy: 'RequireDualStack',
      externalIPs: each(({ external }) => external(n)),
      ports: [{ name: 'main', port: 80, targetPort: 8080, nodePort: nodePortOf(n), protocol }],
      ...(sourceRanges && { loadBalancerSourceRanges: ranges[sourceRanges] }),
      ...spec,
    },
  }
}

function ingressOf(n: number, { ipMode = 'VIP' }: Case): object[] {
  return families.map((family) => ({ ip: places[family].vip(n), ipMode }))
}

function sliceOf(n: number, { endpoints, protocol = 'TCP' }: Case, family: Family): object {
  const addressOf = (at: EndpointWish['at']) => places[family][at.startsWith('L') ? 'local' : 'remote'](Number(at[1]))
  return {
    ...typeOf('EndpointSlice', 'discovery.k8s.io/v1'),
    metadata: { name: `s${n}-${family.toLowerCase()}`, labels: { 'kubernetes.io/service-name': `s${n}` } },
    addressType: family,
    ports: [{ name: 'main', protocol, port: 8080 }],
    endpoints: endpoints.map(({ at, conditions, hints }) => ({
      addresses: [addressOf(at)],
      nodeName: at.startsWith('L') ? nodeName : 'node-b',
      ...(conditions && { conditions }),
      ...(hints && { hints }),
    })),
  }
}
