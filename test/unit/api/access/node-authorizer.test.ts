import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { NodeAuthorizer } from '../../../../src/api/access/node-authorizer.ts'
import { openMemoryStore, type Store } from '../../../../src/api/store/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parseFieldSelector } from '../../../../src/model/selector.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

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
  ...['', '/approval', '/status'].map((part) => ({
    group: groups.certificates,
    resource: `certificatesigningrequests${part}`,
  })),
  { group: groups.certificates, resource: 'signers' },
  { group: groups.node, resource: 'runtimeclasses' },
  ...['persistentvolumeclaims', 'persistentvolumeclaims/status', 'persistentvolumes', 'persistentvolumes/status'].map(
    (resource) => ({ group: '', resource }),
  ),
  ...['csidrivers', 'storageclasses', 'volumeattachments', 'volumeattachments/status'].map((resource) => ({
    group: groups.storage,
    resource,
  })),
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
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'e', ephemeral: { volumeClaimTemplate: { spec: {} } } },
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
    const put = (key: string, object: object) =>
      ({ kind: 'put', key: `/registry/${key}`, value: JSON.stringify(object), expectedRevision: 0 }) as const
    const volumeOf = (name: string) => ({
      spec: {
        claimRef: { namespace: 'default', name },
        csi: { nodeStageSecretRef: { namespace: 'storage', name: `key-${name}` } },
      },
    })
    await store.commit([
      put('persistentvolumes/disk', volumeOf('data')),
      put('persistentvolumes/foreign', volumeOf('elsewhere')),
      put('persistentvolumes/free', { spec: { csi: {} } }),
      put('volumeattachments/here', { spec: { nodeName: 'node-1' } }),
      put('volumeattachments/there', { spec: { nodeName: 'node-2' } }),
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
    ...['create', 'get', 'list', 'watch'].map((verb) => `${verb} certificates.k8s.io/certificatesigningrequests`),
    ...['get', 'list', 'watch'].flatMap((verb) => [
      `${verb} node.k8s.io/runtimeclasses`,
      `${verb} storage.k8s.io/csidrivers`,
    ]),
    'create /events',
    'patch /events',
    'create events.k8s.io/events',
    'patch events.k8s.io/events',
    'create /nodes',
    'create authentication.k8s.io/tokenreviews',
    ...['get', 'patch', 'update'].map((verb) => `${verb} networking.k8s.io/ingresses/status`),
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

  test('lets it read the claims of its pods, what is bound to them, and what is attached to it', () => {
    const claim = [
      'get /persistentvolumeclaims',
      ...['get', 'patch', 'update'].map((verb) => `${verb} /persistentvolumeclaims/status`),
    ]
    assert.deepEqual(own('default', 'data'), claim)
    assert.deepEqual(own('default', 'web-e'), claim, 'the claim of an ephemeral volume')
    assert.deepEqual(own('default', 'elsewhere'), [])
    assert.deepEqual(own('', 'disk'), ['get /persistentvolumes'])
    for (const name of ['foreign', 'free', 'there']) assert.deepEqual(own('', name), [], name)
    assert.deepEqual(own('', 'here'), ['get storage.k8s.io/volumeattachments'])
    assert.deepEqual(own('storage', 'key-data'), ['get /secrets', 'list /secrets', 'watch /secrets'])
    assert.deepEqual(own('storage', 'key-elsewhere'), [])
  })

  test('gives an object that is not its own exactly what every node may do', () => {
    assert.deepEqual(own('default', 'anything'), [])
    assert.deepEqual(own('', 'node-2'), [])
    assert.deepEqual(own('kube-node-lease', 'node-2'), ['create coordination.k8s.io/leases'])
  })

  /** `node-restriction.ts` says which of these. */
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
      'create /pods/eviction',
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

  test('gives the Secrets that an Ingress of their namespace names for TLS, as long as one does', async () => {
    const readSecret = ['get /secrets', 'list /secrets', 'watch /secrets']
    const put = (name: string, revision: number, ...secrets: readonly string[]) =>
      store.commit([
        {
          kind: 'put',
          key: `/registry/ingresses/shop/${name}`,
          value: JSON.stringify({
            kind: 'Ingress',
            apiVersion: 'networking.k8s.io/v1',
            metadata: { name, namespace: 'shop' },
            spec: { tls: [...secrets.map((secretName) => ({ secretName })), { hosts: ['a.example.com'] }] },
          }),
          expectedRevision: revision,
        },
      ])
    const revisionOf = async (name: string) => (await store.get(`/registry/ingresses/shop/${name}`))?.revision ?? 0
    await put('one', 0, 'cert', 'both', 'both')
    await put('two', 0, 'both')
    assert.deepEqual(own('shop', 'cert'), readSecret)
    assert.deepEqual(own('shop', 'both'), readSecret)
    for (const [namespace, name] of [
      ['default', 'cert'],
      ['shop', 'other'],
      ['shop', ''],
      ['', 'cert'],
    ] as const)
      assert.deepEqual(own(namespace, name), [], `${namespace}/${name}`)
    await put('one', await revisionOf('one'), 'new')
    assert.deepEqual([own('shop', 'cert'), own('shop', 'new'), own('shop', 'both')], [[], readSecret, readSecret])
    const key = '/registry/ingresses/shop/two'
    await store.commit([{ kind: 'delete', key, expectedRevision: await revisionOf('two') }])
    assert.deepEqual(own('shop', 'both'), [])
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

test('a mirror pod gives its node nothing: the node may have made it', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const dialect = createDialect('kubernetes')
  const authorizer = new NodeAuthorizer(store, dialect)
  await authorizer.start()
  const put = (name: string, annotations: object) =>
    store.commit([
      {
        kind: 'put',
        key: `/registry/pods/default/${name}`,
        value: JSON.stringify({ ...pod, metadata: { name, namespace: 'default', annotations } }),
        expectedRevision: 0,
      },
    ])
  const may = (verb: string, resource: string, name: string) =>
    authorizer.allows(
      { name: 'system:node:node-1', groups: ['system:nodes'] },
      { kind: 'resource', verb, group: '', resource, namespace: 'default', name, fieldSelector: [] },
    )
  await put('mirror', { [dialect.annotations.mirrorPod]: '' })
  assert.equal(may('get', 'pods', 'mirror'), true)
  assert.equal(may('get', 'secrets', 'tls'), false)
  assert.equal(may('create', 'serviceaccounts/token', 'runner'), false)
  await put('real', {})
  assert.equal(may('get', 'secrets', 'tls'), true)
  authorizer.stop()
})
