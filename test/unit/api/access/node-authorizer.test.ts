import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { NodeAuthorizer } from '../../../../src/api/access/node-authorizer.ts'
import { openMemoryStore, type Store } from '../../../../src/api/store/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parseFieldSelector } from '../../../../src/model/selector.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const groups = createDialect('kubernetes').groups
const kinds = [
  ...[
    'configmaps',
    'endpoints',
    'events',
    'namespaces',
    'namespaces/status',
    'nodes',
    'nodes/status',
    'pods',
    'pods/binding',
    'pods/eviction',
    'pods/status',
    'secrets',
    'serviceaccounts',
    'serviceaccounts/token',
    'services',
    'services/status',
  ].map((resource) => ({ group: '', resource })),
  { group: groups.events, resource: 'events' },
  { group: groups.discovery, resource: 'endpointslices' },
  ...['ingressclasses', 'ingresses', 'ingresses/status', 'ipaddresses', 'networkpolicies', 'servicecidrs'].map(
    (resource) => ({ group: groups.networking, resource }),
  ),
  { group: groups.coordination, resource: 'leases' },
  { group: groups.authentication, resource: 'tokenreviews' },
  { group: groups.authorization, resource: 'subjectaccessreviews' },
  { group: groups.authorization, resource: 'selfsubjectaccessreviews' },
  { group: groups.apiextensions, resource: 'customresourcedefinitions' },
  ...['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map((resource) => ({
    group: groups.rbac,
    resource,
  })),
  { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' },
  { group: 'example.com', resource: 'pods' },
]

const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    nodeName: 'node-1',
    serviceAccountName: 'runner',
    imagePullSecrets: [{ name: 'pull' }],
    volumes: [
      { name: 'a', secret: { secretName: 'tls' } },
      { name: 'b', configMap: { name: 'settings' } },
      { name: 'c', projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'ca' } }] } },
    ],
    containers: [
      {
        env: [
          { name: 'A', valueFrom: { secretKeyRef: { name: 'env-secret' } } },
          { name: 'B', valueFrom: { configMapKeyRef: { name: 'env-map' } } },
        ],
        envFrom: [{ secretRef: { name: 'from-secret' } }, { configMapRef: { name: 'from-map' } }],
      },
    ],
  },
}

describe('the node authorizer', () => {
  let store: Store
  let authorizer: NodeAuthorizer
  const node = { name: 'system:node:node-1', groups: ['system:nodes', 'system:authenticated'] }

  before(async () => {
    store = openMemoryStore({ log: silentLogger })
    authorizer = new NodeAuthorizer(store, createDialect('kubernetes'))
    await authorizer.start()
    const other = { ...pod, metadata: { name: 'other', namespace: 'default' }, spec: { nodeName: 'node-2' } }
    await store.commit([
      { kind: 'put', key: '/registry/pods/default/web', value: JSON.stringify(pod), expectedRevision: 0 },
      { kind: 'put', key: '/registry/pods/default/other', value: JSON.stringify(other), expectedRevision: 0 },
    ])
  })
  after(() => authorizer.stop())

  /** Every kind with every verb on an object: what is allowed, as `verb group/resource`. */
  function allowed(namespace: string, name: string, selector = ''): readonly string[] {
    const fieldSelector = parseFieldSelector(selector)
    return kinds.flatMap(({ group, resource }) =>
      verbs
        .filter((verb) =>
          authorizer.allows(node, { kind: 'resource', verb, group, resource, namespace, name, fieldSelector }),
        )
        .map((verb) => `${verb} ${group}/${resource}`),
    )
  }

  const forEveryNode = [
    'create /events',
    'patch /events',
    'create events.k8s.io/events',
    'patch events.k8s.io/events',
    'create /nodes',
    'create authentication.k8s.io/tokenreviews',
    'create authorization.k8s.io/subjectaccessreviews',
    ...[
      '/endpoints',
      '/namespaces',
      '/nodes',
      '/services',
      'discovery.k8s.io/endpointslices',
      'networking.k8s.io/ingressclasses',
      'networking.k8s.io/ingresses',
      'networking.k8s.io/networkpolicies',
      'networking.k8s.io/servicecidrs',
    ].flatMap((resource) => ['get', 'list', 'watch'].map((verb) => `${verb} ${resource}`)),
  ]

  /** Which of the matrix is allowed beside what every node may do about anything. */
  function own(namespace: string, name: string, selector?: string): readonly string[] {
    const found = allowed(namespace, name, selector)
    for (const each of forEveryNode) assert.ok(found.includes(each), `${each} is missing`)
    return found.filter((each) => !forEveryNode.includes(each)).toSorted()
  }

  test('gives an object that is not its own exactly what every node may do', () => {
    assert.deepEqual(own('default', 'anything'), [])
    assert.deepEqual(own('', 'node-2'), [])
    assert.deepEqual(own('kube-node-lease', 'node-2'), ['create coordination.k8s.io/leases'])
  })

  /** Which of these, `admission.ts` says. */
  const systemCreates = ['create /pods', 'create /services']

  test('lets each node read how DNS is configured', () => {
    const readConfigMap = ['get /configmaps', 'list /configmaps', 'watch /configmaps']
    assert.deepEqual(own('kube-system', 'coredns'), [...systemCreates, ...readConfigMap].toSorted())
    assert.deepEqual(own('kube-system', '', 'metadata.name=coredns'), [...systemCreates, ...readConfigMap].toSorted())
    assert.deepEqual(own('kube-system', '', 'metadata.name=other'), systemCreates)
    assert.deepEqual(own('default', 'coredns'), [])
  })

  test('adds its own Node, Lease and pods, and what those pods use', () => {
    const node1 = ['get /nodes/status', 'patch /nodes', 'patch /nodes/status', 'update /nodes', 'update /nodes/status']
    assert.deepEqual(own('', 'node-1'), node1)
    const lease = ['create', 'delete', 'get', 'patch', 'update'].map((verb) => `${verb} coordination.k8s.io/leases`)
    assert.deepEqual(
      own('kube-node-lease', 'node-1').filter((each) => !each.includes('/nodes')),
      lease,
    )
    assert.deepEqual(own('default', 'web'), [
      'delete /pods',
      'get /pods',
      'get /pods/status',
      'list /pods',
      'patch /pods/status',
      'update /pods/status',
      'watch /pods',
    ])
    assert.deepEqual(own('default', 'other'), [])
    assert.deepEqual(own('', '', 'spec.nodeName=node-1'), ['get /pods', 'list /pods', 'watch /pods'])
    assert.deepEqual(own('', '', 'spec.nodeName!=node-1'), [])
    for (const name of ['tls', 'projected', 'env-secret', 'from-secret', 'pull']) {
      assert.deepEqual(own('default', name), ['get /secrets', 'list /secrets', 'watch /secrets'], name)
      assert.deepEqual(own('kube-system', name), systemCreates, name)
    }
    for (const name of ['settings', 'ca', 'env-map', 'from-map']) {
      assert.deepEqual(own('default', name), ['get /configmaps', 'list /configmaps', 'watch /configmaps'], name)
    }
    assert.deepEqual(own('default', 'runner'), ['create /serviceaccounts/token'])
  })

  test('takes it away with the pod', async () => {
    const entry = await store.get('/registry/pods/default/web')
    await store.commit([{ kind: 'delete', key: '/registry/pods/default/web', expectedRevision: entry?.revision ?? 0 }])
    assert.deepEqual(own('default', 'web'), [])
    assert.deepEqual(own('default', 'tls'), [])
  })

  test('knows no node by its name alone', () => {
    for (const user of [
      { name: 'system:node:node-1', groups: ['system:authenticated'] },
      { name: 'node-1', groups: ['system:nodes'] },
      { name: 'system:node:', groups: ['system:nodes'] },
    ]) {
      const attributes = { verb: 'list', group: '', resource: 'services', namespace: '', name: '', fieldSelector: [] }
      assert.equal(authorizer.allows(user, { kind: 'resource', ...attributes }), false)
    }
  })
})

