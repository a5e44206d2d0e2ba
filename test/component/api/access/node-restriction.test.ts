import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertNodeMay } from '../../../../src/api/access/node-restriction.ts'
import type { ApiDocument } from '../../../../src/api/document.ts'
import { pods } from '../../../../src/api/resources/pods.ts'
import { StatusError } from '../../../../src/api/status.ts'
import { createDialect, type DialectName } from '../../../../src/model/dialect.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const nodes = '/api/v1/nodes'
const system = '/api/v1/namespaces/kube-system'
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const csiNodes = '/apis/storage.k8s.io/v1/csinodes'
const dialect = createDialect('kubernetes')
const mirror = { [dialect.annotations.mirrorPod]: 'static' }
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'

type Row = readonly [what: string, method: string, path: string, body: unknown, code: number, message?: RegExp]

describe('what a node may write', () => {
  let server: TestServer
  let tls: { readonly cert: string; readonly key: string }
  let uid = ''

  before(async () => {
    server = await startTestServer()
    const { certPem, keyPem } = await server.authority.issue('system:node:node-1', 'system:nodes')
    tls = { cert: certPem, key: keyPem }
    const body = { metadata: { name: 'node-1', labels: { role: 'db' } }, spec: { taints: [taint('first')] } }
    const made = await asNode('POST', nodes, body)
    assert.equal(made.code, 201, made.text)
    uid = made.body.metadata.uid
    await server.call('POST', nodes, { body: { metadata: { name: 'node-2' } } })
    for (const [name, nodeName] of [
      ['mine', 'node-1'],
      ['theirs', 'node-2'],
    ] as const) {
      const spec = { nodeName, containers: [{ name: 'c', image: 'i' }] }
      const reply = await server.call('POST', `${system}/pods`, { body: { metadata: { name }, spec } })
      assert.equal(reply.code, 201, reply.text)
    }
  })
  after(() => server.stop())

  const asNode = (method: string, path: string, body?: unknown, contentType?: string) =>
    server.call(method, path, {
      token: null,
      tls,
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { headers: { 'content-type': contentType } }),
    })
  const check = async (rows: readonly Row[], contentType?: string) => {
    for (const [what, method, path, body, code, message] of rows) {
      const reply = await asNode(method, path, body, method === 'PATCH' ? (contentType ?? merge) : undefined)
      assert.equal(reply.code, code, `${what}: ${reply.text}`)
      if (message !== undefined) assert.match(reply.body.message, message, what)
    }
  }
  const taint = (key: string) => ({ key, effect: 'NoSchedule' })
  const owner = (changes: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'node-1',
    uid,
    controller: true,
    ...changes,
  })
  const mirrorPod = (spec: object = {}, metadata: object = {}) => ({
    metadata: { generateName: 'm-', annotations: mirror, ownerReferences: [owner()], ...metadata },
    spec: { nodeName: 'node-1', containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const container = (fields: object) => ({ containers: [{ name: 'c', image: 'i', ...fields }] })
  const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })
  const projected = (source: object) => volume({ projected: { sources: [source] } })

  test('its own Node and no other, without what steers pods to it', async () => {
    const own = `${nodes}/node-1`
    const labels = (changes: object) => ({ metadata: { labels: changes } })
    await check([
      ['another Node', 'POST', nodes, { metadata: { name: 'node-3' } }, 403, /not allowed to modify node "node-3"/],
      ['the label of another Node', 'PATCH', `${nodes}/node-2`, labels({ a: 'b' }), 403],
      ['the status of another Node', 'PATCH', `${nodes}/node-2/status`, { status: {} }, 403],
      ['the end of its Node', 'DELETE', own, undefined, 403],
      ['the end of all Nodes', 'DELETE', nodes, undefined, 403],
      ['a label of no domain', 'PATCH', own, labels({ disk: 'ssd', role: 'web' }), 200],
      ['a label of another domain', 'PATCH', own, labels({ 'example.com/disk': 'ssd' }), 200],
      [
        'well-known labels',
        'PATCH',
        own,
        labels({ [dialect.labels.hostname]: 'node-1', [dialect.labels.zone]: 'a' }),
        200,
      ],
      [
        'a label of its agent',
        'PATCH',
        own,
        labels({ 'pool.kubelet.kubernetes.io/x': '1', 'node.kubernetes.io/y': '2' }),
        200,
      ],
      [
        'a role',
        'PATCH',
        own,
        labels({ 'node-role.kubernetes.io/control-plane': '' }),
        403,
        /modify labels: node-role/,
      ],
      ['an isolation label', 'PATCH', own, labels({ 'node-restriction.kubernetes.io/x': '' }), 403],
      ['one below it', 'PATCH', own, labels({ 'fips.node-restriction.kubernetes.io/x': '' }), 403],
      ['an unknown label of Kubernetes', 'PATCH', own, labels({ 'sub.k8s.io/x': '' }), 403],
      ['a role in the status', 'PATCH', `${own}/status`, { ...labels({ 'kubernetes.io/role': 'x' }), status: {} }, 403],
      ['another taint', 'PATCH', own, { spec: { taints: [taint('second')] } }, 403, /modify spec\.taints/],
      ['no taints', 'PATCH', own, { spec: { taints: null } }, 403, /modify spec\.taints/],
      ['owners', 'PATCH', own, { metadata: { ownerReferences: [owner()] } }, 403, /modify metadata\.ownerReferences/],
      ['pod addresses', 'PATCH', own, { spec: { podCIDR: '10.244.9.0/24' } }, 403, /modify spec\.podCIDR/],
      ['a list of pod addresses', 'PATCH', own, { spec: { podCIDRs: ['10.244.9.0/24'] } }, 403, /modify spec\.podCIDR/],
      ['a configuration source', 'PATCH', own, { spec: { configSource: { configMap: {} } } }, 403, /configSource/],
      ['an annotation', 'PATCH', own, { metadata: { annotations: { a: 'b' } } }, 200],
      ['its status', 'PATCH', `${own}/status`, { status: { phase: 'Running' } }, 200],
    ])
    const { body } = await server.call('GET', own)
    assert.equal(body.metadata.labels['kubernetes.io/role'], undefined)
    assert.deepEqual(
      body.spec.taints.map(({ key }: { key: string }) => key),
      ['first'],
    )
    body.spec.taints = []
    await check([['another form of the same', 'PUT', own, body, 403, /modify spec\.taints/]])
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1', labels: { 'kubernetes.io/x': '' } } }
    await check(
      [['an apply', 'PATCH', `${own}?fieldManager=n`, applied, 403, /modify labels: kubernetes\.io\/x/]],
      apply,
    )
    const operations = [{ op: 'add', path: '/metadata/labels/k8s.io~1x', value: 'y' }]
    await check([['a JSON patch', 'PATCH', own, operations, 403, /modify labels/]], 'application/json-patch+json')
  })

  test('at its registration neither labels of others nor pod addresses', async () => {
    const { certPem: cert, keyPem: key } = await server.authority.issue('system:node:new', 'system:nodes')
    const register = async (changes: object) => {
      const body = { metadata: { name: 'new', ...changes }, ...('spec' in changes && { spec: changes.spec }) }
      return (await server.call('POST', nodes, { token: null, tls: { cert, key }, body })).code
    }
    assert.equal(await register({ labels: { 'node-role.kubernetes.io/master': '' } }), 403)
    assert.equal(await register({ labels: { 'node-restriction.kubernetes.io/a': '' } }), 403)
    assert.equal(await register({ spec: { podCIDR: '10.244.3.0/24' } }), 403)
    assert.equal(await register({ spec: { podCIDRs: ['10.244.3.0/24'] } }), 403)
    assert.equal(await register({ spec: { configSource: { configMap: {} } } }), 403)
    assert.equal(await register({ labels: { 'kubernetes.io/arch': 'amd64' }, spec: { taints: [taint('x')] } }), 201)
  })

  test('mirror pods that refer to nothing, owned by its Node', async () => {
    const path = `${system}/pods`
    const env = (source: object) => container({ env: [{ name: 'A', valueFrom: source }] })
    const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const refused: readonly (readonly [string, object, RegExp])[] = [
      ['without the annotation', mirrorPod({}, { annotations: {} }), /can only create mirror pods/],
      ['of another node', mirrorPod({ nodeName: 'node-2' }), /spec\.nodeName set to itself/],
      ['an account', mirrorPod({ serviceAccountName: 'admin' }), /may not reference service accounts/],
      ['an account by its old field', mirrorPod({ serviceAccount: 'admin' }), /reference service accounts/],
      ['a pull secret', mirrorPod({ imagePullSecrets: [{ name: 's' }] }), /may not reference secrets/],
      ['a secret volume', mirrorPod(volume({ secret: { secretName: 's' } })), /may not reference secrets/],
      ['a secret variable', mirrorPod(env({ secretKeyRef: { name: 's', key: 'k' } })), /secrets/],
      ['a config variable', mirrorPod(env({ configMapKeyRef: { name: 's', key: 'k' } })), /configmaps/],
      ['variables of a secret', mirrorPod(container({ envFrom: [{ secretRef: { name: 's' } }] })), /secrets/],
      [
        'an init container',
        mirrorPod({ initContainers: [{ name: 'i', image: 'i', envFrom: [{ configMapRef: { name: 'c' } }] }] }),
        /configmaps/,
      ],
      ['a config volume', mirrorPod(volume({ configMap: { name: 'c' } })), /configmaps/],
      ['a claim', mirrorPod(volume({ persistentVolumeClaim: { claimName: 'c' } })), /reference persistentvolumeclaims/],
      [
        'an ephemeral claim',
        mirrorPod(volume({ ephemeral: { volumeClaimTemplate: { spec: claimSpec } } })),
        /volumes of ephemeral/,
      ],
      ['a CSI driver', mirrorPod(volume({ csi: { driver: 'd' } })), /volumes of csi/],
      ['endpoints', mirrorPod(volume({ glusterfs: { endpoints: 'e', path: 'p' } })), /volumes of glusterfs/],
      ['a projected token', mirrorPod(projected({ serviceAccountToken: { path: 't' } })), /ServiceAccountToken/],
      ['a projected secret', mirrorPod(projected({ secret: { name: 's' } })), /secrets/],
      ['a trust bundle', mirrorPod(projected({ clusterTrustBundle: { path: 't', name: 'x' } })), /clusterTrustBundle/],
      ['a resource claim', mirrorPod({ resourceClaims: [{ name: 'r', resourceClaimName: 'x' }] }), /resourceclaims/],
      ['no owner', mirrorPod({}, { ownerReferences: [] }), /single owner reference set to itself/],
      [
        'two owners',
        mirrorPod({}, { ownerReferences: [owner(), owner({ uid: 'x', controller: false })] }),
        /single owner reference/,
      ],
      ['another owner', mirrorPod({}, { ownerReferences: [owner({ name: 'node-2' })] }), /set to itself/],
      ['an owner of another kind', mirrorPod({}, { ownerReferences: [owner({ kind: 'Pod' })] }), /set to itself/],
      [
        'an owner that does not control',
        mirrorPod({}, { ownerReferences: [owner({ controller: false })] }),
        /controller/,
      ],
      ['an owner it holds', mirrorPod({}, { ownerReferences: [owner({ blockOwnerDeletion: true })] }), /blockOwner/],
      ['an owner of another uid', mirrorPod({}, { ownerReferences: [owner({ uid: 'x' })] }), /UID mismatch/],
    ]
    await check(refused.map(([what, body, message]) => [what, 'POST', path, body, 403, message] as const))
    const plain = mirrorPod({ ...volume({ hostPath: { path: '/etc' } }), hostNetwork: true }, { name: 'static' })
    const downward = mirrorPod(projected({ downwardAPI: { items: [] } }))
    await check([
      ['a plain one', 'POST', path, plain, 201],
      ['a downward one', 'POST', path, downward, 201],
      ['one of another namespace', 'POST', '/api/v1/namespaces/default/pods', mirrorPod(), 403],
      ['its spec', 'PATCH', `${path}/static`, { spec: { activeDeadlineSeconds: 1 } }, 403],
      ['its annotation', 'PATCH', `${path}/static/status`, { metadata: { annotations: null }, status: {} }, 422],
    ])
    const { body } = await server.call('GET', `${path}/static`)
    assert.equal(body.metadata.annotations[dialect.annotations.mirrorPod], 'static')
  })

  test('the status and the end of its own pods', async () => {
    const path = `${system}/pods`
    const status = { status: { phase: 'Running' } }
    await check([
      ['its status', 'PATCH', `${path}/mine/status`, status, 200],
      ['labels by the status', 'PATCH', `${path}/mine/status`, { metadata: { labels: { a: 'b' } }, ...status }, 403],
      ['another status', 'PATCH', `${path}/theirs/status`, status, 403],
      ['a claim', 'PATCH', `${path}/mine/status`, { status: { resourceClaimStatuses: [{ name: 'r' }] } }, 403],
      ['labels', 'PATCH', `${path}/mine`, { metadata: { labels: { app: 'x' } } }, 403],
      ['another eviction', 'POST', `${path}/theirs/eviction`, { metadata: { name: 'theirs' } }, 403],
      ['another binding', 'POST', `${path}/mine/binding`, { target: { name: 'node-1' } }, 403],
      ['another end', 'DELETE', `${path}/theirs`, undefined, 403],
      ['all ends', 'DELETE', `${path}?fieldSelector=spec.nodeName=node-1`, undefined, 403],
      ['its eviction', 'POST', `${path}/mine/eviction`, { metadata: { name: 'mine' } }, 201],
      ['its end', 'DELETE', `${path}/mine?gracePeriodSeconds=0`, undefined, 200],
    ])
  })

  test('its own Lease, and the Service of the cluster DNS in its plain form', async () => {
    const services = `${system}/services`
    const service = (spec: object = {}, name = 'kube-dns') => ({
      metadata: { name },
      spec: {
        selector: { 'k8s-app': 'kube-dns' },
        ports: [{ name: 'dns', port: 53, targetPort: 53, protocol: 'UDP' }],
        ...spec,
      },
    })
    await check([
      ['its Lease', 'POST', leases, { metadata: { name: 'node-1' } }, 201],
      ['another Lease', 'POST', leases, { metadata: { name: 'node-2' } }, 403, /lease of its own name/],
      [
        'a Lease elsewhere',
        'POST',
        leases.replace('kube-node-lease', 'default'),
        { metadata: { name: 'node-1' } },
        403,
      ],
      ['another renewal', 'PATCH', `${leases}/node-2`, { spec: {} }, 403],
      ['another Service', 'POST', services, service({}, 'other'), 403, /only the Service kube-system\/kube-dns/],
      ['with external addresses', 'POST', services, service({ externalIPs: ['10.96.0.1'] }), 403],
      ['of another type', 'POST', services, service({ type: 'NodePort' }), 403],
      ['for other pods', 'POST', services, service({ selector: { app: 'web' } }), 403],
      ['for other ports', 'POST', services, service({ ports: [{ port: 443 }] }), 403],
      ['elsewhere', 'POST', '/api/v1/namespaces/default/services', service(), 403],
      ['in its plain form', 'POST', services, service(), 201],
    ])
  })

  test('its own CSINode', async () => {
    const owned = { name: 'node-1', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-1', uid }] }
    const drivers = { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n' }] } }
    await check([
      ['another one', 'POST', csiNodes, { metadata: { name: 'node-2' } }, 403, /CSINode of its own name/],
      ['its own', 'POST', csiNodes, { metadata: owned, spec: {} }, 201],
      ['its drivers', 'PATCH', `${csiNodes}/node-1`, drivers, 200],
      ['its reading', 'GET', `${csiNodes}/node-1`, undefined, 200],
      ['all of them', 'GET', csiNodes, undefined, 403],
      ['the reading of another', 'GET', `${csiNodes}/node-2`, undefined, 403],
      ['the drivers of another', 'PATCH', `${csiNodes}/node-2`, drivers, 403],
      ['the end of another', 'DELETE', `${csiNodes}/node-2`, undefined, 403],
      ['its end', 'DELETE', `${csiNodes}/node-1`, undefined, 200],
    ])
  })

  test('the status of Ingresses without their metadata, and the Secrets that they name', async () => {
    const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
    const secrets = '/api/v1/namespaces/default/secrets'
    const spec = { defaultBackend: { service: { name: 'web', port: { number: 80 } } }, tls: [{ secretName: 'cert' }] }
    await server.call('POST', ingresses, { body: { metadata: { name: 'in', labels: { a: 'b' } }, spec } })
    for (const name of ['cert', 'other']) await server.call('POST', secrets, { body: { metadata: { name } } })
    const status = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }
    const own = `${ingresses}/in`
    await check([
      ['its status', 'PATCH', `${own}/status`, status, 200],
      [
        'labels with it',
        'PATCH',
        `${own}/status`,
        { metadata: { labels: { a: 'c' } }, ...status },
        403,
        /labels through/,
      ],
      ['annotations', 'PATCH', `${own}/status`, { metadata: { annotations: { a: 'c' } } }, 403, /annotations through/],
      ['a finalizer', 'PATCH', `${own}/status`, { metadata: { finalizers: ['a.b/c'] } }, 403, /finalizers through/],
      [
        'an owner',
        'PATCH',
        `${own}/status`,
        { metadata: { ownerReferences: [owner()] } },
        403,
        /ownerReferences through/,
      ],
      ['its spec', 'PATCH', own, { spec: { ingressClassName: 'x' } }, 403],
      ['its end', 'DELETE', own, undefined, 403],
      ['the named Secret', 'GET', `${secrets}/cert`, undefined, 200],
      ['the named Secret in a list', 'GET', `${secrets}?fieldSelector=metadata.name%3Dcert`, undefined, 200],
      ['a change of it', 'PATCH', `${secrets}/cert`, { data: {} }, 403],
      ['another Secret', 'GET', `${secrets}/other`, undefined, 403],
      ['all Secrets', 'GET', secrets, undefined, 403],
      ['Secrets of its name elsewhere', 'GET', '/api/v1/namespaces/kube-system/secrets/cert', undefined, 403],
    ])
    await server.call('DELETE', own)
    await check([['a Secret that was named', 'GET', `${secrets}/cert`, undefined, 403]])
  })

  test('a role bound to all nodes gives a node no more of Nodes, pods and Leases than this', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    const body = {
      metadata: { name: 'nodes-are-admins' },
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: 'system:nodes' }],
    }
    assert.equal((await server.call('POST', rbac, { body })).code, 201)
    const plain = { metadata: { name: 'plain' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await check([
      ['a pod', 'POST', `${system}/pods`, plain, 403, /can only create mirror pods/],
      ['labels of its pod', 'PATCH', `${system}/pods/static`, { metadata: { labels: { app: 'x' } } }, 403],
      ['the end of another pod', 'DELETE', `${system}/pods/theirs`, undefined, 403],
      ['another Node', 'PATCH', `${nodes}/node-2`, { metadata: { labels: { a: 'b' } } }, 403],
      ['its taints', 'PATCH', `${nodes}/node-1`, { spec: { taints: [] } }, 403],
      [
        'a Lease elsewhere',
        'POST',
        leases.replace('kube-node-lease', 'default'),
        { metadata: { name: 'node-1' } },
        403,
      ],
    ])
    const { certPem: cert, keyPem: key } = await server.authority.issue('system:node:', 'system:nodes')
    const nameless = await server.call('POST', nodes, {
      token: null,
      tls: { cert, key },
      body: { metadata: { name: 'x' } },
    })
    assert.equal(nameless.code, 403)
    assert.equal((await server.call('DELETE', `${rbac}/nodes-are-admins`)).code, 200)
  })
})

