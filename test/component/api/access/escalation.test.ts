import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const clusterRoles = `${rbac}/clusterroles`
const clusterRoleBindings = `${rbac}/clusterrolebindings`
const roles = `${rbac}/namespaces/a/roles`
const roleBindings = `${rbac}/namespaces/a/rolebindings`
const inA = '/api/v1/namespaces/a'
const system = '/api/v1/namespaces/kube-system'
const authorization = '/apis/authorization.k8s.io/v1'
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'

const rbacRule = (resources: readonly string[], verbs: readonly string[], resourceNames?: readonly string[]) => ({
  apiGroups: ['rbac.authorization.k8s.io'],
  resources,
  verbs,
  ...(resourceNames && { resourceNames }),
})

/** Users with a ClusterRole of their own, bound in the whole cluster. */
const rules: Readonly<Record<string, readonly object[]>> = {
  patcher: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'] }, rbacRule(['roles'], ['update'])],
  roler: [rbacRule(['roles', 'clusterroles'], ['create', 'get', 'patch', 'update'])],
  binder: [
    rbacRule(['rolebindings', 'clusterrolebindings'], ['create', 'get', 'patch']),
    rbacRule(['clusterroles'], ['bind'], ['view']),
  ],
  escalator: [rbacRule(['clusterroles'], ['create', 'escalate'])],
}

/** Users with a role of every cluster, bound in the namespace `a`. */
const members: Readonly<Record<string, string>> = { admin: 'admin', editor: 'edit', viewer: 'view' }

type Trial = readonly [
  what: string,
  user: string,
  method: string,
  path: string,
  body: unknown,
  code: number,
  headers?: Readonly<Record<string, string>>,
]

const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name })
const subjects = (name: string) => [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }]
const binding = (name: string, role: string, user: string) => ({
  metadata: { name },
  roleRef: roleRef(role),
  subjects: subjects(user),
})
const role = (name: string, rule: object, labels = {}) => ({ metadata: { name, labels }, rules: [rule] })
const allRights = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }

