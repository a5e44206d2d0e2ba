import assert from 'node:assert/strict'
import { formatMicroTime } from '../../../src/model/api-object.ts'
import type { TestServer } from '../../helpers/api-server.ts'
import { untilAsync } from '../../helpers/until.ts'

/** An action on a cluster, and the lines of its snapshot that show that the controllers have reacted. */
export interface Step {
  readonly title: string
  act(server: TestServer): Promise<void>
  readonly reached: readonly string[]
  /** What no line speaks of any more. */
  readonly gone?: readonly string[]
  /** The node that is not heard of from here on. */
  readonly silences?: string
}

type Fields = Readonly<Record<string, unknown>>

const core = '/api/v1/namespaces/default'
const apps = '/apis/apps/v1/namespaces/default'
const cidrs = '/apis/networking.k8s.io/v1/servicecidrs'

async function send(server: TestServer, method: string, path: string, body?: Fields, contentType = 'application/json') {
  const headers = body === undefined ? {} : { 'content-type': contentType }
  const reply = await server.call(method, path, { ...(body && { body }), headers })
  assert.ok(reply.code < 300, `${method} ${path}: ${reply.text}`)
  return reply.body
}

const create = (server: TestServer, path: string, body: Fields) => send(server, 'POST', path, body)
const merge = (server: TestServer, path: string, body: Fields) =>
  send(server, 'PATCH', path, body, 'application/merge-patch+json')
const remove = (server: TestServer, path: string) => send(server, 'DELETE', path)