test('the status of a pod takes no labels from its node', async () => {
  const document = (labels: Readonly<Record<string, string>>): ApiDocument => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', labels },
    spec: { nodeName: 'node-1' },
  })
  const target = { resource: pods(dialect), namespace: 'default', name: 'p', subresource: 'status' } as const
  const may = (next: ApiDocument) =>
    assertNodeMay(
      'node-1',
      { target, name: 'p', old: document({ app: 'a' }), next },
      { dialect, verb: 'patch', readNode: async () => undefined },
    )
  await may(document({ app: 'a' }))
  await assert.rejects(
    may(document({ app: 'b' })),
    (thrown) => thrown instanceof StatusError && thrown.code === 'Forbidden',
  )
})

for (const name of ['platform', 'kubernetes'] satisfies DialectName[])
  test(`a node of the dialect ${name} sets the labels of its agent and none that select`, async () => {
    await using server = await startTestServer({ dialect: name })
    const { labels, domain } = createDialect(name)
    const { certPem: cert, keyPem: key } = await server.authority.issue('system:node:n', 'system:nodes')
    const own = { [labels.hostname]: 'n', [labels.operatingSystem]: 'linux', [labels.architecture]: 'amd64' }
    const create = async (more: object) => {
      const body = { metadata: { name: 'n', labels: { ...own, ...more } } }
      return (await server.call('POST', nodes, { token: null, tls: { cert, key }, body })).code
    }
    assert.equal(await create({ 'kubernetes.io/x': '' }), 403)
    assert.equal(await create({ 'node-restriction.kubernetes.io/x': '' }), 403)
    assert.equal(await create({ [`node-restriction.${domain}/x`]: '' }), name === 'platform' ? 403 : 201)
    assert.equal(await create({}), name === 'platform' ? 201 : 409)
  })