describe('no user gets rights that it does not have', () => {
  let server: TestServer
  before(async () => {
    const users = ['outsider', ...Object.keys(rules), ...Object.keys(members)]
    server = await startTestServer({
      tokens: [
        ...users.map((name) => ({ token: name, user: { name, groups: [] } })),
        { token: 'misnamed', user: { name: 'system:masters', groups: [] } },
        { token: 'nodeless', user: { name: 'system:node:n', groups: [] } },
      ],
    })
    const create = async (path: string, body: object) => {
      const reply = await server.call('POST', path, { body })
      assert.equal(reply.code, 201, reply.text)
    }
    await create('/api/v1/namespaces', { metadata: { name: 'a' } })
    for (const [name, ofRole] of Object.entries(rules)) {
      await create(clusterRoles, { metadata: { name }, rules: ofRole })
      await create(clusterRoleBindings, binding(name, name, name))
    }
    for (const [name, ofCluster] of Object.entries(members)) await create(roleBindings, binding(name, ofCluster, name))
    for (const name of ['a', 'kube-system']) {
      await create(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'runner' } })
      await create(`/api/v1/namespaces/${name}/secrets`, { metadata: { name: 'key' } })
    }
    const containers = [{ name: 'c', image: 'i' }]
    await create(`${inA}/pods`, { metadata: { name: 'p' }, spec: { containers } })
    await create(clusterRoles, role('target', secrets))
    await create(clusterRoleBindings, binding('masters', 'cluster-admin', 'root'))
  })
  after(() => server.stop())

  const attempt = async (trials: readonly Trial[]) => {
    for (const [what, user, method, path, body, code, headers = {}] of trials) {
      const type = method === 'PATCH' && !('content-type' in headers) ? { 'content-type': merge } : {}
      const options = { token: user, headers: { ...type, ...headers }, ...(body !== undefined && { body }) }
      const reply = await server.call(method, path, options)
      assert.equal(reply.code, code, `${user}, ${what}: ${reply.text}`)
    }
  }

  test('by roles and bindings', async () => {
    await attempt([
      ['a cluster role', 'admin', 'POST', clusterRoles, role('x', secrets), 403],
      ['a cluster binding', 'admin', 'POST', clusterRoleBindings, binding('x', 'view', 'admin'), 403],
      ['cluster-admin in its namespace', 'admin', 'POST', roleBindings, binding('x', 'cluster-admin', 'admin'), 403],
      ['its own role for another', 'admin', 'POST', roleBindings, binding('ok', 'admin', 'outsider'), 201],
      ['a role elsewhere', 'admin', 'POST', roles.replace('/a/', '/kube-system/'), role('x', secrets), 403],
      ['a role with all rights', 'admin', 'POST', roles, role('x', allRights), 403],
      ['a role with a star for its verbs', 'admin', 'POST', roles, role('x', { ...secrets, verbs: ['*'] }), 403],
      ['a role on nodes', 'admin', 'POST', roles, role('x', { ...secrets, resources: ['nodes'] }), 403],
      ['a role to escalate', 'admin', 'POST', roles, role('x', rbacRule(['roles'], ['escalate'])), 403],
      ['a role to bind', 'admin', 'POST', roles, role('x', rbacRule(['clusterroles'], ['bind'])), 403],
      [
        'a role to impersonate',
        'admin',
        'POST',
        roles,
        role('x', { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }),
        403,
      ],
      ['a role on tokens of all', 'admin', 'POST', roles, role('x', rbacRule(['*'], ['create'])), 403],
      ['a role with what it has', 'admin', 'POST', roles, role('ok', secrets), 201],
      ['more in that role', 'admin', 'PATCH', `${roles}/ok`, { rules: [allRights] }, 403],
      ['another role in a binding', 'admin', 'PATCH', `${roleBindings}/ok`, { roleRef: roleRef('cluster-admin') }, 422],
      ['roles as an editor', 'editor', 'POST', roles, role('x', secrets), 403],
      ['bindings as an editor', 'editor', 'DELETE', `${roleBindings}/viewer`, undefined, 403],
      [
        'the label of a cluster role',
        'admin',
        'PATCH',
        `${clusterRoles}/edit`,
        { metadata: { labels: { a: 'b' } } },
        403,
      ],
      ['a cluster role', 'roler', 'POST', clusterRoles, role('x', secrets), 403],
      ['an empty cluster role', 'roler', 'POST', clusterRoles, { metadata: { name: 'empty' }, rules: [] }, 201],
      ['more in it', 'roler', 'PATCH', `${clusterRoles}/empty`, { rules: [secrets] }, 403],
      [
        'more in it by a JSON patch',
        'roler',
        'PATCH',
        `${clusterRoles}/empty`,
        [{ op: 'add', path: '/rules', value: [secrets] }],
        403,
        { 'content-type': 'application/json-patch+json' },
      ],
      [
        'more in it by an apply',
        'roler',
        'PATCH',
        `${clusterRoles}/empty?fieldManager=x&force=true`,
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', ...role('empty', secrets) },
        403,
        { 'content-type': apply },
      ],
      [
        'a role that gathers',
        'roler',
        'POST',
        clusterRoles,
        { metadata: { name: 'x' }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: {} }] }, rules: [] },
        403,
      ],
      [
        'its gathering',
        'roler',
        'PATCH',
        `${clusterRoles}/empty`,
        { aggregationRule: { clusterRoleSelectors: [{}] } },
        403,
      ],
      [
        'a label that view gathers',
        'roler',
        'PATCH',
        `${clusterRoles}/target`,
        { metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } } },
        403,
      ],
      ['a role that it may bind', 'binder', 'POST', clusterRoleBindings, binding('ok', 'view', 'outsider'), 201],
      ['a role that it may not', 'binder', 'POST', clusterRoleBindings, binding('x', 'edit', 'binder'), 403],
      [
        'itself in a binding',
        'binder',
        'PATCH',
        `${clusterRoleBindings}/masters`,
        { subjects: subjects('binder') },
        403,
      ],
      [
        'a label of that binding',
        'binder',
        'PATCH',
        `${clusterRoleBindings}/masters`,
        { metadata: { labels: { a: 'b' } } },
        403,
      ],
      ['a role that is not there', 'binder', 'POST', clusterRoleBindings, binding('x', 'later', 'binder'), 404],
      ['any role where it may escalate', 'escalator', 'POST', clusterRoles, role('up', allRights), 201],
      ['and none to bind', 'escalator', 'POST', clusterRoleBindings, binding('x', 'up', 'escalator'), 403],
    ])
  })

  test('by other identities and their tokens', async () => {
    const as = (user: string, group?: string) => ({
      'Impersonate-User': user,
      ...(group !== undefined && { 'Impersonate-Group': group }),
    })
    await attempt([
      ['another user', 'admin', 'GET', `${inA}/pods`, undefined, 403, as('root')],
      ['the superusers', 'admin', 'GET', `${inA}/pods`, undefined, 403, as('admin', 'system:masters')],
      [
        'an account elsewhere',
        'admin',
        'GET',
        `${inA}/pods`,
        undefined,
        403,
        as('system:serviceaccount:kube-system:runner'),
      ],
      ['an account of its own', 'admin', 'GET', `${inA}/pods`, undefined, 403, as('system:serviceaccount:a:runner')],
      [
        'an account with more',
        'editor',
        'GET',
        '/api/v1/nodes',
        undefined,
        403,
        as('system:serviceaccount:a:runner', 'system:nodes'),
      ],
      ['a token of its account', 'editor', 'POST', `${inA}/serviceaccounts/runner/token`, {}, 201],
      ['a token of another', 'editor', 'POST', `${system}/serviceaccounts/runner/token`, {}, 403],
      ['a token as a viewer', 'viewer', 'POST', `${inA}/serviceaccounts/runner/token`, {}, 403],
      [
        'a review of a token',
        'admin',
        'POST',
        '/apis/authentication.k8s.io/v1/tokenreviews',
        { spec: { token: 'x' } },
        403,
      ],
      ['a review of another user', 'admin', 'POST', `${authorization}/subjectaccessreviews`, {}, 403],
      ['the name of the group', 'misnamed', 'GET', '/api/v1/secrets', undefined, 403],
      ['the name of a node', 'nodeless', 'GET', '/api/v1/nodes', undefined, 403],
    ])
    const { body } = await server.call('POST', `${inA}/serviceaccounts/runner/token`, { token: 'editor', body: {} })
    assert.equal((await server.call('GET', `${inA}/secrets`, { token: body.status.token })).code, 403)
  })

  test('beside the namespace of their roles', async () => {
    const configMap = (namespace: string) => ({ metadata: { name: 'x', namespace } })
    await attempt([
      ['secrets of all', 'admin', 'GET', '/api/v1/secrets', undefined, 403],
      ['secrets of all, watched', 'admin', 'GET', '/api/v1/watch/secrets', undefined, 403],
      ['secrets elsewhere', 'admin', 'GET', `${system}/secrets/key`, undefined, 403],
      ['secrets elsewhere, watched', 'admin', 'GET', `${system}/secrets?watch=1`, undefined, 403],
      ['the end of secrets elsewhere', 'admin', 'DELETE', `${system}/secrets`, undefined, 403],
      ['a path with dots', 'admin', 'GET', `${inA}/../kube-system/secrets/key`, undefined, 403],
      ['a path with escaped dots', 'admin', 'GET', `${inA}/%2e%2e/kube-system/secrets/key`, undefined, 403],
      [
        'a path with an escaped slash',
        'admin',
        'GET',
        '/api/v1/namespaces/a%2f..%2fkube-system/secrets/key',
        undefined,
        404,
      ],
      ['a path with two slashes', 'admin', 'GET', '/api/v1/namespaces//kube-system/secrets/key', undefined, 403],
      ['another namespace in the body', 'admin', 'POST', `${inA}/configmaps`, configMap('kube-system'), 400],
      ['another name in the body', 'admin', 'PUT', `${inA}/secrets/key`, { metadata: { name: 'other' } }, 400],
      ['its namespace', 'admin', 'PATCH', '/api/v1/namespaces/a', { metadata: { labels: { a: 'b' } } }, 403],
      ['the end of it', 'admin', 'PUT', '/api/v1/namespaces/a/finalize', {}, 403],
      ['nodes', 'admin', 'GET', '/api/v1/nodes', undefined, 403],
      ['a definition', 'admin', 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {}, 403],
      ['a binding of a pod', 'editor', 'POST', `${inA}/pods/p/binding`, { target: { name: 'n' } }, 403],
      ['the status of a pod', 'editor', 'PATCH', `${inA}/pods/p/status`, { status: {} }, 403],
      ['secrets as a viewer', 'viewer', 'GET', `${inA}/secrets/key`, undefined, 403],
      ['metrics', 'admin', 'GET', '/metrics', undefined, 403],
      ['metrics by another spelling', 'admin', 'GET', '//%6detrics', undefined, 403],
      ['a backup', 'admin', 'GET', '/platnet/backup', undefined, 403],
      ['a backup by another spelling', 'admin', 'GET', '/healthz/../platnet//backup', undefined, 403],
      ['a patch of what is there', 'patcher', 'PATCH', `${inA}/configmaps/none`, { data: {} }, 404],
      [
        'an apply that creates',
        'patcher',
        'PATCH',
        `${inA}/configmaps/x?fieldManager=p`,
        { apiVersion: 'v1', kind: 'ConfigMap', ...configMap('a') },
        403,
        { 'content-type': apply },
      ],
      ['a PUT that creates', 'patcher', 'PUT', `${roles}/none`, { metadata: { name: 'none' }, rules: [] }, 403],
      ['a PUT that creates more', 'roler', 'PUT', `${clusterRoles}/none`, role('none', secrets), 403],
      ['a PUT that creates nothing', 'roler', 'PUT', `${clusterRoles}/none`, { metadata: { name: 'none' } }, 201],
    ])
  })

  test('and without an identity nothing but health and the version is answered', async () => {
    const paths = ['/api', '/apis', '/openapi/v2', '/metrics', '/platnet/backup', `${inA}/pods`, '/nothing']
    const issuer = ['/.well-known/openid-configuration', '/openid/v1/jwks']
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of [...paths, ...issuer, `${inA}/secrets/key`, '/api/v1/watch/pods']) {
        const reply = await server.call(method, path, { token: null })
        assert.deepEqual([reply.code, reply.body.reason], [401, 'Unauthorized'], `${method} ${path}`)
      }
    const headers = { 'Impersonate-User': 'root', 'Impersonate-Group': 'system:masters', 'X-Remote-User': 'root' }
    assert.equal((await server.call('GET', `${inA}/pods`, { token: null, headers })).code, 401)
    assert.equal((await server.call('GET', `${inA}/pods?token=admin&access_token=admin`, { token: null })).code, 401)
    assert.equal((await server.call('GET', '/healthz', { token: null })).code, 200)
  })
})