describe('a node over HTTPS', () => {
  let server: TestServer
  let tls: { readonly cert: string; readonly key: string }
  before(async () => {
    server = await startTestServer()
    const { certPem, keyPem } = await server.authority.issue('system:node:node-1', 'system:nodes')
    tls = { cert: certPem, key: keyPem }
  })
  after(() => server.stop())

  test('makes its own Node and no other, sets its status, and reads what makes the network', async () => {
    const call = async (method: string, path: string, body?: unknown) =>
      server.call(method, path, { token: null, tls, ...(body === undefined ? {} : { body }) })
    assert.equal((await call('POST', '/api/v1/nodes', { metadata: { name: 'node-1' } })).code, 201)
    const other = await call('POST', '/api/v1/nodes', { metadata: { name: 'node-2' } })
    assert.equal(other.code, 403)
    assert.equal(
      other.body.message,
      'nodes "node-2" is forbidden: node "node-1" may create only what bears its own name',
    )
    const { body: node } = await call('GET', '/api/v1/nodes/node-1')
    assert.equal((await call('PUT', '/api/v1/nodes/node-1/status', { ...node, status: { phase: 'x' } })).code, 200)
    const system = '/api/v1/namespaces/kube-system'
    const ports = [{ port: 53, protocol: 'UDP' }]
    assert.equal(
      (await call('POST', `${system}/services`, { metadata: { name: 'kube-dns' }, spec: { ports } })).code,
      201,
    )
    assert.equal((await call('POST', `${system}/services`, { metadata: { name: 'other' }, spec: { ports } })).code, 403)
    const pod = (nodeName: string, annotations: Readonly<Record<string, string>>) => ({
      metadata: { generateName: 'dns-', annotations },
      spec: { nodeName, containers: [{ name: 'dns', image: 'none' }] },
    })
    const mirror = { [createDialect('kubernetes').annotations.mirrorPod]: 'dns' }
    assert.equal((await call('POST', `${system}/pods`, pod('node-1', mirror))).code, 201)
    assert.equal((await call('POST', `${system}/pods`, pod('node-2', mirror))).code, 403)
    assert.equal((await call('POST', `${system}/pods`, pod('node-1', {}))).code, 403)
    assert.equal((await call('POST', '/api/v1/namespaces/default/pods', pod('node-1', mirror))).code, 403)
    assert.equal((await call('DELETE', '/api/v1/nodes/node-1')).code, 403)
    assert.equal((await call('GET', '/api/v1/services')).code, 200)
    assert.equal((await call('GET', '/api/v1/configmaps')).code, 403)
    assert.equal((await call('GET', '/apis')).code, 200)
    assert.equal(
      (await call('GET', '/api/v1/pods')).body.message,
      'pods is forbidden: User "system:node:node-1" cannot list resource "pods" in API group "" at the cluster scope',
    )
  })
})