/** The peer's API server would fill these in. */
const tolerations = ['not-ready', 'unreachable'].map((trouble) => ({
  key: `node.kubernetes.io/${trouble}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}))

function template(app: string, image: string, more: Fields = {}) {
  const ports = [{ name: 'http', containerPort: 8080 }]
  return { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image, ports }], tolerations, ...more } }
}

function workload(name: string, spec: Fields = {}, more: Fields = {}) {
  const metadata = { name, labels: { own: name }, annotations: { note: 'x' } }
  return {
    metadata,
    spec: { selector: { matchLabels: { app: name } }, template: template(name, 'one', more), ...spec },
  }
}

/** Where the scheduler puts pods must not differ from run to run. */
const on = (node: string): Fields => ({ nodeSelector: { 'kubernetes.io/hostname': node } })

function condition(type: string, status: string) {
  const now = `${new Date().toISOString().slice(0, 19)}Z`
  return { type, status, lastHeartbeatTime: now, lastTransitionTime: now, reason: 'Reported', message: 'by the test' }
}

async function makeNode(server: TestServer, name: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `zone-${name}` }
  await create(server, '/api/v1/nodes', { metadata: { name, labels } })
  const allocatable = { cpu: '8', memory: '16Gi', pods: '110' }
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(type, 'False'))
  const status = { allocatable, capacity: allocatable, conditions: [...conditions, condition('Ready', 'True')] }
  await merge(server, `/api/v1/nodes/${name}/status`, { status })
}

/** One condition of a node, the others as they are. */
const tell = (server: TestServer, node: string, type: string, status: string) =>
  send(
    server,
    'PATCH',
    `/api/v1/nodes/${node}/status`,
    { status: { conditions: [condition(type, status)] } },
    'application/strategic-merge-patch+json',
  )

interface HandPod {
  readonly app: string
  readonly ip: string
  readonly ready?: 'True' | 'False'
  readonly phase?: string
  readonly spec?: Fields
}

/** A pod whose status is the test's to tell. */
async function makePod(server: TestServer, name: string, pod: HandPod): Promise<void> {
  const { app, ip, ready = 'True', phase = 'Running', spec } = pod
  const containers = [{ name: 'main', image: 'one', ports: [{ name: 'http', containerPort: 8080 }] }]
  const labels = { app, runs: 'by-hand' }
  await create(server, `${core}/pods`, {
    metadata: { name, labels },
    spec: { nodeName: 'n1', containers, tolerations, ...spec },
  })
  const conditions = [{ type: 'Ready', status: ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]
  await merge(server, `${core}/pods/${name}/status`, { status: { phase, podIP: ip, podIPs: [{ ip }], conditions } })
}

const makeService = (server: TestServer, name: string, spec: Fields, metadata: Fields = {}) =>
  create(server, `${core}/services`, { metadata: { name, ...metadata }, spec })

async function makeMap(server: TestServer, name: string, owner?: { name: string; uid: string }, more: Fields = {}) {
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', blockOwnerDeletion: true, ...owner }
  const metadata = { name, ...(owner && { ownerReferences: [reference] }), ...more }
  return (await create(server, `${core}/configmaps`, { metadata })).metadata.uid as string
}

const change = (title: string, path: string, body: Fields, reached: readonly string[]): Step => ({
  title,
  act: (server) => merge(server, path, body),
  reached,
})

const deploymentSteps: readonly Step[] = [
  {
    title: 'a Deployment comes up',
    act: (server) => create(server, `${apps}/deployments`, workload('web', { replicas: 3 })),
    reached: ['Deployment default/web .status.availableReplicas: 3', 'Event of Deployment Normal ScalingReplicaSet'],
  },
  change(
    'a Deployment rolls on',
    `${apps}/deployments/web`,
    {
      metadata: { annotations: { 'kubernetes.io/change-cause': 'a new image' } },
      spec: { template: template('web', 'two') },
    },
    ['annotations.deployment.kubernetes.io/revision: "2"', 'web-HASH2 .status.availableReplicas: 3'],
  ),
  change('a Deployment rolls back', `${apps}/deployments/web`, { spec: { template: template('web', 'one') } }, [
    'web-HASH3 .metadata.annotations.deployment.kubernetes.io/revision-history: "1"',
    'web-HASH3 .status.availableReplicas: 3',
  ]),
  change(
    'a paused Deployment does not roll',
    `${apps}/deployments/web`,
    { spec: { paused: true, template: template('web', 'three') } },
    ['Deployment default/web .status.conditions[Progressing].reason: "DeploymentPaused"'],
  ),
  change(
    'it goes on, grows and forgets its history',
    `${apps}/deployments/web`,
    { spec: { paused: false, replicas: 5, minReadySeconds: 1, revisionHistoryLimit: 0 } },
    ['web-HASH4 .status.availableReplicas: 5', 'Deployment default/web .status.availableReplicas: 5'],
  ),
  {
    title: 'a Deployment that recreates and has no node misses its deadline',
    act: (server) => {
      const spec = { replicas: 2, strategy: { type: 'Recreate' }, progressDeadlineSeconds: 3 }
      return create(server, `${apps}/deployments`, workload('stuck', spec, { nodeSelector: { no: 'where' } }))
    },
    reached: ['Deployment default/stuck .status.conditions[Progressing].reason: "ProgressDeadlineExceeded"'],
  },
]

const otherWorkloadSteps: readonly Step[] = [
  {
    title: 'a StatefulSet comes up',
    act: (server) =>
      create(server, `${apps}/statefulsets`, workload('db', { replicas: 3, serviceName: 'db' }, on('n1'))),
    reached: ['StatefulSet default/db .status.availableReplicas: 3'],
  },
  change(
    'a StatefulSet rolls down to its partition',
    `${apps}/statefulsets/db`,
    { spec: { template: template('db', 'two', on('n1')), updateStrategy: { rollingUpdate: { partition: 1 } } } },
    ['StatefulSet default/db .status.updatedReplicas: 2', 'StatefulSet default/db .status.readyReplicas: 3'],
  ),
  change('a StatefulSet shrinks', `${apps}/statefulsets/db`, { spec: { replicas: 1 } }, [
    'StatefulSet default/db .status.replicas: 1',
  ]),
  {
    title: 'a DaemonSet comes to every node',
    act: (server) => create(server, `${apps}/daemonsets`, workload('log', {}, { hostNetwork: true })),
    reached: ['DaemonSet default/log .status.numberAvailable: 3'],
  },
  change('a DaemonSet rolls', `${apps}/daemonsets/log`, { spec: { template: template('log', 'two') } }, [
    'DaemonSet default/log .status.updatedNumberScheduled: 3',
  ]),
  {
    title: 'a ReplicaSet adopts what matches',
    act: async (server) => {
      await makePod(server, 'orphan', { app: 'few', ip: '10.244.9.9' })
      await create(server, `${apps}/replicasets`, workload('few', { replicas: 2 }, on('n2')))
    },
    reached: ['ReplicaSet default/few .status.availableReplicas: 2'],
  },
  change(
    'a ReplicaSet lets go what matches no longer',
    `${core}/pods/orphan`,
    { metadata: { labels: { app: 'other' } } },
    ['Pod default/orphan .metadata.labels.app: "other"', 'ReplicaSet default/few .status.availableReplicas: 2'],
  ),
]

const endpointSteps: readonly Step[] = [
  {
    title: 'Services become Endpoints and slices, hand-written Endpoints are mirrored',
    act: async (server) => {
      await makePod(server, 'p1', { app: 'shop', ip: '10.244.1.1' })
      await makePod(server, 'p2', { app: 'shop', ip: '10.244.1.2', ready: 'False' })
      await makePod(server, 'p3', { app: 'shop', ip: '10.244.1.3', spec: { hostname: 'h', subdomain: 'shop' } })
      await makePod(server, 'done', { app: 'shop', ip: '10.244.1.8', phase: 'Succeeded' })
      const named = { name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }
      const selector = { app: 'shop' }
      const labels = { labels: { of: 'service' }, annotations: { of: 'service' } }
      await makeService(
        server,
        'shop',
        { clusterIP: '10.96.0.20', selector, ports: [named, { name: 'x', port: 81 }] },
        labels,
      )
      await makeService(server, 'bare', { clusterIP: 'None', selector, publishNotReadyAddresses: true })
      const near = { trafficDistribution: 'PreferClose', ports: [{ port: 80 }] }
      await makeService(server, 'near', { clusterIP: '10.96.0.21', selector, ...near })
      await makeService(server, 'none', { clusterIP: '10.96.0.22', selector: { app: 'no' }, ports: [{ port: 80 }] })
      await makeService(server, 'hand', { clusterIP: '10.96.0.23', ports: [{ name: 'p', port: 80 }] })
      const ports = [{ name: 'p', port: 8080 }]
      const addresses = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2', hostname: 'two' }]
      await create(server, `${core}/endpoints`, {
        metadata: { name: 'hand', labels: { of: 'endpoints' }, annotations: { of: 'endpoints' } },
        subsets: [
          { addresses, notReadyAddresses: [{ ip: '192.0.2.3' }], ports },
          { addresses: [{ ip: '2001:db8::1' }], ports },
        ],
      })
    },
    reached: ['EndpointSlice default/near-#', 'EndpointSlice default/hand-#', 'Endpoints default/none'],
  },
  {
    title: 'Endpoints and slices follow pods, Services and Endpoints',
    act: async (server) => {
      await merge(server, `${core}/pods/p1/status`, { status: { conditions: [{ type: 'Ready', status: 'False' }] } })
      await remove(server, `${core}/pods/p3`)
      await merge(server, `${core}/services/near`, { spec: { trafficDistribution: 'PreferSameNode' } })
      await remove(server, `${core}/services/none`)
      const subsets = [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ name: 'p', port: 8080 }] }]
      await merge(server, `${core}/endpoints/hand`, { subsets })
    },
    reached: ['["192.0.2.9"]', '.conditions.terminating: true'],
  },
]

const collectionSteps: readonly Step[] = [
  {
    title: 'what never had the owner it names is collected, what has one of an unknown kind stays',
    act: async (server) => {
      for (const owner of ['background', 'foreground', 'orphan'])
        await makeMap(server, `of-${owner}`, { name: owner, uid: await makeMap(server, owner) })
      await makeMap(server, 'lost', { name: 'absent', uid: '00000000-0000-0000-0000-000000000001' })
      const unknown = { apiVersion: 'x.example/v1', kind: 'X', name: 'x', uid: '00000000-0000-0000-0000-000000000003' }
      await makeMap(server, 'unknown', undefined, { ownerReferences: [unknown] })
      const { metadata } = await send(server, 'GET', `${core}/configmaps/foreground`)
      await makeMap(server, 'held', { name: 'foreground', uid: metadata.uid }, { finalizers: ['example.com/wait'] })
    },
    reached: ['ConfigMap default/unknown'],
    gone: ['ConfigMap default/lost'],
  },
  {
    title: 'owners are deleted in the background, in the foreground, and without their dependents',
    act: async (server) => {
      await remove(server, `${core}/configmaps/background?propagationPolicy=Background`)
      await remove(server, `${core}/configmaps/foreground?propagationPolicy=Foreground`)
      await remove(server, `${core}/configmaps/orphan?propagationPolicy=Orphan`)
      await remove(server, `${apps}/deployments/web?propagationPolicy=Foreground`)
      await remove(server, `${apps}/deployments/stuck?propagationPolicy=Background`)
      await remove(server, `${apps}/statefulsets/db?propagationPolicy=Orphan`)
      await remove(server, `${apps}/daemonsets/log`)
    },
    reached: [
      'ConfigMap default/foreground .metadata.finalizers: ["foregroundDeletion"]',
      'ConfigMap default/of-orphan',
    ],
    gone: ['Deployment default/', 'DaemonSet default/', 'ConfigMap default/of-background'],
  },
  {
    title: 'a namespace that is deleted says what keeps it',
    act: async (server) => {
      await create(server, '/api/v1/namespaces', { metadata: { name: 'shop' } })
      const maps = '/api/v1/namespaces/shop/configmaps'
      await create(server, maps, { metadata: { name: 'held', finalizers: ['example.com/wait'] } })
      await create(server, maps, { metadata: { name: 'free' } })
      await remove(server, '/api/v1/namespaces/shop')
    },
    reached: ['Namespace /shop .status.conditions[NamespaceFinalizersRemaining].status: "True"'],
  },
  {
    title: 'it goes when nothing keeps it any more',
    act: (server) => merge(server, '/api/v1/namespaces/shop/configmaps/held', { metadata: { finalizers: null } }),
    reached: [],
    gone: ['Namespace /shop', 'ConfigMap shop/'],
  },
  {
    title: 'a ServiceCIDR whose addresses are in use is not deleted',
    act: async (server) => {
      await create(server, cidrs, { metadata: { name: 'more' }, spec: { cidrs: ['10.200.0.0/24'] } })
      await makeService(server, 'in-more', { clusterIP: '10.200.0.5', ports: [{ port: 80 }] })
      // What is deleted before a controller protects it goes at once in Kubernetes, and is refused here.
      const finalizersOf = async () => (await send(server, 'GET', `${cidrs}/more`)).metadata.finalizers ?? []
      await untilAsync('the range is protected', async () => (await finalizersOf()).length > 0, 30_000)
      await remove(server, `${cidrs}/more`)
    },
    reached: ['ServiceCIDR /more .status.conditions[Ready].status: "False"'],
  },
  {
    title: 'and goes when they are not',
    act: (server) => remove(server, `${core}/services/in-more`),
    reached: [],
    gone: ['ServiceCIDR /more'],
  },
]

const nodeSteps: readonly Step[] = [
  change('a node is closed', '/api/v1/nodes/n3', { spec: { unschedulable: true } }, [
    'Node /n3 .spec.taints[node.kubernetes.io/unschedulable].effect: "NoSchedule"',
  ]),
  {
    title: 'a node is short of disk and has no network',
    act: async (server) => {
      await tell(server, 'n3', 'DiskPressure', 'True')
      await tell(server, 'n3', 'NetworkUnavailable', 'True')
    },
    reached: ['Node /n3 .spec.taints[node.kubernetes.io/network-unavailable].effect: "NoSchedule"'],
  },
  {
    title: 'a node says that it is not ready',
    act: (server) => tell(server, 'n3', 'Ready', 'False'),
    reached: ['Node /n3 .spec.taints[node.kubernetes.io/not-ready].effect: "NoExecute"'],
  },
  {
    title: 'a node goes silent',
    act: async () => {},
    silences: 'n2',
    reached: [
      'Node /n2 .status.conditions[Ready].status: "Unknown"',
      'Node /n2 .spec.taints[node.kubernetes.io/unreachable].effect: "NoExecute"',
    ],
  },
  {
    title: 'a node is deleted',
    act: async (server) => {
      await remove(server, `${apps}/replicasets/few`)
      await remove(server, '/api/v1/nodes/n2')
    },
    reached: ['Event of Node Normal RemovingNode'],
  },
]

export const nodeNames = ['n1', 'n2', 'n3']

/** A node's sign of life. */
export async function renewLease(server: TestServer, node: string): Promise<void> {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
  const renewTime = formatMicroTime(new Date())
  const spec = { holderIdentity: node, leaseDurationSeconds: 40, renewTime }
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { code } = await server.call('PATCH', `${leases}/${node}`, { body: { spec }, headers })
  if (code === 404) await create(server, leases, { metadata: { name: node }, spec })
}

/** Nodes come first; the steps go on with what the ones before left. */
export const steps: readonly Step[] = [
  {
    title: 'nodes get their parts of the pod network',
    act: async (server) => {
      for (const name of nodeNames) await makeNode(server, name)
    },
    reached: ['Node /n3 .spec.podCIDR: "10.244.#.0/24"'],
  },
  ...deploymentSteps,
  ...otherWorkloadSteps,
  ...endpointSteps,
  ...collectionSteps,
  ...nodeSteps,
]
