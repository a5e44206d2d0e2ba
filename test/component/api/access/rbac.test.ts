import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { configMap, paths } from '../../../helpers/manifests.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const roles = `${rbac}/namespaces/default/roles`
const roleBindings = `${rbac}/namespaces/default/rolebindings`
const clusterRoles = `${rbac}/clusterroles`
const clusterRoleBindings = `${rbac}/clusterrolebindings`

/** Every user has the name of the token, and the groups of the table. */
const groupsOf: Readonly<Record<string, readonly string[]>> = {
  reader: ['readers'],
  outsider: [],
  viewer: [],
  editor: [],
  admin: [],
  granter: [],
  gatherer: [],
  labeler: [],
}
const tokens = Object.entries(groupsOf).map(([name, groups]) => ({
  token: name,
  user: { name, groups: [...groups, 'system:authenticated'] },
}))

const user = (name: string) => ({ kind: 'User', name })
const clusterRole = (name: string) => ({ kind: 'ClusterRole', name })
const podReader = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }

describe('roles and bindings', () => {
  let server: TestServer
  const create = async (path: string, body: Record<string, unknown>, token?: string) =>
    server.call('POST', path, { body, ...(token === undefined ? {} : { token }) })
  const codeOf = async (token: string, method: string, path: string, body?: unknown) =>
    (await server.call(method, path, { token, ...(body === undefined ? {} : { body }) })).code
  const bind = async (name: string, role: string, subject: object, path = roleBindings) => {
    const reply = await create(path, { metadata: { name }, roleRef: clusterRole(role), subjects: [subject] })
    assert.equal(reply.code, 201, reply.text)
  }

  before(async () => {
    server = await startTestServer({ tokens })
  })
  after(() => server.stop())

  test('a user without a role gets a message that names what it cannot do, in the words of Kubernetes', async () => {
    const table = [
      [
        'GET',
        `${paths.pods}/x`,
        'pods "x" is forbidden: User "outsider" cannot get resource "pods" in API group "" in the namespace "default"',
      ],
      [
        'PATCH',
        `${paths.pods}/x/status`,
        'pods "x" is forbidden: User "outsider" cannot patch resource "pods/status" in API group "" in the namespace "default"',
      ],
      [
        'GET',
        '/api/v1/nodes',
        'nodes is forbidden: User "outsider" cannot list resource "nodes" in API group "" at the cluster scope',
      ],
      [
        'GET',
        `${paths.endpointSlices}?watch=1`,
        'endpointslices.discovery.k8s.io is forbidden: User "outsider" cannot watch resource "endpointslices" in API group "discovery.k8s.io" in the namespace "default"',
      ],
      [
        'DELETE',
        paths.configMaps,
        'configmaps is forbidden: User "outsider" cannot deletecollection resource "configmaps" in API group "" in the namespace "default"',
      ],
      [
        'GET',
        '/api/v1/namespaces/default',
        'namespaces "default" is forbidden: User "outsider" cannot get resource "namespaces" in API group "" in the namespace "default"',
      ],
      ['GET', '/metrics', 'forbidden: User "outsider" cannot get path "/metrics"'],
    ] as const
    for (const [method, path, message] of table) {
      const reply = await server.call(method, path, { token: 'outsider' })
      assert.deepEqual([reply.code, reply.body.reason, reply.body.message], [403, 'Forbidden', message])
    }
    const { details } = (await server.call('GET', `${paths.pods}/x`, { token: 'outsider' })).body
    assert.deepEqual(details, { name: 'x', kind: 'pods' })
  })

  test('discovery, health and version are open to every identity', async () => {
    for (const path of ['/api', '/apis', '/api/v1', rbac, '/version', '/healthz', '/readyz']) {
      assert.equal(await codeOf('outsider', 'GET', path), 200, path)
    }
  })

  test('a role counts from the moment its binding is answered, and no longer than the binding', async () => {
    await create(roles, { metadata: { name: 'pod-reader' }, rules: [podReader] })
    const binding = {
      metadata: { name: 'readers' },
      roleRef: { kind: 'Role', name: 'pod-reader' },
      subjects: [{ kind: 'Group', name: 'readers' }],
    }
    assert.equal(await codeOf('reader', 'GET', paths.pods), 403)
    assert.equal((await create(roleBindings, binding)).code, 201)
    assert.equal(await codeOf('reader', 'GET', paths.pods), 200)
    assert.equal(await codeOf('reader', 'GET', `${paths.pods}/x`), 404)
    assert.equal(await codeOf('reader', 'GET', '/api/v1/pods'), 403, 'all namespaces')
    assert.equal(await codeOf('reader', 'GET', '/api/v1/namespaces/kube-system/pods'), 403, 'another namespace')
    assert.equal(await codeOf('reader', 'DELETE', `${paths.pods}/x`), 403, 'another verb')
    assert.equal(await codeOf('reader', 'GET', `${paths.pods}/x/status`), 403, 'a subresource is not the resource')
    await server.call('DELETE', `${roleBindings}/readers`)
    assert.equal(await codeOf('reader', 'GET', paths.pods), 403)
  })

  test('rules know names, subresources, every group and paths with an end left open', async () => {
    const rules = [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['*'] },
      { apiGroups: [''], resources: ['*/status'], verbs: ['get'] },
      { apiGroups: ['*'], resources: ['endpointslices'], verbs: ['list'] },
      { nonResourceURLs: ['/metrics*'], verbs: ['get'] },
    ]
    await create(clusterRoles, { metadata: { name: 'odd' }, rules })
    await bind('odd', 'odd', user('reader'), clusterRoleBindings)
    await create(paths.configMaps, configMap('mine'))
    const table = [
      ['GET', `${paths.configMaps}/mine`, 200],
      ['GET', `${paths.configMaps}/other`, 403],
      ['GET', paths.configMaps, 403],
      ['GET', `${paths.configMaps}?fieldSelector=metadata.name%3Dmine`, 200],
      // The list uses the first selector too.
      ['GET', `${paths.configMaps}?fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dother`, 200],
      ['GET', `${paths.configMaps}?fieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Dmine`, 403],
      ['GET', `${paths.configMaps}?fieldSelector=metadata.name%21%3Dmine`, 403],
      ['DELETE', `${paths.configMaps}?fieldSelector=metadata.name%3Dmine`, 403],
      ['POST', paths.configMaps, 403],
      ['GET', `${paths.pods}/x/status`, 404],
      ['GET', `${paths.pods}/x`, 403],
      ['GET', paths.endpointSlices, 200],
      ['GET', '/metrics', 200],
    ] as const
    for (const [method, path, code] of table)
      assert.equal(await codeOf('reader', method, path), code, `${method} ${path}`)
  })

  test('view, edit and admin gather what carries their label, also roles that come later', async () => {
    await bind('viewer', 'view', user('viewer'))
    await bind('editor', 'edit', user('editor'))
    await bind('admin', 'admin', user('admin'))
    const body = configMap('by-editor')
    assert.equal(await codeOf('viewer', 'GET', paths.services), 200)
    assert.equal(await codeOf('viewer', 'POST', paths.configMaps, body), 403)
    assert.equal(await codeOf('editor', 'POST', paths.configMaps, body), 201)
    assert.equal(await codeOf('editor', 'GET', roles), 403)
    assert.equal(await codeOf('admin', 'GET', roles), 200)
    assert.equal(await codeOf('admin', 'GET', '/api/v1/nodes'), 403)
    assert.equal(await codeOf('viewer', 'GET', roles), 403)
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['list'] }]
    await create(clusterRoles, { metadata: { name: 'see-roles', labels }, rules })
    assert.equal(await codeOf('viewer', 'GET', roles), 200)
    assert.equal(await codeOf('editor', 'GET', roles), 200, 'edit gathers view')
  })

  test('a role that gathers has what the roles that it gathers have gathered, also in a circle', async () => {
    const selector = (label: string) => ({ clusterRoleSelectors: [{ matchLabels: { [label]: 'yes' } }] })
    const gather = (name: string, from: string, as: string) =>
      create(clusterRoles, { metadata: { name, labels: { [as]: 'yes' } }, aggregationRule: selector(from), rules: [] })
    await gather('outer', 'to-outer', 'to-inner')
    await gather('inner', 'to-inner', 'to-outer')
    const nodes = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }]
    await bind('outer', 'outer', user('gatherer'), clusterRoleBindings)
    assert.equal(await codeOf('gatherer', 'GET', '/api/v1/nodes'), 403)
    await create(clusterRoles, { metadata: { name: 'see-nodes', labels: { 'to-inner': 'yes' } }, rules: nodes })
    assert.equal(await codeOf('gatherer', 'GET', '/api/v1/nodes'), 200)
  })

  test('the labels of a role grant it to roles that gather, so only a user who has its rules changes them', async () => {
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs: ['get', 'patch', 'update'] }]
    await create(clusterRoles, { metadata: { name: 'labeler' }, rules: [...rules, podReader] })
    await bind('labeler', 'labeler', user('labeler'), clusterRoleBindings)
    const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
    await create(clusterRoles, { metadata: { name: 'secret-reader' }, rules: [secrets] })
    await create(clusterRoles, { metadata: { name: 'small' }, rules: [podReader] })
    await create(roles, { metadata: { name: 'local' }, rules: [secrets] })
    await bind('secret-readers', 'secret-reader', user('outsider'))
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    const patch = async (path: string, metadata: object, more: object = {}) =>
      (await server.call('PATCH', path, {
        token: 'labeler',
        body: { metadata, ...more },
        headers: { 'content-type': 'application/merge-patch+json' },
      })) as { readonly code: number; readonly text: string }
    const table = [
      [`${clusterRoles}/secret-reader`, { labels }, 403],
      [`${clusterRoles}/secret-reader`, { annotations: { a: 'b' } }, 403],
      [`${clusterRoles}/secret-reader`, { finalizers: ['example.com/x'] }, 200],
      [`${clusterRoles}/secret-reader`, { finalizers: null }, 200],
      [`${clusterRoles}/small`, { labels }, 200],
      [`${clusterRoles}/cluster-admin`, { labels }, 403],
      [`${clusterRoles}/view`, { labels }, 403],
      [`${roles}/local`, { labels }, 403],
      [`${roleBindings}/secret-readers`, { labels }, 403],
    ] as const
    for (const [path, metadata, code] of table) {
      const reply = await patch(path, metadata)
      assert.equal(reply.code, code, `${path} ${JSON.stringify(metadata)}: ${reply.text}`)
    }
    const ungathered = await patch(`${clusterRoles}/view`, {}, { aggregationRule: null })
    assert.equal(ungathered.code, 403)
    assert.match(ungathered.text, /must have cluster-admin privileges to use the aggregationRule/)
  })

  test('no user grants more than it has, by a role or by a binding', async () => {
    const rules = [
      podReader,
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create', 'update'] },
    ]
    await create(clusterRoles, { metadata: { name: 'granter' }, rules })
    await bind('granter', 'granter', user('granter'))
    const role = (name: string, rule: object) => ({ metadata: { name }, rules: [rule] })
    const grant = (path: string, body: Record<string, unknown>) => create(path, body, 'granter')
    assert.equal((await grant(roles, role('less', { ...podReader, verbs: ['get'] }))).code, 201)
    const more = await grant(roles, role('more', { ...podReader, verbs: ['get', 'delete'] }))
    assert.equal(more.code, 403)
    assert.equal(
      more.body.message,
      'roles.rbac.authorization.k8s.io "more" is forbidden: user "granter" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get","delete"]}',
    )
    assert.equal((await grant(roles, role('all', { ...podReader, resources: ['*'] }))).code, 403)
    const binding = (name: string, roleRef: object) => ({ metadata: { name }, roleRef, subjects: [user('outsider')] })
    assert.equal((await grant(roleBindings, binding('ok', { kind: 'Role', name: 'less' }))).code, 201)
    assert.equal((await grant(roleBindings, binding('up', clusterRole('cluster-admin')))).code, 403)
    assert.equal((await grant(roleBindings, binding('none', clusterRole('not-there')))).code, 404)
    const body = { ...role('less', podReader), rules: [{ ...podReader, verbs: ['*'] }] }
    assert.equal(await codeOf('granter', 'PUT', `${roles}/less`, body), 403)
  })

  test('bad roles and bindings are refused by field', async () => {
    const table = [
      [roles, { rules: [{ resources: ['pods'], apiGroups: [''] }] }, /rules\[0\]\.verbs: Required value/],
      [
        roles,
        { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
        /namespaced rules cannot apply to non-resource/,
      ],
      [roleBindings, { roleRef: { kind: 'Thing', name: 'x' } }, /roleRef\.kind: Unsupported value: "Thing"/],
      [clusterRoleBindings, { roleRef: { kind: 'Role', name: 'x' } }, /roleRef\.kind: Unsupported value/],
      [
        clusterRoleBindings,
        { roleRef: clusterRole('view'), subjects: [{ kind: 'ServiceAccount', name: 'x' }] },
        /subjects\[0\]\.namespace: Required value/,
      ],
    ] as const
    for (const [path, body, message] of table) {
      const reply = await create(path, { metadata: { name: 'bad' }, ...body })
      assert.equal(reply.code, 422)
      assert.match(reply.body.message, message)
    }
    const changed = { metadata: { name: 'viewer' }, roleRef: clusterRole('edit'), subjects: [user('viewer')] }
    assert.match(
      (await server.call('PUT', `${roleBindings}/viewer`, { body: changed })).body.message,
      /cannot change roleRef/,
    )
  })
})

describe('the roles every cluster has', () => {
  test('in AlwaysAllow every identity may do everything, and an anonymous request still nothing', async () => {
    await using server = await startTestServer({ tokens, authorizationMode: 'AlwaysAllow' })
    assert.equal((await server.call('GET', paths.pods, { token: 'outsider' })).code, 200)
    assert.equal((await server.call('GET', paths.pods, { token: null })).code, 401)
  })

  test('carry the names of the dialect', async () => {
    await using server = await startTestServer({ dialect: 'platform' })
    const { body } = await server.call('GET', '/apis/rbac.authorization.platform.internal/v1/clusterroles/edit')
    assert.deepEqual(body.aggregationRule, {
      clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.platform.internal/aggregate-to-edit': 'true' } }],
    })
    assert.equal(body.metadata.labels['platform.internal/bootstrapping'], 'rbac-defaults')
  })
})
